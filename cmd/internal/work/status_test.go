package work

import (
	"testing"
	"time"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/trace"
	"github.com/agent-handoff/handoff/workspace/news"
)

// TestWatched checks that the age of a session alone is a change of the table and none
// of its JSON, which has no age.
func TestWatched(t *testing.T) {
	now := time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)
	a := &cli.App{Now: func() time.Time { now = now.Add(time.Minute); return now }}
	session := trace.ActiveSession{ActiveAt: now}
	for _, tt := range []struct{ json, changed, want bool }{{false, false, true}, {true, false, false},
		{true, true, true}} {
		a.AsJSON = tt.json
		var activity news.Status
		activity.Sessions = append(activity.Sessions, session)
		before, err := watched(a, activity)
		if err != nil {
			t.Fatal(err)
		}
		if tt.changed {
			activity.Sessions[0].ActiveAt = now
		}
		if after, err := watched(a, activity); err != nil || (after != before) != tt.want {
			t.Errorf("%+v: %s after %s, %v", tt, after, before, err)
		}
	}
}
