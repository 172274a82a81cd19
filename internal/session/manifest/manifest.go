// Package manifest is the manifest of a session: the file in the session's folder that
// describes it to programs that do not read the log. A manifest is rendered from facts
// and never read back; that of another engine is parsed to import the session.
package manifest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/session"
	"github.com/clipperhouse/displaywidth"
)

// Name is the name of the manifest in a session's folder.
const Name = "manifest.json"

// A Document is the content of a manifest:
// "Session Output Management Specification", version 1.0.0. Fields that handoff
// adds to the specification are in its metadata under "handoff".
type Document struct {
	Version   string                     `json:"version"`
	SessionID string                     `json:"session_id"`
	Agent     Agent                      `json:"agent"`
	Workflow  Workflow                   `json:"workflow"`
	Execution Execution                  `json:"execution"`
	Outputs   []session.Output           `json:"outputs"`
	Inputs    map[string]json.RawMessage `json:"inputs,omitempty"`
	Related   []string                   `json:"related_sessions,omitempty"`
	Metadata  map[string]json.RawMessage `json:"metadata,omitempty"`

	DisplayName      string `json:"displayName,omitempty"` // only if a user set it
	DisplayTimestamp string `json:"displayTimestamp,omitempty"`
	UserSummary      string `json:"userSummary,omitempty"`
	MessageCount     int    `json:"messageCount,omitempty"`
}

// The parts of a manifest. Times are RFC 3339 in UTC, to the millisecond.
type (
	Agent struct {
		Name   string `json:"name"`
		Title  string `json:"title"`
		Bundle string `json:"bundle"`
	}
	Workflow struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	}
	Execution struct {
		StartedAt   string `json:"started_at"`
		CompletedAt string `json:"completed_at,omitempty"`
		Status      string `json:"status"` // running, completed, failed or cancelled
		User        string `json:"user"`
	}
)

// An Extension is what handoff adds to a manifest.
type Extension struct {
	LogSeq    handoff.Seq `json:"logSeq"` // the newest record of the session, or of a publish in it
	Tags      []string    `json:"tags"`
	Late      []string    `json:"late"` // IDs of artifacts that were published after the session's end
	Artifacts []Artifact  `json:"artifacts"`

	ArchivedAt string `json:"archivedAt,omitempty"` // when the session was archived

	// Rejected are the outputs of an adopted manifest that were not imported.
	Rejected []json.RawMessage `json:"rejected,omitempty"`
}

// An Artifact is one artifact of the session, inside its folder or not.
type Artifact struct {
	ID      string         `json:"id"`
	Channel string         `json:"channel"`
	Path    string         `json:"path"`
	Status  handoff.Status `json:"status"`
}

const (
	version    = "1.0.0"
	timeFormat = "2006-01-02T15:04:05.000Z07:00"
)

// ExtensionKey is the key of the Extension in the metadata.
const ExtensionKey = "handoff"

// Extension returns what handoff added to a manifest, the zero value for nothing.
func (d Document) Extension() (e Extension) {
	if json.Unmarshal(d.Metadata[ExtensionKey], &e) != nil {
		return Extension{}
	}
	return e
}

// FormatTime formats a time as manifests have it, "" for the zero time.
func FormatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(timeFormat)
}

// OutputType returns the type under which a manifest lists an artifact of the
// given kind.
func OutputType(kind string) string {
	switch kind {
	case "document", "report":
		return kind
	case "json", "data":
		return "data"
	}
	return "artifact"
}

// Outputs returns the outputs of a session in the order in which their files
// were first published: its artifacts that are in its folder and not withdrawn.
// A file is listed once, with its latest description.
func Outputs(s handoff.Session, artifacts []handoff.Artifact) []session.Output {
	outputs, at := []session.Output{}, map[string]int{}
	for _, a := range bySeq(artifacts) {
		file, inside := FileOf(s, a)
		if !inside || a.Status == handoff.Withdrawn {
			continue
		}
		out := session.Output{File: file, Type: OutputType(a.Kind), Description: cmp.Or(a.Summary, a.Title,
			path.Base(file)), CreatedAt: FormatTime(a.CreatedAt), Artifact: &a}
		if i, ok := at[file]; ok {
			out.CreatedAt = outputs[i].CreatedAt
			outputs[i] = out
			continue
		}
		at[file], outputs = len(outputs), append(outputs, out)
	}
	return outputs
}

// UpToSession leads from the folder of a run to that of its session.
const UpToSession = "../../"

// FileOf returns the path of an artifact relative to its session's folder, if
// it is in the folder. What a run published is also inside if it is in the folder
// of the run's session: agents write to the folder that their environment names.
func FileOf(s handoff.Session, a handoff.Artifact) (file string, inside bool) {
	session, run := s.Folder, ""
	if s.Parent != "" {
		session = path.Dir(path.Dir(s.Folder))
		run = strings.TrimPrefix(s.Folder, session+"/") // artifacts/RUN
	}
	switch {
	case s.Folder == "" || a.Root != "" && a.Root != handoff.SessionRoot:
		return "", false
	case a.Root == "":
		if file, inside = strings.CutPrefix(a.Path, session+"/"); !inside {
			return "", false
		}
	default:
		file = a.Path
	}
	if own, ok := strings.CutPrefix(file, run+"/"); ok && run != "" {
		return own, true
	}
	if run != "" {
		file = UpToSession + file
	}
	return file, true
}

func bySeq(artifacts []handoff.Artifact) []handoff.Artifact {
	return order.Sort(slices.Clone(artifacts), func(a, b handoff.Artifact) int {
		return cmp.Compare(a.Seq, b.Seq)
	})
}

// New returns the manifest of a session from its fold and all its
// artifacts. The result depends on nothing but the log.
func New(s handoff.Session, artifacts []handoff.Artifact) (Document, error) {
	own := Extension{LogSeq: s.Newest, Tags: append([]string{}, s.Tags...), Late: []string{}, Artifacts: []Artifact{}}
	for _, a := range bySeq(artifacts) {
		own.LogSeq = max(own.LogSeq, a.Seq)
		own.Artifacts = append(own.Artifacts, Artifact{a.ID, a.Channel, a.Path, a.Status})
		if a.Late {
			own.Late = append(own.Late, a.ID)
		}
	}
	own.ArchivedAt = FormatTime(s.ArchivedAt)
	own.Rejected = rejected(s, artifacts)
	b, err := json.Marshal(own)
	if err != nil {
		return Document{}, err
	}
	metadata := map[string]json.RawMessage{ExtensionKey: b}
	for key, value := range s.Metadata {
		if key != ExtensionKey {
			metadata[key] = value
		}
	}
	return Document{
		Version: version, SessionID: s.ID,
		Agent:     Agent{s.Agent.Name, cmp.Or(s.Agent.Title, s.Agent.Name), s.Agent.Bundle},
		Workflow:  Workflow(s.Workflow),
		Execution: Execution{FormatTime(s.OpenedAt), FormatTime(s.ClosedAt), s.Status, s.User},
		Outputs:   Outputs(s, artifacts), Inputs: s.Inputs, Related: s.Links, Metadata: metadata,
		DisplayName: s.Name, UserSummary: Truncate(s.Summary), MessageCount: s.Messages,
	}, nil
}

// rejected returns the outputs of the manifest that a session was adopted with
// for which nothing was published.
func rejected(s handoff.Session, artifacts []handoff.Artifact) (list []json.RawMessage) {
	var adopted struct {
		Outputs  []json.RawMessage `json:"outputs"`
		Metadata struct {
			Handoff Extension `json:"handoff"`
		} `json:"metadata"`
	}
	var wrong *json.UnmarshalTypeError
	if err := json.Unmarshal(s.Adopted, &adopted); err != nil && !errors.As(err, &wrong) {
		return nil
	}
	for _, raw := range append(adopted.Outputs, adopted.Metadata.Handoff.Rejected...) {
		var o session.Output
		_ = json.Unmarshal(raw, &o) // fields of the wrong type are empty
		published := func(a handoff.Artifact) bool { file, ok := FileOf(s, a); return ok && file == o.File }
		if !slices.ContainsFunc(artifacts, published) {
			list = append(list, raw)
		}
	}
	return list
}

// JSON returns the content of the manifest's file. Fields of an adopted manifest
// that d does not have are kept, and so is a value that means the same as that of
// d.
func (d Document) JSON(adopted json.RawMessage) ([]byte, error) {
	b, err := encode(d)
	if err != nil || len(adopted) == 0 {
		return b, err
	}
	var base, update map[string]any
	if err := decode(adopted, &base); err != nil {
		return nil, err
	}
	if err := decode(b, &update); err != nil {
		return nil, err
	}
	outputs := mergeOutputs(base["outputs"], update["outputs"])
	keepSame(base, update)
	if execution, ok := base["execution"].(map[string]any); ok && d.Execution.CompletedAt == "" {
		delete(execution, "completed_at")
	}
	if metadata, ok := base["metadata"].(map[string]any); ok {
		delete(metadata, ExtensionKey)
	}
	merge(base, update)
	base["outputs"] = outputs
	return encode(base)
}

func encode(v any) ([]byte, error) {
	b, err := handoff.EncodeJSONIndent(v)
	if err != nil {
		return nil, err
	}
	return append(b, '\n'), nil
}

// merge sets the members of base to those of update, object by object.
func merge(base, update map[string]any) {
	for key, value := range update {
		inner, ok := base[key].(map[string]any)
		if object, both := value.(map[string]any); ok && both {
			merge(inner, object)
			continue
		}
		base[key] = value
	}
}

// keepSame removes from update what base has in other words: a time of another
// precision, and a summary that update has in short.
func keepSame(base, update map[string]any) {
	old, _ := base["execution"].(map[string]any)
	own, _ := update["execution"].(map[string]any)
	for _, key := range []string{"started_at", "completed_at"} {
		theirs, _ := old[key].(string)
		ours, _ := own[key].(string)
		t, err := time.Parse(time.RFC3339, theirs)
		if err == nil && FormatTime(t) == ours {
			delete(own, key)
		}
	}
	if summary, ok := base["userSummary"].(string); ok && update["userSummary"] == Truncate(summary) {
		delete(update, "userSummary")
	}
}

// mergeOutputs returns the outputs in updates. One that is in base, by its file,
// keeps its creation time, its other fields, and a description that is the same
// but for its length.
func mergeOutputs(base, updates any) []any {
	known, _ := base.([]any)
	list, _ := updates.([]any)
	out := []any{}
	for _, u := range list {
		update := u.(map[string]any)
		i := slices.IndexFunc(known, func(o any) bool {
			object, ok := o.(map[string]any)
			return ok && object["file"] == update["file"]
		})
		if i < 0 {
			out = append(out, update)
			continue
		}
		old := known[i].(map[string]any)
		if old["created_at"] != nil {
			delete(update, "created_at")
		}
		description, ok := old["description"].(string)
		if file, _ := old["file"].(string); ok && update["description"] == cmp.Or(CutSummary(description), path.Base(file)) {
			delete(update, "description")
		}
		merge(old, update)
		out = append(out, old)
	}
	return out
}

func decode(b []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	return dec.Decode(v)
}

// CutSummary returns the description of an output as the summary of its artifact: cut
// to the length that one can have.
func CutSummary(description string) string {
	if runes := []rune(description); len(runes) > handoff.MaxSummary {
		return string(runes[:handoff.MaxSummary])
	}
	return description
}

// titleWidth is the maximum width of what Truncate returns, in terminal columns,
// including the dots that mark a cut.
const titleWidth = 35

// Truncate returns the first line of text that is not blank, with its white
// space collapsed, cut between characters to at most 35 columns including dots.
func Truncate(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			line = strings.Map(func(r rune) rune {
				if unicode.IsControl(r) {
					return -1
				}
				return r
			}, line)
			return displaywidth.TruncateString(line, titleWidth, "...")
		}
	}
	return ""
}
