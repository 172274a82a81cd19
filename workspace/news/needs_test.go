package news

import (
	"testing"

	"github.com/agent-handoff/handoff/storage"
	"github.com/agent-handoff/handoff/workspace/store"
)

// TestLogNeeds has records that are queued, then also one that the log refused: a watch
// prints both.
func TestLogNeeds(t *testing.T) {
	var r Report
	Source{}.queueNeeds(&r, store.LogStatus{Queued: make([]storage.QueuedRecord, 2), Refused: make([]storage.Refusal, 1)})
	if len(r.Needs) != 2 || r.Needs[0].key() == r.Needs[1].key() {
		t.Errorf("got %+v, want two needs with keys of their own", r.Needs)
	}
}
