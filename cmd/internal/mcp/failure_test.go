package mcp

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
)

// TestHintText checks that a hint names a tool with its arguments, or what the user can
// do, and no variable.
func TestHintText(t *testing.T) {
	for _, tt := range []struct {
		hint handoff.Hint
		want string
	}{
		{handoff.Suggest("publish it in a channel (a, b)", handoff.ActionPublishIn, "-", "a"),
			"to publish it in a channel (a, b), call artifact_publish with channel: a"},
		{handoff.Suggest("", handoff.ActionWriteFor, "a.md", "100%d.md", "s"),
			"call write_artifact with name: a.md, path: 100%d.md, session: s"},
		{handoff.Suggest("see what is damaged", handoff.ActionCheck), "ask the user to see what is damaged"},
		{handoff.Suggest("", handoff.ActionUnarchive, "42"), "ask the user to unarchive pipeline run 42"},
		{handoff.Suggest("leave it out", handoff.ActionAllowSecret), "leave it out"},
		{handoff.Advice("free disk space").OrSet("HANDOFF_DIR to a writable directory"), "free disk space"},
		{handoff.Hint{}.OrSet("HANDOFF_DIR to a writable directory"), "ask the user to change the settings of this server"},
		{handoff.Hint{}, ""},
	} {
		if got := hintText(tt.hint); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.hint, got, tt.want)
		}
	}
	for action := range toolCalls {
		if got := hintText(handoff.Suggest("", action, "A", "B", "C", "D")); strings.Contains(got, "%!(BADINDEX") ||
			strings.Contains(got, "%!s") {
			t.Errorf("%s: %s", action, got)
		}
	}
}

// TestFailureText bounds the problems that the text of an error lists.
func TestFailureText(t *testing.T) {
	e := handoff.E("put", "plan", handoff.Invalid, errors.New("violates its contract"), handoff.Advice("correct it"))
	for i := range 1000 {
		e.Details = append(e.Details, fmt.Sprint("problem ", i))
	}
	text := newFailure(e).text()
	if !strings.Contains(text, "\n- problem 19\n- and 980 more\nhint: correct it") {
		t.Errorf("got %s", text)
	}
	for i := range e.Details {
		e.Details[i] = strings.Repeat("x", 1<<20)
	}
	if n := len(newFailure(e).text()); n > 4*maxText {
		t.Errorf("a text of %d bytes", n)
	}
}
