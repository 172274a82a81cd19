package codex

import (
	"context"
	"io"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/resume"
)

// A rollout reads one thread.
type rollout struct {
	p    *provider
	file file
	size int64
	meta meta

	subagents *subagents // found by the last Read; nil before
}

// Read implements thread.Reader.
func (r *rollout) Read(ctx context.Context, detail thread.Detail, emit func(thread.Message) error) (thread.Facts,
	error) {
	s := newScanner(ctx, r.meta)
	s.timeline.Detail, s.timeline.Emit = detail, emit
	s.lineage = r.readLineage(ctx, s)
	if r.meta.baseThread != "" && detail > thread.Summary {
		if err := r.replay(s); err != nil {
			return thread.Facts{}, err
		}
	}
	src, err := r.file.open()
	if err != nil {
		return thread.Facts{}, err
	}
	defer src.Close()
	if err := s.scan(src); err != nil {
		return thread.Facts{}, err
	}
	r.subagents = &s.subagents
	return s.finish()
}

// readUsage reads the usage of a rollout in one pass. It returns nil if the rollout
// does not start with its meta.
func (p *provider) readUsage(ctx context.Context, f file) (*thread.Thread, error) {
	src, err := f.open()
	if err != nil {
		return nil, err
	}
	defer src.Close()
	rd := jsonl.Borrow(src)
	defer rd.Return()
	if !rd.Next() {
		return nil, nil
	}
	m, ok := metaOf(rd.Line(), f)
	if !ok {
		return nil, nil
	}
	rd.Again()
	s := newScanner(ctx, m)
	s.brief = true
	r := &rollout{p: p, file: f, meta: m}
	s.lineage = r.readLineage(ctx, s)
	if err := s.each(rd); err != nil {
		return nil, err
	}
	facts, err := s.finish()
	t := r.thread()
	t.Usage, t.Inherited, t.Requests, t.Spawned = facts.Usage, facts.Inherited, facts.Requests, facts.Spawned
	return t, err
}

// replay reads the history that a rollout refers to: the first part of another
// rollout, which may refer to a history itself.
func (r *rollout) replay(s *scanner) error {
	var chain []*rollout
	var ends []base
	for m, seen := r.meta, map[string]bool{r.meta.id: true}; m.baseThread != ""; {
		if seen[m.baseThread] {
			s.facts.Warn("its history refers back to thread %s", m.baseThread)
			break
		}
		seen[m.baseThread] = true
		t, err := r.p.Thread(s.ctx, m.baseThread)
		if err != nil {
			s.facts.Warn("its history is in thread %s, which can't be read", m.baseThread)
			break
		}
		prior := t.Reader.(*rollout)
		chain, ends = append(chain, prior), append(ends, m.baseEnd)
		m = prior.meta
	}
	for i := len(chain) - 1; i >= 0; i-- {
		src, err := chain[i].file.open()
		if err != nil {
			return err
		}
		s.replaying, s.meter.off = true, true
		var part io.Reader = src
		if s.until = ends[i].ordinal; s.until == 0 {
			part = io.LimitReader(src, ends[i].bytes)
		}
		err = s.scan(part)
		s.replaying, s.meter.off, s.meter.model = false, false, ""
		src.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// tail is how much of the end of a rollout is read for its state.
const tail = 64 << 10

// state reads the state of a thread, from the end of its rollout if possible.
func (r *rollout) state(ctx context.Context) (thread.Facts, error) {
	if r.file.packed || r.size <= tail {
		return r.Read(ctx, thread.Summary, nil)
	}
	src, err := thread.OpenFile(r.file.path())
	if err != nil {
		return thread.Facts{}, err
	}
	defer src.Close()
	s := newScanner(ctx, r.meta)
	s.lineage = &lineage{start: r.meta.historyStart}
	s.partial = true
	if err := s.scan(io.NewSectionReader(src, r.size-tail, tail)); err != nil {
		return thread.Facts{}, err
	}
	if s.turn.State.Status == "" {
		return r.Read(ctx, thread.Summary, nil)
	}
	return s.finish()
}

// A scanner reads the records of a rollout.
type scanner struct {
	ctx   context.Context
	meta  meta
	facts thread.Facts

	timeline  timeline
	turn      turn
	meter     meter
	subagents subagents
	lineage   *lineage

	brief     bool  // only usage is needed
	partial   bool  // it starts in the middle of a line
	replaying bool  // the records are of another rollout, which this one continues
	until     int64 // when replaying, the ordinal to stop at; 0: none
	stopped   bool  // that ordinal was reached
	point     resume.Point
	n         int // line of the record
	at        jsonl.Value
	payload   jsonl.Members
	metas     int
	known     bool // a record is one of the program
}

func newScanner(ctx context.Context, m meta) *scanner {
	s := &scanner{ctx: ctx, meta: m, lineage: new(lineage)}
	s.meter.provider = m.provider
	s.meter.known = m.forkedFrom == "" && m.baseThread == "" && m.historyStart == 0 && m.parent == ""
	s.subagents.self, s.subagents.calls = m.id, map[string]call{}
	return s
}

// scan reads the records of src. The error is one of emit or ctx. Defects of src
// become warnings, unless src is another rollout.
func (s *scanner) scan(src io.Reader) error {
	rd := jsonl.Borrow(src)
	defer rd.Return()
	s.point.Start(rd)
	return s.each(rd)
}

func (s *scanner) each(rd *jsonl.Reader) error {
	s.stopped = false
	report, err := rd.Each(s.ctx, func(line jsonl.Value) (bool, error) {
		if s.n = rd.Number(); s.partial && s.n == 1 {
			return true, nil
		}
		s.subagents.line = s.n
		complete := s.records(line)
		if s.stopped {
			return complete, jsonl.ErrStop
		}
		if !s.brief {
			resume.Mark(&s.point, rd, complete, s.save)
		}
		return complete, s.timeline.Err()
	})
	if !s.replaying {
		s.facts.Lines, s.facts.BadLines, s.facts.Partial = report.Lines, report.Bad, report.Partial
		s.facts.Warnings = append(s.facts.Warnings, report.Warnings...)
	}
	return err
}

// records reads the record of a line, or several records written on one line. It
// reports whether the line consists of complete records.
func (s *scanner) records(line jsonl.Value) bool {
	for len(line) > 0 {
		var kind, ordinal jsonl.Value
		c := line.Members()
		s.at = nil
		bare, named := true, false
		for c.Next() {
			switch string(c.Name()) {
			case "timestamp":
				s.at = c.Value()
			case "type":
				kind, named = c.Value(), true
			case "payload":
				s.payload.Fill(&c)
				bare = false
			case "ordinal":
				ordinal = c.Value()
			case "id":
				named = true
			}
		}
		switch {
		case !bare:
			s.record(kind.Raw(), &s.payload, ordinal)
		case named: // before 0.32 records had no envelope
			s.payload.Parse(line)
			s.known = s.known || kind.Kind() == jsonl.Absent // a meta
			s.bare(kind.Raw(), &s.payload)
		}
		if !c.Closed() {
			return false
		}
		line = c.Rest()
	}
	return true
}

// bare reads a record without an envelope.
func (s *scanner) bare(kind []byte, payload *jsonl.Members) {
	switch string(kind) {
	case "message", "reasoning", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output",
		"local_shell_call":
		s.known = true
		s.item(payload)
	}
}

// records are the kinds of records with an envelope.
var records = map[string]bool{
	"session_meta": true, "turn_context": true, "response_item": true, "event_msg": true, "compacted": true,
}

// record reads one record. Copied records are shown, but do not affect the facts.
func (s *scanner) record(kind []byte, payload *jsonl.Members, ordinal jsonl.Value) {
	if s.replaying && s.until > 0 && ordinal.Kind() == jsonl.Number && ordinal.Int() >= s.until {
		s.stopped = true
		return
	}
	copied := s.replaying || s.lineage.copied(kind, payload, ordinal)
	s.timeline.Inherited, s.meter.inherited, s.subagents.off = copied, copied, copied
	s.known = s.known || records[string(kind)]
	switch string(kind) {
	case "session_meta":
		s.sessionMeta(payload)
	case "turn_context":
		s.meter.model = payload.Get("model").Text()
		s.turn.Policy = payload.Get("approval_policy").Text()
	case "response_item":
		s.item(payload)
	case "event_msg":
		s.event(payload)
	case "compacted":
		s.timeline.compacted(s.n, s.at.Time(), payload.Get("message"))
	}
}

// sessionMeta reads a session_meta. The first was read by readMeta.
func (s *scanner) sessionMeta(v *jsonl.Members) {
	if s.metas++; s.metas == 1 || s.replaying {
		return
	}
	if v.Get("forked_from_id").Is(s.meta.id) && s.meta.id != "" {
		s.facts.Warn("the file contains thread %s from line %d, which was forked from it", v.Get("id").Text(), s.n)
	}
}

// finish returns the facts after all records have been read.
func (s *scanner) finish() (thread.Facts, error) {
	if err := s.timeline.Finish(); err != nil {
		return thread.Facts{}, err
	}
	s.facts.Messages, s.facts.ToolCalls = s.timeline.Messages, s.timeline.ToolCalls
	s.facts.State, s.facts.Last, s.facts.Spawned = s.turn.end(), s.turn.Last.Time(), s.subagents.spawned()
	if !s.known && s.facts.Lines > s.facts.BadLines {
		s.facts.WarnUnknown()
	}
	s.usage()
	return s.facts, nil
}
