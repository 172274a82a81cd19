package handoff_test

import (
	"github.com/agent-handoff/handoff/engines/memory"

	"context"
	"errors"
	"iter"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
)

// emptyLog is a log without records.
type emptyLog struct{ handoff.Log }

func (emptyLog) Read(context.Context, handoff.Seq) iter.Seq2[handoff.Record, error] {
	return func(func(handoff.Record, error) bool) {}
}

// TestCatchUpMemory checks that a reader of an index that is up to date pays for no
// batch of records: every query catches up.
func TestCatchUpMemory(t *testing.T) {
	index := logtest.NewReference()
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

// A stuckLog takes until leave is closed to read.
type stuckLog struct {
	handoff.Log
	entered, leave chan struct{}
}

func (l stuckLog) Read(context.Context, handoff.Seq) iter.Seq2[handoff.Record, error] {
	return func(func(handoff.Record, error) bool) {
		close(l.entered)
		<-l.leave
	}
}

// TestCanceledWhileAnotherCatchesUp asks for artifacts while another request catches up,
// which takes long: the request ends with its context.
func TestCanceledWhileAnotherCatchesUp(t *testing.T) {
	log := stuckLog{memory.NewLog(), make(chan struct{}), make(chan struct{})}
	h := handoff.New(log, logtest.NewReference(), nil, handoff.Options{})
	done := make(chan error)
	go func() {
		_, err := h.Artifacts(context.Background(), handoff.ArtifactQuery{})
		done <- err
	}()
	<-log.entered
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.Artifacts(ctx, handoff.ArtifactQuery{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Artifacts = %v, want the error of its context", err)
	}
	close(log.leave)
	if err := <-done; err != nil {
		t.Error(err)
	}
}
