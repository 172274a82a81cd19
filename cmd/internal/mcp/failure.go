package mcp

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
)

// A failureData is an error as docs/json.md describes it, without an exit code.
type failureData struct {
	Kind    handoff.Kind `json:"kind"`
	Op      string       `json:"op,omitempty"`
	Name    string       `json:"name,omitempty"`
	Message string       `json:"message"`
	Details []string     `json:"details,omitempty"`
	Hint    string       `json:"hint,omitempty"`
}

func newFailure(err error) failureData {
	f := failureData{Kind: "internal", Message: err.Error()}
	var e *handoff.Error
	switch {
	case errors.As(err, &e):
		f.Kind, f.Op, f.Name, f.Details, f.Hint = e.Kind, e.Op, e.Name, slices.Clone(e.Details), hintText(e.Hint)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		f.Kind = handoff.Unavailable
	}
	for i, d := range f.Details {
		f.Details[i] = short(d)
	}
	f.Name, f.Message, f.Hint = short(f.Name), short(f.Message), short(f.Hint)
	return f
}

// maxText is the size of a text of an error. An argument that is quoted in it can
// have megabytes.
const maxText = 2 << 10

func short(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + "…"
}

// toolCalls has the tool of each action, with its arguments. Each % is replaced
// with an operand. An action without a tool is worded without one.
var toolCalls = map[handoff.Action]string{
	handoff.ActionList:       "artifact_list",
	handoff.ActionListAll:    "artifact_list with all: true",
	handoff.ActionShow:       "artifact_get with ref: %",
	handoff.ActionHistory:    "artifact_get with ref: %, history: true",
	handoff.ActionRead:       "read_artifact with ref: %",
	handoff.ActionPublish:    "artifact_publish with path: %",
	handoff.ActionPublishAs:  "artifact_publish with replaces: [%]",
	handoff.ActionStdin:      "artifact_publish with content",
	handoff.ActionWrite:      "write_artifact with name: %, path: %",
	handoff.ActionWriteFor:   "write_artifact with name: %, path: %, session: %",
	handoff.ActionWriteRun:   "write_artifact with name: %, path: %, session: %, run: %",
	handoff.ActionWatchAfter: "artifact_wait with after: %",
	handoff.ActionThread:     "thread_read with uri: %",
	handoff.ActionThreadHead: "thread_read with uri: %, view: head",
	handoff.ActionSubagents:  "thread_read with uri: %, view: agents",
	handoff.ActionSessions:   "session_find",
	handoff.ActionSessionsOf: "session_find with agent: %",
	handoff.ActionAdd:        "session_add_output with file: %, type: %, session: %",
	handoff.ActionNext:       "stage_next with issue: %",
	handoff.ActionSubmit:     "stage_put with issue: %, stage: %, path: %",
}

// hintText words a hint for a model.
func hintText(h handoff.Hint) string {
	if h.Action == handoff.ActionAllowSecret {
		return h.Text // a model can't allow it
	}
	format, ok := toolCalls[h.Action]
	if !ok {
		return h.String()
	}
	for _, arg := range h.Args {
		format = strings.Replace(format, "%", strings.ReplaceAll(arg, "%", "\x00"), 1)
	}
	format = strings.ReplaceAll(format, "\x00", "%")
	if h.Text == "" {
		return "call " + format
	}
	return "to " + h.Text + ", call " + format
}
