package threadindex

import (
	"testing"
	"time"

	"github.com/agent-handoff/handoff/thread"
)

// TestStateOfRecentChange checks that a transcript that has just changed is read again
// by the next command, and one that has settled is not.
func TestStateOfRecentChange(t *testing.T) {
	changed := time.Unix(1000, 0)
	s := &thread.Stored{Provider: "claude", Key: "k", Stamp: 7, Changed: changed}
	at := func(after time.Duration) int64 { return state(s, changed.Add(after)) }
	if at(recent-2) == at(recent-1) {
		t.Error("a file that has just changed has the same state twice")
	}
	if at(recent) != at(time.Hour) {
		t.Error("a file that has settled has another state later")
	}
}
