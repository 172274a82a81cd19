package cost_test

import (
	"fmt"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/trace/cost"
)

// TestPartOf has much work inside other work: all of it counts, and no other.
func TestPartOf(t *testing.T) {
	work := []handoff.Work{{Harness: "flue", ID: "0"}, {Harness: "flue", ID: "other"}, {Harness: "pi", ID: "1"}}
	for i := range 5000 {
		work = append(work, handoff.Work{Harness: "flue", ID: fmt.Sprint(i + 1), Parent: fmt.Sprint(i)})
	}
	part := cost.PartOf(handoff.Producer{Harness: "flue", WorkID: "0"}, nil, work)
	if len(part) != 5001 {
		t.Errorf("got %d units of work, want 5001", len(part))
	}
}
