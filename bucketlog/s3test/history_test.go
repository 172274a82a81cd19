package s3test

import (
	"errors"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/fold"
	"github.com/agent-handoff/handoff/logtest"
)

func newIndex() handoff.Index { return fold.NewMemory() }

// TestKilledWriters kills processes that append, over a connection that delays, cuts
// and loses replies, to a store that fails at times. The log has each record that was
// acknowledged, once and in order, and every reader has the same answers.
func TestKilledWriters(t *testing.T) {
	if logtest.Write(t, func(runtime string) handoff.Log { return openAt(t, os.Getenv("S3TEST_ENDPOINT"), runtime) }) {
		return
	}
	s := newStore(t)
	p := logtest.NewProxy(t, s.Listener.Addr().String())
	p.Delay.Store(int64(time.Millisecond))
	p.Cut.Store(40)
	p.Lose.Store(40)
	w := logtest.Writers{Test: "TestKilledWriters", Env: []string{"S3TEST_ENDPOINT=" + p.Addr()}, Records: 200, Threads: 2}
	if os.Getenv("HANDOFF_LONG") != "" {
		w.Records, w.Threads = 5000, 4
	}
	s.fail.Store(3)
	h, failed := w.Kill(t)
	puts := s.puts.Load()
	s.Close() // waits for requests of killed processes
	s.Server = httptest.NewServer(s.Config.Handler)
	n := h.Check(t, newIndex, s.machine(t, t.TempDir()), s.machine(t, t.TempDir()), s.machine(t, t.TempDir()))
	t.Logf("%d acknowledged, %d failed, %d stored with %d PUTs; %d requests and %d replies were lost", h.Len(), failed, n, puts, p.Cuts.Load(), p.Losses.Load())
	if report, err := s.machine(t, t.TempDir()).Check(t.Context(), nil); err != nil || !report.OK() {
		t.Errorf("Check = %+v, %v", report, err)
	}
}

// TestCutConnections has connections that are all cut: an append ends, with an error.
func TestCutConnections(t *testing.T) {
	s := newStore(t)
	p := logtest.NewProxy(t, s.Listener.Addr().String())
	l := openAt(t, p.Addr(), t.TempDir())
	logtest.Append(t, l, "a.md")
	p.Lose.Store(1)
	r := logtest.NewRecord("b.md")
	if _, err := l.Append(t.Context(), r); !errors.Is(err, handoff.Unavailable) {
		t.Errorf("Append = %v, want kind Unavailable", err)
	}
	p.Lose.Store(0)
	logtest.Append(t, l, "c.md")
	seen := 0
	for _, stored := range logtest.Collect(t, s.machine(t, t.TempDir()), 0) {
		if stored.ID == r.ID {
			seen++
		}
	}
	if seen > 1 {
		t.Errorf("the record whose replies were lost is stored %d times", seen)
	}
}
