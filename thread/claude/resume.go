package claude

import (
	"context"
	"maps"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/resume"
)

// A saved is what a scanner knows where reading can be resumed.
type saved struct {
	Timeline thread.TimelineState
	Request  uint64
	Tokens   thread.Tokens
	Answered bool

	Turn     turn
	Meter    thread.MeterState
	Answers  map[uint64]*answer
	Counted  map[uint64]bool // records of answers
	Warnings []string

	Own, Foreign   bool
	Known          bool
	Spawned        []string
	Spawning       []string // calls
	Last           jsonl.Stamp
	Records, Tools map[uint64]bool
	Forks          map[uint64]int
	Head           head
}

// A head is what a scanner knows before the first record.
type head struct {
	Version, Session string
	Agent            bool
}

// Resume implements thread.Resumer. Transcripts with records of other sessions or of
// subagents are read completely.
func (r *transcript) Resume(ctx context.Context, from thread.Mark, mark func(int64, func() []byte),
	emit func(thread.Message) error) (thread.Facts, error) {
	if r.only != "" || r.copied != nil || r.meta.copied || r.meta.forkedFrom != "" {
		return thread.Facts{}, thread.ErrMark
	}
	point, state, err := resume.At[saved](from, mark)
	if err != nil {
		return thread.Facts{}, err
	}
	s := r.scanner(ctx)
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
	src, err := point.Open(r.file.path)
	if err != nil {
		return thread.Facts{}, err
	}
	defer src.Close()
	if err := s.scan(src); err != nil {
		return thread.Facts{}, err
	}
	return s.finish()
}

func (s *scanner) head() head { return head{s.r.meta.version, s.r.meta.session, s.r.file.agent} }

func (s *scanner) save() (saved, bool) {
	t, ok := s.timeline.Save()
	return saved{
		Timeline: t, Request: s.timeline.request, Tokens: s.timeline.tokens, Answered: s.timeline.answered,
		Turn: s.turn, Meter: s.meter.Save(), Answers: s.meter.answers, Counted: s.meter.records, Warnings: s.facts.Warnings,
		Own: s.own, Foreign: s.foreign, Known: s.known, Last: s.last,
		Spawned: s.subagents.own(), Spawning: s.subagents.spawning(),
		Records: s.records, Tools: s.tools, Forks: s.forks, Head: s.head(),
	}, ok && len(s.chains) == 0
}

func (s *scanner) restore(state saved) error {
	s.timeline.request, s.timeline.tokens, s.timeline.answered = state.Request, state.Tokens, state.Answered
	s.turn = state.Turn
	s.meter.Restore(state.Meter)
	s.facts.Warnings, s.own, s.foreign, s.last = state.Warnings, state.Own, state.Foreign, state.Last
	s.known = state.Known
	s.subagents.restore(state.Spawned, state.Spawning)
	maps.Copy(s.meter.answers, state.Answers)
	maps.Copy(s.meter.records, state.Counted)
	maps.Copy(s.records, state.Records)
	maps.Copy(s.tools, state.Tools)
	maps.Copy(s.forks, state.Forks)
	return s.timeline.Restore(state.Timeline)
}
