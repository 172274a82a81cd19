package mcp

import (
	"context"
	"errors"
	"fmt"
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

// maxDetails is how many details of an error its text has.
const maxDetails = 20

// text returns the error for a model: the message, each problem, and the hint.
func (f failureData) text() string {
	text := f.Message
	for i, d := range f.Details {
		if i == maxDetails || len(text) > 2*maxText {
			text += fmt.Sprintf("\n- and %d more", len(f.Details)-i)
			break
		}
		text += "\n- " + d
	}
	if f.Hint != "" {
		text += "\nhint: " + f.Hint
	}
	return text
}

// toolCalls has the tool of each action, with its arguments: a format of the operands.
var toolCalls = map[handoff.Action]string{
	handoff.ActionList:        "artifact_list",
	handoff.ActionListAll:     "artifact_list with all: true",
	handoff.ActionListBy:      "artifact_list with all: true, %[1]s: %[2]s",
	handoff.ActionSessionsBy:  "session_find with %[1]s: %[2]s",
	handoff.ActionShow:        "artifact_get with ref: %[1]s",
	handoff.ActionCompare:     `artifact_get with ref: %[1]s, compare: ["*"]`,
	handoff.ActionApprove:     "artifact_review with ref: %[1]s, decision: approved",
	handoff.ActionPublishKept: "artifact_publish with replaces: [%[1]s], keep: always",
	handoff.ActionHistory:     "artifact_get with ref: %[1]s, history: true",
	handoff.ActionRead:        "read_artifact with ref: %[1]s",
	handoff.ActionPublishIn:   "artifact_publish with channel: %[2]s",
	handoff.ActionPublishAs:   "artifact_publish with replaces: [%[1]s]",
	handoff.ActionStdin:       "artifact_publish with content",
	handoff.ActionWrite:       "write_artifact with name: %[1]s, path: %[2]s",
	handoff.ActionWriteFor:    "write_artifact with name: %[1]s, path: %[2]s, session: %[3]s",
	handoff.ActionWriteRun:    "write_artifact with name: %[1]s, path: %[2]s, session: %[3]s, run: %[4]s",
	handoff.ActionWatchAfter:  "artifact_wait with after: %[1]s",
	handoff.ActionThread:      "thread_read with uri: %[1]s",
	handoff.ActionContinue:    "thread_read with uri: %[1]s and view: brief",
	handoff.ActionContinueIn:  "thread_read with uri: %[1]s and view: brief",
	handoff.ActionThreadHead:  "thread_read with uri: %[1]s, view: head",
	handoff.ActionSubagents:   "thread_read with uri: %[1]s, view: agents",
	handoff.ActionSessions:    "session_find",
	handoff.ActionSessionsOf:  "session_find with agent: %[1]s",
	handoff.ActionAdd:         "session_add_output with file: %[1]s, type: %[2]s, session: %[3]s",
	handoff.ActionNext:        "stage_next with issue: %[1]s",
	handoff.ActionSubmit:      "stage_put with issue: %[1]s, stage: %[2]s, path: %[3]s",
	handoff.ActionSchema:      "stage_schema with stage: %[1]s",
	handoff.ActionRunSchema:   "stage_schema with stage: %[1]s, issue: %[2]s",
	handoff.ActionExample:     "stage_schema with stage: %[1]s, issue: %[2]s, example: true",
}

// hintText words a hint for a model, which can call tools. It can't set a variable or
// run what no tool does, but its user can.
func hintText(h handoff.Hint) string {
	call, ok := toolCalls[h.Action]
	if ok {
		args := make([]any, len(h.Args))
		for i, arg := range h.Args {
			args[i] = arg
		}
		call = "call " + fmt.Sprintf(call, args...)
	}
	switch {
	case ok && h.Text == "":
		return call
	case ok:
		return "to " + h.Text + ", " + call
	case h.Action == "" && h.Text == "" && h.Variable != "":
		return "ask the user to change the settings of this server"
	case h.Action == "", h.Action == handoff.ActionAllowSecret: // a model can't allow it
		return h.Text
	case h.Text == "":
		return "ask the user to " + strings.Join(append([]string{string(h.Action)}, h.Args...), " ")
	}
	return "ask the user to " + h.Text
}
