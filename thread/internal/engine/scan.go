package engine

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// A Scan is one read of a transcript. Its methods are the events of a Decoder.
type Scan struct {
	Timeline thread.Timeline
	Meter    thread.Meter
	Facts    thread.Facts
	Calls    thread.PendingCalls
	Gaps     []thread.Gap  // in the usage, the most important first
	Members  jsonl.Members // of the record, unless the Decoder is a Parser
	Stopped  bool          // the remaining records are of another thread
	Unit     string        // the name of a record in texts: line, row or message

	// Tail is set if only the end of the transcript is read, for its state.
	Tail bool

	// Entry is the ID of the last entry of the thread, "" for that of the transcript.
	Entry string

	// Includes is why the usage includes that of other threads or branches. It is then
	// a SessionTotal.
	Includes string

	// Checked is set if the program recorded a sum that equals the usage: nothing that was
	// not understood has usage.
	Checked bool

	others   []string // further files of the thread, the newest first
	mentions []*Mention
	uses     uses
	strange  strange
	kept     []kept

	decoder            Decoder
	parser             Parser
	parsed             bool // the members of the record are set
	showing            bool // a kept record is read again
	n                  int  // number of the record
	locate             func(part jsonl.Value) jsonl.Span
	source             io.ReaderAt // of the spans
	close              []func() error
	point              point
	err                error
	before, compacting thread.State // before and during a compaction
}

// Decoder returns the Decoder of the scan, for a Source of the same program.
func (s *Scan) Decoder() Decoder { return s.decoder }

// Finish implements the method of a Decoder that does nothing after the last record.
func (s *Scan) Finish() {}

// Fail makes the read fail.
func (s *Scan) Fail(err error) { s.err = cmp.Or(s.err, err) }

// At records that something happened at a time.
func (s *Scan) At(at time.Time) {
	s.Facts.Undated = at.IsZero() && !s.Facts.Last.IsZero()
	s.Meter.N, s.Meter.At = s.Timeline.Messages, at
	if at.After(s.Facts.Last) {
		s.Facts.Last = at
	}
}

// Copied sets whether what follows was copied from another thread: it is shown, and
// does not count.
func (s *Scan) Copied(copied bool) { s.Timeline.Inherited = copied }

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

// Prompt adds a message of the user, which starts or continues a turn.
func (s *Scan) Prompt(n int, m thread.Message) {
	m.Role = thread.User
	s.Timeline.Add(m)
	s.Calls = nil
	s.State(thread.Running, m.Time, "last message is from the user, %s %d", s.Unit, n)
}

// Answer adds a message of the model.
func (s *Scan) Answer(m thread.Message) {
	m.Role = thread.Assistant
	s.Timeline.Add(m)
}

// Answered adds a message of the model that ends a turn, unless it has calls.
func (s *Scan) Answered(n int, m thread.Message) {
	s.Answer(m)
	s.Infer(thread.Completed, m.Time, "an answer without calls so far, %s %d", s.Unit, n)
	s.Facts.State.Waiting = thread.WaitingFor(m.Text)
}

// Waits are names of tools, and what a person has to do while a call of one is open. A map would be made at
// each start of the program.
type Waits [][2]string

// Called adds a call without a result, with its input as it is recorded.
func (s *Scan) Called(n int, c thread.Call, input jsonl.Value, waits Waits) {
	if s.Timeline.Detail == thread.Tools {
		if c.Input = thread.Clip(input.Text()); input.Kind() != jsonl.String {
			c.Input = thread.Clip(input.Compact())
		}
	}
	waiting := ""
	if i := slices.IndexFunc(waits, func(w [2]string) bool { return w[0] == c.Name }); i >= 0 {
		waiting = waits[i][1]
	}
	s.Call(n, c, waiting)
}

// Call adds a call without a result. waiting is what a person has to do about it.
func (s *Scan) Call(n int, c thread.Call, waiting string) {
	c.Pending = true
	s.Timeline.AddCall(c)
	s.Calls.Add(c.ID, waiting)
	s.State(thread.Running, c.Time, "a call of %s has no result yet, %s %d", c.Name, s.Unit, n)
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
		s.State(thread.Running, at, "results of calls have no answer yet, %s %d", s.Unit, n)
	}
	s.Facts.State.Waiting = s.Calls.Waiting()
}

// Nested adds a call that was made inside another one, whose ID is outer. It follows
// that call, and is one like any other: its input names its command or files.
func (s *Scan) Nested(outer string, c thread.Call) {
	c.Within = outer
	s.Timeline.AddNested(c)
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

// A Mention is a subagent that a transcript mentions.
type Mention struct {
	thread.Agent
	File    string     // the name of its file, if that is recorded
	Path    string     // its path in a team, if the program has them
	Spawned bool       // by this thread, in a record that was not copied
	Called  time.Time  // when the call was made that started it
	Started time.Time  // if its records are inside this transcript
	Span    jsonl.Span // of these records, if they are inside one record
	Reader  *Reader    // of its records, if they are inside this transcript

	Facts  *thread.Facts // of Reader, if they are known after reading this transcript
	Copies bool          // the records are copies: they count if it has no transcript
	Maybe  bool          // it is a subagent only if it has a transcript
	Prompt uint64        // without an ID: it has the transcript whose Found.Prompt is the same
}

// Agent returns the subagent with this ID, which is added if there is none.
func (s *Scan) Agent(id string) *Mention {
	for _, m := range s.mentions {
		if m.ID == id {
			return m
		}
	}
	m := &Mention{Agent: thread.Agent{ID: id}}
	s.mentions = append(s.mentions, m)
	return m
}

// Member returns the subagent with an ID and a path in a team, one of which may be "".
// What was recorded of each becomes one.
func (s *Scan) Member(id, path string) *Mention {
	at := func(match func(m *Mention) bool) int { return slices.IndexFunc(s.mentions, match) }
	i := at(func(m *Mention) bool { return path != "" && m.Path == path })
	k := at(func(m *Mention) bool { return id != "" && m.ID == id })
	switch {
	case i < 0 && k < 0:
		s.mentions = append(s.mentions, &Mention{Agent: thread.Agent{ID: cmp.Or(id, path)}, Path: path})
		return s.mentions[len(s.mentions)-1]
	case i < 0:
		s.mentions[k].Path = cmp.Or(s.mentions[k].Path, path)
		return s.mentions[k]
	}
	m := s.mentions[i]
	m.ID = cmp.Or(id, m.ID)
	if k >= 0 && k != i {
		other := s.mentions[k]
		m.Lifecycle = append(m.Lifecycle, other.Lifecycle...)
		m.Evidence, m.Spawned = append(m.Evidence, other.Evidence...), m.Spawned || other.Spawned
		if other.State.Status != "" {
			m.State = other.State
		}
		s.mentions = slices.Delete(s.mentions, k, k+1)
	}
	return m
}

// Mention adds a subagent whose ID is not recorded, or was not mentioned before.
func (s *Scan) Mention(m Mention) *Mention {
	s.mentions = append(s.mentions, &m)
	return &m
}

// Part starts a scan of the facts of a subagent whose records are in the transcript of s.
// The caller decodes these records.
func (s *Scan) Part() *Scan { return &Scan{Unit: s.Unit} }

// EndPart returns the facts of a Part of s with a decoder, after the last record of s. They
// keep nothing else of the part in memory.
func (s *Scan) EndPart(part *Scan, d Decoder) *thread.Facts {
	f := &part.Facts
	f.Lines, f.BadLines = s.Facts.Lines, s.Facts.BadLines
	f.Partial = s.Facts.Partial
	f.Warnings = append(f.Warnings, s.Facts.Warnings...)
	part.Fail(part.finish(context.Background(), d))
	s.Fail(part.err)
	facts := part.Facts
	return &facts
}

// Mentions returns the subagents so far, in the order of their first mention.
func (s *Scan) Mentions() []*Mention { return s.mentions }

// spawned returns the IDs of the subagents that the thread started.
func (s *Scan) spawned() (ids []string) {
	for _, m := range s.mentions {
		if m.Spawned {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// Span returns the location of a part of the record.
func (s *Scan) Span(part jsonl.Value) jsonl.Span { return s.locate(part) }

// A kept is a record that a Selector shows later.
type kept struct {
	jsonl.Span
	n      int
	calls  int
	copied bool
}

// Keep keeps a part of the record, usually all of it, until all have been read, and
// returns its index. calls is how many calls it has.
func (s *Scan) Keep(part jsonl.Value, calls int) int {
	s.kept = append(s.kept, kept{s.locate(part), s.n, calls, s.Timeline.Inherited})
	return len(s.kept) - 1
}

// Replace makes a part of the record the new version of what Keep returned an index of.
func (s *Scan) Replace(i int, part jsonl.Value, calls int) {
	s.kept[i] = kept{s.locate(part), s.n, calls, s.Timeline.Inherited}
}
