package lifecycle

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/session/manifest"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/internal/tool/plainfile"
	"github.com/agent-handoff/handoff/internal/tool/secret"
	"github.com/agent-handoff/handoff/jsonschema"
	"github.com/agent-handoff/handoff/session"
)

// adoptFolder imports a session folder that another engine created: it records the
// session's opening, links, notes and end, and publishes its outputs. The
// original manifest is stored in the record; rendering updates the fields that
// handoff knows and keeps all others. For a session that was adopted before,
// Adopt records the outputs and the end that are missing.
//
// Any problem in the manifest is an error. With lenient, problems are returned
// as warnings, except an unreadable manifest or a missing ID, agent, workflow
// or start time. A file outside the folder is never published.
//
// Error kinds: Invalid (with the JSON pointer of each problem), NotFound,
// Unavailable, Conflict (the ID is that of another folder, or of a session that
// handoff opened).
func (ss *Sessions) adoptFolder(ctx context.Context, folder string, lenient bool) (handoff.Session, []string, error) {
	m, err := ss.readImported(folder)
	if err != nil {
		return handoff.Session{}, nil, err
	}
	if err = m.checkRequired(); !lenient && len(m.problems) > 0 {
		err = m.invalid(m.problems, handoff.Suggest("import the valid parts of the manifest", handoff.ActionAdopt, folder))
	}
	if err != nil {
		return handoff.Session{}, nil, err
	}
	var warnings []string
	for _, p := range m.problems {
		warnings = append(warnings, p.String())
	}
	more, err := ss.adopt(ctx, m)
	if err != nil {
		return handoff.Session{}, nil, err
	}
	s, err := ss.hub.Session(ctx, m.SessionID)
	return s, append(warnings, more...), err
}

// An importedManifest is the manifest of another engine.
type importedManifest struct {
	manifest.Document
	folder      string
	raw         []byte
	problems    []jsonschema.Problem
	publishable map[string]bool // the outputs whose files are in the folder
}

func (ss *Sessions) readImported(folder string) (*importedManifest, error) {
	if folder != path.Clean(folder) || folder == "." || !filepath.IsLocal(filepath.FromSlash(folder)) {
		return nil, handoff.E("adopt session", folder, handoff.Invalid, errors.New("folder is outside the workspace"),
			handoff.Advice("name a session's folder inside the workspace"))
	}
	if err := handoff.CheckSessionFolder(folder); err != nil {
		return nil, err
	}
	root, err := ss.Files.OpenRoot(folder)
	if err != nil {
		return nil, handoff.E("adopt session", folder, handoff.NotFound, durable.Reason(err),
			handoff.Advice("name the folder that contains the manifest"))
	}
	defer root.Close()
	m := &importedManifest{folder: folder, publishable: map[string]bool{}}
	m.raw, err = plainfile.ReadIn(root, manifest.Name, manifest.MaxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, handoff.E("adopt session", path.Join(folder, manifest.Name), handoff.NotFound, durable.Reason(err),
			handoff.Advice("name the folder that contains the manifest"))
	}
	if err == nil {
		m.Document, m.problems, err = manifest.Parse(m.raw)
	}
	if err != nil {
		return nil, handoff.E("adopt session", path.Join(folder, manifest.Name), handoff.Invalid, errors.New(err.Error()),
			handoff.Advice("write the manifest as one JSON object that matches its specification"))
	}
	if m.SessionID != "" && path.Base(folder) != m.SessionID {
		m.problems = append(m.problems, jsonschema.Problem{
			Pointer: "/session_id", Text: fmt.Sprintf("differs from the name of its folder, %s", path.Base(folder))})
	}
	m.addRejected()
	for i, o := range m.Outputs {
		if _, err := ss.checkInside("adopt output", folder, o.File); err != nil {
			var e *handoff.Error
			errors.As(err, &e)
			m.problems = append(m.problems, jsonschema.Problem{Pointer: jsonschema.Pointer("outputs", strconv.Itoa(i), "file"),
				Text: fmt.Sprintf("%q: %v", o.File, e.Err)})
			continue
		}
		m.publishable[o.File] = true
	}
	m.problems = jsonschema.Sort(m.problems)
	return m, nil
}

// addRejected adds the outputs that an earlier import left out: they may be there
// now.
func (m *importedManifest) addRejected() {
	for _, raw := range m.Extension().Rejected {
		var o session.Output
		if json.Unmarshal(raw, &o) == nil {
			m.Outputs = append(m.Outputs, o)
		}
	}
}

// checkRequired returns an error if the manifest lacks a field that every
// session needs.
func (m *importedManifest) checkRequired() error {
	var missing []jsonschema.Problem
	for pointer, value := range map[string]string{
		"/session_id": m.SessionID, "/agent/name": m.Agent.Name, "/workflow/name": m.Workflow.Name,
	} {
		if value == "" {
			missing = append(missing, jsonschema.Problem{Pointer: pointer, Text: "is missing or not a string"})
		}
	}
	if at, err := time.Parse(time.RFC3339, m.Execution.StartedAt); err != nil || at.UTC().Year() < 1 {
		missing = append(missing, jsonschema.Problem{Pointer: "/execution/started_at", Text: "not an RFC 3339 time"})
	}
	if len(missing) > 0 {
		return m.invalid(missing, handoff.Advice("add the missing fields to the manifest"))
	}
	return nil
}

func (m *importedManifest) invalid(problems []jsonschema.Problem, hint handoff.Hint) error {
	texts := make([]string, len(problems))
	for i, p := range problems {
		texts[i] = p.String()
	}
	e := handoff.E("adopt session", path.Join(m.folder, manifest.Name), handoff.Invalid,
		errors.New("violates its specification"), hint)
	e.Details = texts
	return e
}

// adopt records what is not in the log yet.
func (ss *Sessions) adopt(ctx context.Context, m *importedManifest) (warnings []string, err error) {
	s, err := ss.hub.Session(ctx, m.SessionID)
	if err != nil && !errors.Is(err, handoff.NotFound) {
		return nil, err
	}
	if s.Opened != 0 && s.Adopted == nil {
		return nil, handoff.E("adopt session", m.SessionID, handoff.Conflict, errors.New("session was opened by handoff"),
			handoff.Suggest("show what is recorded", handoff.ActionShow, m.SessionID))
	}
	if s.Opened != 0 && s.Folder != m.folder {
		return nil, handoff.E("adopt session", m.SessionID, handoff.Conflict,
			errors.New("session is already adopted from "+s.Folder), handoff.Advice("give one of the two another session_id"))
	}
	record := func(facts ...handoff.Fact) error {
		for _, fact := range facts {
			_, more, err := ss.hub.Record(ctx, fact)
			if err != nil {
				return err
			}
			warnings = append(warnings, more...)
		}
		return nil
	}
	if s.Opened == 0 {
		err = record(m.openingFacts()...) // again, if the opening is missing
	}
	if err == nil {
		var more []string
		more, err = ss.adoptOutputs(ctx, m) // before the end, so that none is late
		warnings = append(warnings, more...)
	}
	if end := m.closingFact(); err == nil && s.Closed == 0 && end != nil {
		err = record(end)
	}
	if err != nil {
		return warnings, err
	}
	return warnings, ss.Render(ctx, m.SessionID)
}

// openingFacts returns the facts of a manifest except its outputs and its end. The
// opening is the last one: a session that has it has the others too.
func (m *importedManifest) openingFacts() (facts []handoff.Fact) {
	started, _ := time.Parse(time.RFC3339, m.Execution.StartedAt)
	if note := m.note(); note != nil {
		facts = append(facts, note)
	}
	for _, to := range m.Related {
		if to != m.SessionID && to != "" {
			facts = append(facts, &handoff.SessionLinked{SessionID: m.SessionID, To: to})
		}
	}
	return append(facts, &handoff.SessionOpened{
		SessionID: m.SessionID, Agent: handoff.SessionAgent(m.Agent), Workflow: handoff.SessionWorkflow(m.Workflow),
		User: m.Execution.User, Inputs: m.Inputs, Folder: m.folder, StartedAt: started, Manifest: m.raw,
	})
}

// closingFact returns how the session ended, nil if it has not.
func (m *importedManifest) closingFact() handoff.Fact {
	switch m.Execution.Status {
	case session.Completed, session.Failed, session.Cancelled:
		ended, err := time.Parse(time.RFC3339, m.Execution.CompletedAt)
		if err != nil { // the time of the import says nothing
			ended, _ = time.Parse(time.RFC3339, m.Execution.StartedAt)
		}
		return &handoff.SessionClosed{SessionID: m.SessionID, Status: m.Execution.Status, EndedAt: ended}
	}
	return nil
}

// note returns the manifest's tags, summary, message count and metadata, nil if
// it has none.
func (m *importedManifest) note() *handoff.SessionNoted {
	n := &handoff.SessionNoted{SessionID: m.SessionID, Metadata: map[string]json.RawMessage{}}
	for key, value := range m.Metadata {
		if key != manifest.ExtensionKey {
			n.Metadata[key] = value
		}
	}
	n.Tags = m.Extension().Tags
	if m.UserSummary != "" {
		n.UserSummary = &m.UserSummary
	}
	if m.MessageCount > 0 {
		n.MessageCount = &m.MessageCount
	}
	if len(n.Metadata)+len(n.Tags) == 0 && n.UserSummary == nil && n.MessageCount == nil {
		return nil
	}
	return n
}

// adoptOutputs publishes the outputs that are in the folder and not published
// yet.
func (ss *Sessions) adoptOutputs(ctx context.Context, m *importedManifest) (warnings []string, err error) {
	s, published, err := ss.Read(ctx, m.SessionID)
	if err != nil {
		return nil, err
	}
	for _, o := range m.Outputs {
		isPublished := func(a handoff.Artifact) bool { file, ok := manifest.FileOf(s, a); return ok && file == o.File }
		if !m.publishable[o.File] || slices.ContainsFunc(published, isPublished) {
			continue
		}
		d := handoff.Draft{
			Channel: "handoff", Kind: manifest.OutputType(o.Type),
			Summary: manifest.CutSummary(o.Description), Key: fmt.Sprintf("adopt %x",
				sha256.Sum256([]byte(m.SessionID+"\x00"+o.File))),
		}
		d.CreatedAt, _ = time.Parse(time.RFC3339, o.CreatedAt) // zero if it is not known
		ss.setPath(&d, s, path.Join(m.folder, o.File))
		done, err := ss.hub.As(handoff.Producer{Agent: m.Agent.Name, Session: m.SessionID, Source: handoff.FromNone}).
			Publish(ctx, d)
		if held, ok := errors.AsType[*secret.FileError](err); ok {
			warnings = append(warnings, fmt.Sprintf("%s was not imported: it %v", o.File, held))
			continue
		}
		if err != nil {
			return warnings, err
		}
		warnings = append(warnings, done.Warnings...)
	}
	return warnings, nil
}
