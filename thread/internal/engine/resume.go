package engine

import (
	"bytes"
	"context"
	"encoding/gob"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// A point is where a file is read further, and who is asked for marks.
type point struct {
	lines   int // before the first one that is read
	offset  int64
	mark    func(offset int64, state func() []byte)
	saver   Saver
	resumed string
	damaged bool // a line was skipped or truncated
}

// A saved is the state of a Scan between two lines.
type saved struct {
	Resumed            string // Reader.Resumed
	Lines              int
	Timeline           thread.TimelineState
	Meter              thread.MeterState
	State              thread.State
	Before, Compacting thread.State
	Facts              savedFacts
	Calls              thread.PendingCalls
	Uses               uses
	Strange            strange
	Spawned            []string
	Gaps               []thread.Gap
}

// savedFacts are the facts that a Scan sets before its end.
type savedFacts struct {
	Last     time.Time
	Undated  bool
	ShellID  string
	Warnings []string
}

// after asks for a mark after a line. complete reports whether the line was complete.
func (p *point) after(s *Scan, rd *jsonl.Reader, complete bool) {
	p.damaged = p.damaged || !complete || rd.Cut()
	if p.mark == nil || p.damaged || rd.Torn() {
		return
	}
	p.mark(rd.End(), func() []byte { return s.save(rd.Number()) })
}

// save returns the state of a scan after so many lines, nil if reading can't be resumed
// there.
func (s *Scan) save(lines int) []byte {
	timeline, ok := s.Timeline.Save()
	own := s.point.saver.Saved()
	if !ok || own == nil || len(s.kept) > 0 {
		return nil
	}
	f := &s.Facts
	state := saved{Resumed: s.point.resumed, Lines: lines, Timeline: timeline, Meter: s.Meter.Save(), State: f.State,
		Before: s.before, Compacting: s.compacting, Calls: s.Calls, Uses: s.uses, Strange: s.strange,
		Spawned: s.spawned(), Gaps: s.Gaps,
		Facts: savedFacts{Last: f.Last, Undated: f.Undated, ShellID: f.ShellID, Warnings: f.Warnings}}
	var b bytes.Buffer
	out := gob.NewEncoder(&b)
	if out.Encode(state) != nil || out.Encode(own) != nil {
		return nil
	}
	return b.Bytes()
}

// restore sets the state of a scan and its decoder.
func (s *Scan) restore(from thread.Mark, own any) error {
	in := gob.NewDecoder(bytes.NewReader(from.State))
	var state saved
	if in.Decode(&state) != nil || own == nil || in.Decode(own) != nil || state.Resumed != s.point.resumed {
		return thread.ErrMark
	}
	s.point.lines, s.point.offset = state.Lines, from.Offset
	s.Meter.Restore(state.Meter)
	s.before, s.compacting = state.Before, state.Compacting
	s.Calls, s.uses = state.Calls, state.Uses
	s.strange, s.Gaps = state.Strange, state.Gaps
	f := &s.Facts
	f.State, f.Last = state.State, state.Facts.Last
	f.Undated, f.ShellID = state.Facts.Undated, state.Facts.ShellID
	f.Warnings = state.Facts.Warnings
	for _, id := range state.Spawned {
		s.Agent(id).Spawned = true
	}
	return s.Timeline.Restore(state.Timeline)
}

// Resume implements thread.Resumer.
func (r *Reader) Resume(ctx context.Context, from thread.Mark, mark func(int64, func() []byte),
	emit func(thread.Message) error) (thread.Facts, error) {
	s := r.scan()
	s.Timeline.Detail, s.Timeline.Emit = thread.Tools, emit
	d := r.New(s)
	saver, ok := d.(Saver)
	if !ok || r.Resumed == "" {
		return thread.Facts{}, thread.ErrMark
	}
	s.point = point{mark: mark, saver: saver, resumed: r.Resumed}
	if from.Offset > 0 {
		if err := s.restore(from, saver.Saved()); err != nil {
			return thread.Facts{}, err
		}
	}
	return r.run(ctx, s, d)
}
