package hook_test

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/internal/log/filelog"
	"github.com/agent-handoff/handoff/internal/trace/hook"
	"github.com/agent-handoff/handoff/trace"
)

// TestNewsFail has news that can't be read: an agent still learns what its session is
// expected to leave. A program that takes up no answer causes no work.
func TestNewsFail(t *testing.T) {
	failed, asked := errors.New("no index"), 0
	const id = "11111111-2222-4333-8444-555555555555"
	hub := handoff.New(filelog.Open(t.TempDir(), rand.Reader), logtest.NewReference(), nil,
		handoff.Options{Now: time.Now, Rand: rand.Reader})
	opened := &handoff.SessionOpened{SessionID: id, Folder: "f", Expected: []string{"report.md"},
		Agent: handoff.SessionAgent{Name: "ann"}, Workflow: handoff.SessionWorkflow{Name: "w"}}
	if _, _, err := hub.Record(t.Context(), opened); err != nil {
		t.Fatal(err)
	}
	r := hook.Recorder{Hub: hub, Now: time.Now, News: func(context.Context, trace.HookEvent) (string, error) {
		asked++
		return "", failed
	}}
	for program, answers := range map[string]bool{"claude": true, "opencode": false} {
		asked = 0
		reply, err := r.Handle(t.Context(), trace.HookEvent{Kind: trace.SessionStart, Harness: program, Provider: program,
			Dir: "/w", Session: "s-" + program, HandoffSession: id})
		if errors.Is(err, failed) != answers || strings.Contains(string(reply), "report.md") != answers ||
			(asked > 0) != answers {
			t.Errorf("%s: got %s, %v after %d calls", program, reply, err, asked)
		}
	}
}
