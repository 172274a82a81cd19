package archive

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// A Source passes the records of a transcript to use, in order, until use returns
// false. n is the number of a record for people: a line, or a row. The source sets
// Lines, BadLines and Partial of facts and adds warnings. The error is one of ctx, or
// that the transcript can't be opened.
type Source func(ctx context.Context, facts *thread.Facts, use func(n int, record jsonl.Value) bool) error

// Lines is the source of a file with one JSON object per line. Several objects on one
// line are several records.
func Lines(path string) Source {
	return func(ctx context.Context, facts *thread.Facts, use func(int, jsonl.Value) bool) error {
		f, err := thread.OpenFile(path)
		if err != nil {
			return err
		}
		defer f.Close()
		rd := jsonl.NewReader(f)
		report, err := rd.Each(ctx, func(line jsonl.Value) (bool, error) {
			for len(line) > 0 {
				c := line.Members()
				for c.Next() {
				}
				if !c.Closed() && !rd.Cut() {
					facts.Partial = facts.Partial || rd.Torn()
					return false, nil
				}
				if !use(rd.Number(), line[:len(line)-len(c.Rest())]) {
					return true, jsonl.ErrStop
				}
				line = c.Rest()
			}
			return true, nil
		})
		facts.Lines, facts.BadLines, facts.Partial = report.Lines, report.Bad, facts.Partial || report.Partial
		facts.Warnings = append(facts.Warnings, report.Warnings...)
		return err
	}
}

// A Decoder decodes the records of one transcript into a Scan.
type Decoder interface {
	// Record decodes one record. Its memory is reused afterwards.
	Record(n int, record jsonl.Value)

	// Finish is called after the last record.
	Finish()
}

// A Reader is the thread.Reader of a transcript whose records have the order of the
// thread. New returns a Decoder for one read.
type Reader struct {
	Source Source
	New    func(*Scan) Decoder

	// Slice returns a reader of the records of a subagent that are in the transcript
	// of its parent, nil if it has none there. Slice may be nil.
	Slice func(agent *thread.Agent) *Reader

	// Part is what the thread consists of if it is in a database, nil in a file.
	Part *Part

	// Unit is what a record is for people, "line" if it is "".
	Unit string

	agents []*thread.Agent // found by the last Read
}

// A Scan is one read of a transcript. A Decoder adds to it.
type Scan struct {
	Timeline thread.Timeline
	Meter    thread.Meter
	Facts    thread.Facts
	Calls    thread.PendingCalls
	Agents   []*thread.Agent // that the transcript mentions
	Gaps     []thread.Gap    // in the usage, the most important first
	Stopped  bool            // the remaining records are of another thread

	unit               string
	before, compacting thread.State // before and during a compaction
}

// At records that something happened at a time.
func (s *Scan) At(at time.Time) {
	s.Facts.Undated = at.IsZero() && !s.Facts.Last.IsZero()
	s.Meter.N, s.Meter.At = s.Timeline.Messages, at
	if at.After(s.Facts.Last) {
		s.Facts.Last = at
	}
}

// State sets the state, which was read from a record of the transcript. A later call
// replaces it. After an error no call is open: the tool may still add results.
func (s *Scan) State(status thread.Status, at time.Time, format string, args ...any) {
	if status == thread.Errored {
		s.Calls = nil
	}
	s.Facts.State = thread.ReadState(status, thread.Child, at, format, args...)
}

// Infer sets a state that no record states.
func (s *Scan) Infer(status thread.Status, at time.Time, format string, args ...any) {
	s.Facts.State = thread.ReadState(status, thread.Inferred, at, format, args...)
}

// Read implements thread.Reader.
func (r *Reader) Read(ctx context.Context, detail thread.Detail, emit func(thread.Message) error) (thread.Facts,
	error) {
	s := &Scan{Timeline: thread.Timeline{Detail: detail, Emit: emit}, unit: cmp.Or(r.Unit, "line")}
	d := r.New(s)
	err := r.Source(ctx, &s.Facts, func(n int, record jsonl.Value) bool {
		d.Record(n, record)
		return !s.Stopped && s.Timeline.Err() == nil
	})
	if failed := s.Timeline.Err(); failed != nil {
		return thread.Facts{}, failed
	}
	if err != nil {
		return thread.Facts{}, err
	}
	d.Finish()
	if err := s.Timeline.Finish(); err != nil {
		return thread.Facts{}, err
	}
	f := &s.Facts
	f.Messages, f.ToolCalls = s.Timeline.Messages, s.Timeline.ToolCalls
	if f.State.Status == "" {
		s.Infer(thread.PendingInit, f.Last, "no messages yet")
		if f.Lines > 0 && f.Last.IsZero() && !s.Meter.Counted() {
			f.WarnUnknown()
		}
	}
	if f.State.At.IsZero() {
		f.State.At = f.Last
	}
	s.Meter.Finish(f, append(s.Gaps, thread.Gap{N: f.BadLines, Reason: "%d malformed lines were skipped"})...)
	r.agents = s.Agents
	return s.Facts, nil
}

// Extract implements thread.Extractor.
func (r *Reader) Extract(ctx context.Context, path string, edit thread.Edit) error {
	if r.Part == nil {
		return handoff.E("copy thread", "", handoff.Unsupported, errors.New("it is not in a database"))
	}
	return r.Part.Extract(ctx, path, edit)
}

// Prompt adds a message of the user, which starts or continues a turn.
func (s *Scan) Prompt(n int, m thread.Message) {
	m.Role = thread.User
	s.Timeline.Add(m)
	s.Calls = nil
	s.State(thread.Running, m.Time, "last message is from the user, %s %d", s.unit, n)
}

// Call adds a call without a result. waiting is what a person has to do about it.
func (s *Scan) Call(n int, c thread.Call, waiting string) {
	c.Pending = true
	s.Timeline.AddCall(c)
	s.Calls.Add(c.ID, waiting)
	s.State(thread.Running, c.Time, "a call of %s has no result yet, %s %d", c.Name, s.unit, n)
	s.Facts.State.Waiting = s.Calls.Waiting()
}

// Result completes a call with set, which is called only if the result is used. It
// sets the state if the call is open, or if nothing else has set one.
func (s *Scan) Result(n int, id string, at time.Time, set func(*thread.Call)) {
	s.Timeline.SetResult(id, func(c *thread.Call) {
		set(c)
		c.End(at)
	})
	if _, open := s.Calls[id]; !open && s.Facts.State.Status != "" {
		return
	}
	delete(s.Calls, id)
	if len(s.Calls) == 0 {
		s.State(thread.Running, at, "results of calls have no answer yet, %s %d", s.unit, n)
	}
	s.Facts.State.Waiting = s.Calls.Waiting()
}

// Compacted adds a compaction with a summary, which may be empty.
func (s *Scan) Compacted(summary string, at time.Time) {
	s.Timeline.Add(thread.Message{Role: thread.Compaction,
		Text: cmp.Or(strings.TrimSpace(summary), thread.DefaultCompactionText), Time: at})
}

// StartCompaction sets the state while the history is compacted.
func (s *Scan) StartCompaction(at time.Time, format string, args ...any) {
	s.before = s.Facts.State
	s.State(thread.Running, at, format, args...)
	s.compacting = s.Facts.State
}

// EndCompaction sets the state before StartCompaction, unless a record since then has
// set another one: a compaction may run beside a turn.
func (s *Scan) EndCompaction() {
	if s.Facts.State == s.compacting {
		s.Facts.State = s.before
	}
}

// Note adds a note of the tool.
func (s *Scan) Note(text string, at time.Time) {
	s.Timeline.Add(thread.Message{Role: thread.Note, Text: strings.TrimSpace(text), Time: at})
}
