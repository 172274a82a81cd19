package fold_test

import (
	"reflect"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/fold"
	"github.com/agent-handoff/handoff/logtest"
	"pgregory.net/rapid"
)

// TestWorkOrder checks that the order in which records about work arrive does not
// matter, and which of several ends counts.
func TestWorkOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var records []handoff.Record
		seen := map[string]bool{}
		for _, r := range logtest.DrawRecords(t) {
			if seen[r.ID] {
				continue // a retry, which Apply of the package skips
			}
			seen[r.ID] = true
			switch f := r.Fact.(type) {
			case *handoff.WorkStarted:
				f.WorkID = "w"
				records = append(records, r)
			case *handoff.WorkEnded:
				f.WorkID = "w"
				records = append(records, r)
			}
		}
		view := func(records []handoff.Record) handoff.Work {
			var w handoff.Work
			for _, r := range records {
				fold.ApplyWork(&w, r)
			}
			return w
		}
		want, got := view(records), view(rapid.Permutation(records).Draw(t, "order"))
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("in another order: %+v, want %+v", got, want)
		}
		for _, r := range records {
			if f, ok := r.Fact.(*handoff.WorkEnded); ok && f.UsageSource == handoff.UsageFromHarness && want.UsageSource != handoff.UsageFromHarness {
				t.Fatalf("the usage of the harness in %s does not count: %+v", r.ID, want)
			}
		}
	})
}
