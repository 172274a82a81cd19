package session

import (
	"cmp"
	"encoding/json"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
)

// A Manifest describes a session and its outputs to whoever finds its folder:
// "Session Output Management Specification", version 1.0.0. What is handoff's
// own stands in its metadata, under "handoff".
type Manifest struct {
	Version   string                     `json:"version"`
	SessionID string                     `json:"session_id"`
	Agent     ManifestAgent              `json:"agent"`
	Workflow  ManifestWorkflow           `json:"workflow"`
	Execution Execution                  `json:"execution"`
	Outputs   []Output                   `json:"outputs"`
	Inputs    map[string]json.RawMessage `json:"inputs,omitempty"`
	Related   []string                   `json:"related_sessions,omitempty"`
	Metadata  map[string]json.RawMessage `json:"metadata,omitempty"`

	DisplayName      string `json:"displayName,omitempty"` // only as a user set it
	DisplayTimestamp string `json:"displayTimestamp,omitempty"`
	UserSummary      string `json:"userSummary,omitempty"`
	MessageCount     int    `json:"messageCount,omitempty"`
}

// The parts of a manifest. Times are RFC 3339 in UTC, to the millisecond.
type (
	ManifestAgent struct {
		Name   string `json:"name"`
		Title  string `json:"title"`
		Bundle string `json:"bundle"`
	}
	ManifestWorkflow struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	}
	Execution struct {
		StartedAt   string `json:"started_at"`
		CompletedAt string `json:"completed_at,omitempty"`
		Status      string `json:"status"` // running, completed, failed or cancelled
		User        string `json:"user"`
	}
	Output struct {
		File        string `json:"file"` // slash-separated, below the session's folder
		Type        string `json:"type"` // document, data, report or artifact
		Description string `json:"description"`
		CreatedAt   string `json:"created_at"`
	}
)

// An extension is what handoff adds to a manifest.
type extension struct {
	LogSeq    handoff.Seq         `json:"logSeq"` // the newest record of the session, or of a publish in it
	Tags      []string            `json:"tags"`
	Late      []string            `json:"late"` // ids of artifacts that came after the session's end
	Artifacts []extensionArtifact `json:"artifacts"`
}

// An extensionArtifact is one artifact of the session, wherever it lies.
type extensionArtifact struct {
	ID      string         `json:"id"`
	Channel string         `json:"channel"`
	Path    string         `json:"path"`
	Status  handoff.Status `json:"status"`
}

const (
	manifestVersion = "1.0.0"
	extensionKey    = "handoff"
	stampForm       = "2006-01-02T15:04:05.000Z07:00"
)

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(stampForm)
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

// Outputs returns the outputs of a session, in the order in which their files
// were first published: of its artifacts, in any order, those that lie in its
// folder and were not withdrawn. A file is listed once, as it was described
// last.
func Outputs(s handoff.Session, artifacts []handoff.Artifact) []Output {
	outputs := []Output{}
	for _, a := range inOrder(artifacts) {
		file, inside := inFolder(s, a)
		if !inside || a.Status == handoff.Withdrawn {
			continue
		}
		out := Output{file, OutputType(a.Kind), cmp.Or(a.Summary, a.Title, path.Base(file)), stamp(a.CreatedAt)}
		if i := slices.IndexFunc(outputs, func(o Output) bool { return o.File == file }); i >= 0 {
			out.CreatedAt = outputs[i].CreatedAt
			outputs[i] = out
			continue
		}
		outputs = append(outputs, out)
	}
	return outputs
}

// inFolder returns the path of an artifact of a session below the session's
// folder, if it lies there.
func inFolder(s handoff.Session, a handoff.Artifact) (file string, inside bool) {
	folder := s.Folder
	switch {
	case folder == "" || a.Root != "" && a.Root != handoff.SessionRoot:
		return "", false
	case a.Root == "":
	case s.Parent == "":
		return a.Path, true
	default:
		folder = path.Join(path.Base(path.Dir(folder)), path.Base(folder)) // artifacts/RUN
	}
	return strings.CutPrefix(a.Path, folder+"/")
}

func inOrder(artifacts []handoff.Artifact) []handoff.Artifact {
	return slices.SortedFunc(slices.Values(artifacts), func(a, b handoff.Artifact) int { return cmp.Compare(a.Seq, b.Seq) })
}

// NewManifest returns the manifest of a session, from its fold and all its
// artifacts. It is a function of the log: whoever computes it from the same
// records gets the same bytes.
func NewManifest(s handoff.Session, artifacts []handoff.Artifact) (Manifest, error) {
	own := extension{LogSeq: s.Newest, Tags: append([]string{}, s.Tags...), Late: []string{}, Artifacts: []extensionArtifact{}}
	for _, a := range inOrder(artifacts) {
		own.LogSeq = max(own.LogSeq, a.Seq)
		own.Artifacts = append(own.Artifacts, extensionArtifact{a.ID, a.Channel, a.Path, a.Status})
		if a.Late {
			own.Late = append(own.Late, a.ID)
		}
	}
	b, err := json.Marshal(own)
	if err != nil {
		return Manifest{}, err
	}
	metadata := map[string]json.RawMessage{extensionKey: b}
	for key, value := range s.Metadata {
		if key != extensionKey {
			metadata[key] = value
		}
	}
	return Manifest{
		Version: manifestVersion, SessionID: s.ID,
		Agent:     ManifestAgent{s.Agent.Name, cmp.Or(s.Agent.Title, s.Agent.Name), s.Agent.Bundle},
		Workflow:  ManifestWorkflow(s.Workflow),
		Execution: Execution{stamp(s.OpenedAt), stamp(s.ClosedAt), s.Status, s.User},
		Outputs:   Outputs(s, artifacts), Inputs: s.Inputs, Related: s.Links, Metadata: metadata,
		DisplayName: s.Name, UserSummary: Truncate(s.Summary), MessageCount: s.Messages,
	}, nil
}

// JSON returns the bytes of the manifest's file. Over an adopted manifest its
// fields replace what they know, and all that it doesn't know stays.
func (m Manifest) JSON(adopted json.RawMessage) ([]byte, error) {
	b, err := indented(m)
	if err != nil || len(adopted) == 0 {
		return b, err
	}
	var base, ours map[string]any
	if err := decode(adopted, &base); err != nil {
		return nil, err
	}
	if err := decode(b, &ours); err != nil {
		return nil, err
	}
	outputs := overlayOutputs(base["outputs"], ours["outputs"])
	if execution, ok := base["execution"].(map[string]any); ok && m.Execution.CompletedAt == "" {
		delete(execution, "completed_at")
	}
	if metadata, ok := base["metadata"].(map[string]any); ok {
		delete(metadata, extensionKey)
	}
	overlay(base, ours)
	base["outputs"] = outputs
	return indented(base)
}

// overlay puts what is above over what is below, object by object.
func overlay(below, above map[string]any) {
	for key, value := range above {
		inner, ok := below[key].(map[string]any)
		if over, both := value.(map[string]any); ok && both {
			overlay(inner, over)
			continue
		}
		below[key] = value
	}
}

// overlayOutputs joins two lists of outputs by file. The time at which one was
// first listed stands, and so does one that is only below.
func overlayOutputs(below, above any) []any {
	out, _ := below.([]any)
	rest, _ := above.([]any)
	for _, o := range rest {
		over := o.(map[string]any)
		i := slices.IndexFunc(out, func(b any) bool {
			was, ok := b.(map[string]any)
			return ok && was["file"] == over["file"]
		})
		if i < 0 {
			out = append(out, over)
			continue
		}
		was := out[i].(map[string]any)
		if was["created_at"] != nil {
			delete(over, "created_at")
		}
		overlay(was, over)
	}
	return out
}
