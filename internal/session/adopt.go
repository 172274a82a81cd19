package session

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/jsonschema"
)

// Adopt brings a session folder that another engine wrote into the log: its
// opening, its outputs as artifacts, its links, notes and end. The manifest is
// kept in the record; rendering puts what handoff knows over it and keeps all
// else. A session that was adopted before gets the outputs and the end that it
// lacks.
//
// Without lenient every problem refuses; with it only those are, without which
// there is no session: an unreadable manifest, no id, agent, workflow or start,
// and the rest comes as warnings. A file that lies outside the folder is never
// published.
//
// Kinds: Invalid (with each problem's JSON pointer), NotFound, Unavailable,
// Conflict (the id is another folder's, or of a session that handoff opened).
func (ss *Sessions) Adopt(ctx context.Context, folder string, lenient bool) (handoff.Session, []string, error) {
	f, err := ss.readForeign(folder)
	if err != nil {
		return handoff.Session{}, nil, err
	}
	if lenient {
		err = f.bare()
	} else if len(f.problems) > 0 {
		err = f.refuse(f.problems)
	}
	if err != nil {
		return handoff.Session{}, nil, err
	}
	var warnings []string
	for _, p := range f.problems {
		warnings = append(warnings, p.String())
	}
	more, err := ss.adopt(ctx, f)
	if err != nil {
		return handoff.Session{}, nil, err
	}
	s, err := ss.hub.Session(ctx, f.SessionID)
	return s, append(warnings, more...), err
}

// A foreign is a manifest as it was found, and where.
type foreign struct {
	Manifest
	folder   string
	raw      []byte
	problems []Problem
	files    map[string]bool // outputs that may be published
}

func (ss *Sessions) readForeign(folder string) (*foreign, error) {
	if folder != path.Clean(folder) || folder == "." || !filepath.IsLocal(filepath.FromSlash(folder)) {
		return nil, refuse("adopt session", folder, handoff.Invalid, "folder leaves the workspace", "name a session's folder below the workspace")
	}
	root, err := ss.Files.OpenRoot(folder)
	if err != nil {
		return nil, refuse("adopt session", folder, handoff.NotFound, reason(err), "name the folder that holds the manifest, below the workspace")
	}
	defer root.Close()
	file, err := root.Open(ManifestName)
	if err != nil {
		return nil, refuse("adopt session", path.Join(folder, ManifestName), handoff.NotFound, reason(err), "name the folder that holds the manifest")
	}
	defer file.Close()
	f := &foreign{folder: folder, files: map[string]bool{}}
	if f.raw, err = io.ReadAll(io.LimitReader(file, maxManifest+1)); err == nil {
		f.Manifest, f.problems, err = ParseManifest(f.raw)
	}
	if err != nil {
		return nil, refuse("adopt session", path.Join(folder, ManifestName), handoff.Invalid, err.Error(), "mend the manifest; handoff show SESSION shows a whole one")
	}
	if f.SessionID != "" && path.Base(folder) != f.SessionID {
		f.problems = append(f.problems, Problem{Pointer: "/session_id", Text: fmt.Sprintf("differs from its folder's name, %s", path.Base(folder))})
	}
	for i, o := range f.Outputs {
		if _, err := ss.within("adopt output", folder, o.File); err != nil {
			var e *handoff.Error
			errors.As(err, &e)
			f.problems = append(f.problems, Problem{Pointer: jsonschema.Pointer("outputs", strconv.Itoa(i), "file"), Text: fmt.Sprintf("%q: %v", o.File, e.Err)})
			continue
		}
		f.files[o.File] = true
	}
	f.problems = jsonschema.Sort(f.problems)
	return f, nil
}

// bare returns an error if the manifest lacks what no session can do without.
func (f *foreign) bare() error {
	var missing []Problem
	for pointer, value := range map[string]string{
		"/session_id": f.SessionID, "/agent/name": f.Agent.Name, "/workflow/name": f.Workflow.Name,
	} {
		if value == "" {
			missing = append(missing, Problem{Pointer: pointer, Text: "is missing"})
		}
	}
	if _, err := time.Parse(time.RFC3339, f.Execution.StartedAt); err != nil {
		missing = append(missing, Problem{Pointer: "/execution/started_at", Text: "is no time"})
	}
	if len(missing) > 0 {
		return f.refuse(missing)
	}
	return nil
}

func (f *foreign) refuse(problems []Problem) error {
	texts := make([]string, len(problems))
	for i, p := range problems {
		texts[i] = p.String()
	}
	return refuse("adopt session", path.Join(f.folder, ManifestName), handoff.Invalid, strings.Join(texts, "; "),
		"mend the manifest, or pass --lenient to take what can be taken")
}

// adopt writes down what the log does not have yet.
func (ss *Sessions) adopt(ctx context.Context, f *foreign) (warnings []string, err error) {
	s, err := ss.hub.Session(ctx, f.SessionID)
	if err != nil && !errors.Is(err, handoff.NotFound) {
		return nil, err
	}
	if s.Opened != 0 && s.Adopted == nil {
		return nil, refuse("adopt session", f.SessionID, handoff.Conflict, "was opened by handoff, which renders its manifest", "handoff show "+f.SessionID+" shows what is recorded")
	}
	if s.Opened != 0 && s.Folder != f.folder {
		return nil, refuse("adopt session", f.SessionID, handoff.Conflict, "is the session in "+s.Folder, "give one of the two another id")
	}
	tell := func(facts ...handoff.Fact) error {
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
		err = tell(f.beginning()...)
	}
	if err == nil {
		var more []string
		more, err = ss.adoptOutputs(ctx, f) // before the end, so that none is late
		warnings = append(warnings, more...)
	}
	if end := f.end(); err == nil && s.Closed == 0 && end != nil {
		err = tell(end)
	}
	if err != nil {
		return warnings, err
	}
	return warnings, ss.Render(ctx, f.SessionID)
}

// beginning returns what a manifest says of a session but for its outputs and
// its end.
func (f *foreign) beginning() []handoff.Fact {
	started, _ := time.Parse(time.RFC3339, f.Execution.StartedAt)
	facts := []handoff.Fact{&handoff.SessionOpened{
		SessionID: f.SessionID, Agent: handoff.SessionAgent(f.Agent), Workflow: handoff.SessionWorkflow(f.Workflow),
		User: f.Execution.User, Inputs: f.Inputs, Folder: f.folder, StartedAt: started, Manifest: f.raw,
	}}
	if note := f.note(); note != nil {
		facts = append(facts, note)
	}
	for _, to := range f.Related {
		if to != f.SessionID && to != "" {
			facts = append(facts, &handoff.SessionLinked{SessionID: f.SessionID, To: to})
		}
	}
	return facts
}

// end returns how a session ended, or nil.
func (f *foreign) end() handoff.Fact {
	switch f.Execution.Status {
	case Completed, Failed, Cancelled:
		ended, _ := time.Parse(time.RFC3339, f.Execution.CompletedAt)
		return &handoff.SessionClosed{SessionID: f.SessionID, Status: f.Execution.Status, EndedAt: ended}
	}
	return nil
}

// note returns what a manifest tells beside, or nil.
func (f *foreign) note() *handoff.SessionNoted {
	n := &handoff.SessionNoted{SessionID: f.SessionID, Metadata: map[string]json.RawMessage{}}
	for key, value := range f.Metadata {
		if key != extensionKey {
			n.Metadata[key] = value
		}
	}
	var own extension
	if json.Unmarshal(f.Metadata[extensionKey], &own) == nil {
		n.Tags = own.Tags
	}
	if f.UserSummary != "" {
		n.UserSummary = &f.UserSummary
	}
	if f.MessageCount > 0 {
		n.MessageCount = &f.MessageCount
	}
	if len(n.Metadata)+len(n.Tags) == 0 && n.UserSummary == nil && n.MessageCount == nil {
		return nil
	}
	return n
}

// adoptOutputs publishes the outputs that lie in the folder, each once.
func (ss *Sessions) adoptOutputs(ctx context.Context, f *foreign) (warnings []string, err error) {
	s, known, err := ss.Read(ctx, f.SessionID)
	if err != nil {
		return nil, err
	}
	for _, o := range f.Outputs {
		isKnown := func(a handoff.Artifact) bool { file, ok := inFolder(s, a); return ok && file == o.File }
		if !f.files[o.File] || slices.ContainsFunc(known, isKnown) {
			continue
		}
		d := handoff.Draft{
			Channel: "handoff", Kind: OutputType(o.Type),
			Summary: cut(o.Description, handoff.MaxSummary), Key: fmt.Sprintf("adopt %x", sha256.Sum256([]byte(f.SessionID+"\x00"+o.File))),
		}
		ss.place(&d, s, path.Join(f.folder, o.File))
		done, err := ss.hub.As(handoff.Producer{Agent: f.Agent.Name, Session: f.SessionID, Source: handoff.FromNone}).Publish(ctx, d)
		if err != nil {
			return warnings, err
		}
		warnings = append(warnings, done.Warnings...)
	}
	return warnings, nil
}

// cut returns at most the first n characters of a text.
func cut(text string, n int) string {
	if runes := []rune(text); len(runes) > n {
		return string(runes[:n])
	}
	return text
}
