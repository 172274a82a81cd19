package handoff_test

import (
	"context"
	"iter"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/fold"
)

// emptyLog is a log without records.
type emptyLog struct{ handoff.Log }

func (emptyLog) Read(context.Context, handoff.Seq) iter.Seq2[handoff.Record, error] {
	return func(func(handoff.Record, error) bool) {}
}

// TestCatchUpMemory checks that a reader of an index that is up to date pays for no
// batch of records: every query catches up.
func TestCatchUpMemory(t *testing.T) {
	index := fold.NewMemory()
	used := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			if err := handoff.CatchUp(b.Context(), emptyLog{}, index); err != nil {
				b.Fatal(err)
			}
		}
	}).AllocedBytesPerOp()
	if used > 1000 {
		t.Errorf("%d bytes for nothing new", used)
	}
}
