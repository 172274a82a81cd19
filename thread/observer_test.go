package thread_test

import (
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/thread"
)

// TestObserver concludes states from the time and from processes.
func TestObserver(t *testing.T) {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	u := thread.URI{Provider: "claude", Thread: "x"}
	running := thread.State{Status: thread.Running, Source: thread.Child, Evidence: "line 3", Waiting: "an answer"}
	done := thread.State{Status: thread.Completed, Source: thread.Child}
	open := thread.State{Status: thread.Completed, Source: thread.Inferred, NoEnd: true, Waiting: "an answer"}
	second, silent := thread.SettledAfter-time.Second, thread.SilentAfter+time.Minute
	for _, tt := range []struct {
		name     string
		state    thread.State
		silent   time.Duration
		presence thread.Presence
		want     thread.Status
		reason   string
	}{
		{"seen lately", running, time.Minute, thread.Unknown, thread.Running, ""},
		{"silent for exactly SilentAfter", running, thread.SilentAfter, thread.Unknown, thread.Running, ""},
		{"silent", running, silent, thread.Unknown, thread.Shutdown, "last seen 31 min ago"},
		{"silent for hours", running, 5 * time.Hour, thread.Unknown, thread.Shutdown, "last seen 5 h ago"},
		{"silent for days", running, 72 * time.Hour, thread.Unknown, thread.Shutdown, "last seen 3 days ago"},
		{"silent, with its process", running, silent, thread.Present, thread.Running, ""},
		{"without its process", running, 0, thread.Gone, thread.Shutdown, "process gone"},
		{"ended", done, 0, thread.Gone, thread.Completed, ""},
		{"ended, seconds ago", done, 0, thread.Unknown, thread.Completed, ""},
		{"no end is recorded, seconds ago", open, second, thread.Unknown, thread.Running, ""},
		{"no end is recorded, seconds ago, with its process", open, second, thread.Present, thread.Running, ""},
		{"no end is recorded, and the process has ended", open, second, thread.Gone, thread.Completed, ""},
		{"no end is recorded", open, thread.SettledAfter, thread.Unknown, thread.Completed, ""},
	} {
		o := thread.Observer{Now: func() time.Time { return now },
			Process: func(thread.URI, time.Time) thread.Presence { return tt.presence }}
		at := now.Add(-tt.silent)
		got := o.State(u, tt.state, at, at)
		if got.Status != tt.want || got.Reason != tt.reason {
			t.Errorf("%s: got %s %q, want %s %q", tt.name, got.Status, got.Reason, tt.want, tt.reason)
		}
		if got.Status != tt.state.Status && (got.Source != thread.Inferred || !strings.HasSuffix(got.Evidence,
			tt.state.Evidence) || got.NoEnd) {
			t.Errorf("%s: got %+v, want an inferred state with the evidence of %+v", tt.name, got, tt.state)
		}
		if again := o.State(u, got, at, at); again != got {
			t.Errorf("%s: concluded again: got %+v, want %+v", tt.name, again, got)
		}
		if zero := (thread.Observer{}).State(u, tt.state, at, at); zero != tt.state {
			t.Errorf("%s: without an observer: got %+v, want %+v", tt.name, zero, tt.state)
		}
		if !contains(tt.want.Recorded(), tt.state.Status) {
			t.Errorf("%s: %s.Recorded() lacks %s", tt.name, tt.want, tt.state.Status)
		}
	}
}

func contains(list []thread.Status, s thread.Status) bool {
	for _, one := range list {
		if one == s {
			return true
		}
	}
	return false
}
