package codex

import (
	"context"
	"fmt"

	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/resume"
)

// A saved is what a scanner knows where reading can be resumed.
type saved struct {
	Timeline thread.TimelineState
	Recent   [8]recorded
	Next     int
	Compact  int

	Turn     turn
	Meter    thread.MeterState
	Model    string
	Total    []byte // as JSON
	Any      bool
	Warnings []string
	Metas    int
	Known    bool
	Head     string // the meta
	Spawned  []string
	Spawning []string // calls
}

// Resume implements thread.Resumer. Rollouts with records of others, or whose history
// is in another rollout, are read completely.
func (r *rollout) Resume(ctx context.Context, from thread.Mark, mark func(int64, func() []byte),
	emit func(thread.Message) error) (thread.Facts, error) {
	if r.file.packed || r.meta.baseThread != "" || r.meta.forkedFrom != "" || r.meta.historyStart > 0 {
		return thread.Facts{}, thread.ErrMark
	}
	point, state, err := resume.At[saved](from, mark)
	if err != nil {
		return thread.Facts{}, err
	}
	s := newScanner(ctx, r.meta)
	s.point = point
	if point.Resumed() {
		if state.Head != s.head() {
			return thread.Facts{}, thread.ErrMark
		}
		if err := s.restore(state); err != nil {
			return thread.Facts{}, err
		}
	}
	s.timeline.Detail, s.timeline.Emit = thread.Tools, emit
	src, err := point.Open(r.file.path())
	if err != nil {
		return thread.Facts{}, err
	}
	defer src.Close()
	if err := s.scan(src); err != nil {
		return thread.Facts{}, err
	}
	return s.finish()
}

// head identifies what was known before the first record was read.
func (s *scanner) head() string { return fmt.Sprint(s.meta) }

func (s *scanner) save() (saved, bool) {
	t, ok := s.timeline.Save()
	return saved{
		Timeline: t, Recent: s.timeline.recent, Next: s.timeline.next, Compact: s.timeline.compact, Turn: s.turn,
		Meter: s.meter.Save(), Model: s.meter.model, Total: s.meter.raw, Any: s.meter.any, Warnings: s.facts.Warnings,
		Metas: s.metas, Known: s.known, Head: s.head(), Spawned: s.subagents.spawned(), Spawning: s.subagents.spawning(),
	}, ok
}

func (s *scanner) restore(state saved) error {
	s.timeline.recent, s.timeline.next, s.timeline.compact, s.turn = state.Recent, state.Next, state.Compact, state.Turn
	s.meter.Restore(state.Meter)
	s.meter.model, s.meter.raw = state.Model, state.Total
	if s.meter.any = state.Any; s.meter.any {
		s.meter.total, _ = parseCount(state.Total)
		s.meter.known = true
	}
	s.facts.Warnings, s.metas, s.known = state.Warnings, state.Metas, state.Known
	s.subagents.restore(state.Spawned, state.Spawning)
	return s.timeline.Restore(state.Timeline)
}
