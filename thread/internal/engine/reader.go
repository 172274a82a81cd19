package engine

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// A Decoder maps the records of one transcript to events of a Scan.
type Decoder interface {
	// Record decodes one record. Its memory is reused afterwards.
	Record(n int, record jsonl.Value)

	// Finish is called after the last record.
	Finish()
}

// A Parser is a Decoder that parses records itself, in one pass over their members.
type Parser interface {
	Parse(record jsonl.Value) jsonl.Cursor // after the last member
}

// A Selector is a Decoder of transcripts in which later records decide which of the
// earlier ones are the thread, and in which order. Record adds the usage of all of them and
// passes those that may be shown to Scan.Keep; Show adds messages, calls and states.
type Selector interface {
	// Select returns the indexes of the kept records that are the thread, in order. It is
	// called before Finish.
	Select() []int

	// Show decodes a kept record. If only facts are read, it is called from the last one
	// back until one sets a state, so a state must not depend on another record.
	Show(i, n int, record jsonl.Value)
}

// A Saver is a Decoder whose reading can be resumed.
type Saver interface {
	// Saved returns a pointer to its state, of a type that gob can encode, or nil if
	// reading can't be resumed here.
	Saved() any
}

// A Reader is the thread.Reader of a transcript. New returns a Decoder for one read.
type Reader struct {
	Source Source
	New    func(*Scan) Decoder

	Part    *Part           // what the thread consists of if it is in a database, nil in a file
	Scatter func() []string // returns the files of the thread besides its source, if it is in many; nil otherwise
	Unit    string          // what a record is for people, "line" if it is ""

	// Resumed identifies what is known of the transcript before its first record is
	// read. Reading is resumed only if it is set and the same.
	Resumed string

	FromTail bool // the end of the transcript shows its state

	others   []string   // further files of the thread, the newest first
	mentions []*Mention // found by the last Read
	found    *Found
	entry    string
	inside   bool          // its records are in the transcript of another thread
	known    *thread.Facts // of the next Read, if reading that one showed them
}

// Found returns what was known of the transcript before it was read.
func (r *Reader) Found() *Found { return r.found }

// Mentions returns the subagents that the last Read found.
func (r *Reader) Mentions() []*Mention { return r.mentions }

// Read implements thread.Reader.
func (r *Reader) Read(ctx context.Context, detail thread.Detail, emit func(thread.Message) error) (thread.Facts,
	error) {
	if facts := r.known; facts != nil && detail == thread.Summary {
		r.known = nil
		return *facts, nil
	}
	s := r.scan()
	s.Timeline.Detail, s.Timeline.Emit = detail, emit
	return r.run(ctx, s, r.New(s))
}

func (r *Reader) scan() *Scan {
	return &Scan{Entry: r.entry, Unit: cmp.Or(r.Unit, "line"), others: r.others}
}

// run reads the transcript.
func (r *Reader) run(ctx context.Context, s *Scan, d Decoder) (facts thread.Facts, err error) {
	defer func() {
		for _, close := range slices.Backward(s.close) {
			close()
		}
	}()
	s.decoder = d
	if p, ok := d.(Parser); ok {
		s.parser = p
	}
	err = r.Source(ctx, s, func(n int, record jsonl.Value) bool {
		if s.n = n; !s.parsed { // the source leaves that to its records
			s.parse(record)
		}
		s.parsed = false
		d.Record(n, record)
		return !s.Stopped && s.Timeline.Err() == nil && s.err == nil
	})
	if err == nil {
		err = s.err
	}
	if failed := s.Timeline.Err(); failed != nil {
		return facts, failed
	}
	if err != nil {
		return facts, err
	}
	if err := s.finish(ctx, d); err != nil {
		return facts, err
	}
	if !s.Tail {
		r.mentions = s.mentions
	}
	return s.Facts, nil
}

// finish sets the facts after all records were read.
func (s *Scan) finish(ctx context.Context, d Decoder) error {
	calls := -1
	if sel, ok := d.(Selector); ok {
		n, err := s.show(ctx, sel)
		if err != nil {
			return err
		}
		calls = n
	}
	d.Finish()
	if s.err != nil {
		return s.err
	}
	if err := s.Timeline.Finish(); err != nil {
		return err
	}
	f := &s.Facts
	f.Messages, f.ToolCalls = s.Timeline.Messages, s.Timeline.ToolCalls
	f.Spawned = s.spawned()
	if calls >= 0 {
		f.ToolCalls = calls
	}
	if f.State.Status == "" {
		s.Infer(thread.PendingInit, f.Last, "no messages yet")
		if f.Lines > 0 && f.Last.IsZero() && !s.Meter.Counted() {
			f.WarnUnknown()
		}
	}
	if f.State.At.IsZero() {
		f.State.At = f.Last
	}
	s.finishUsage()
	return nil
}

// show shows the selected records and returns the number of their calls.
func (s *Scan) show(ctx context.Context, sel Selector) (calls int, err error) {
	selected := sel.Select()
	for _, i := range selected {
		if !s.kept[i].copied {
			calls += s.kept[i].calls
		}
	}
	if s.err != nil {
		return calls, s.err
	}
	last, undated := s.Facts.Last, s.Facts.Undated
	s.showing = true
	spans := jsonl.Spans{Source: s.source}
	one := func(i int) error {
		k := s.kept[i]
		v, err := spans.Read(k.Span)
		if err == nil {
			s.n, s.Timeline.Inherited = k.n, k.copied
			s.parse(v)
			sel.Show(i, k.n, v)
		}
		return cmp.Or(err, s.Timeline.Err())
	}
	if s.Timeline.Detail == thread.Summary {
		for _, i := range slices.Backward(selected) {
			if one(i) != nil || s.Facts.State.Status != "" {
				break
			}
		}
	} else {
		for n, i := range selected {
			if n%256 == 0 && ctx.Err() != nil {
				return calls, ctx.Err()
			}
			if err := one(i); err != nil {
				return calls, err
			}
		}
	}
	s.Facts.Last, s.Facts.Undated = last, undated
	return calls, nil
}

// parse sets the members of a record.
func (s *Scan) parse(record jsonl.Value) jsonl.Cursor {
	s.parsed = true
	if s.parser != nil {
		return s.parser.Parse(record)
	}
	return s.Members.Parse(record)
}

// State returns the facts of the transcript, as far as its end shows them if that is
// enough for its state.
func (r *Reader) State(ctx context.Context, path string) (thread.Facts, error) {
	info, err := os.Stat(path)
	if !r.FromTail || (err == nil && info.Size() <= tail) {
		return r.Read(ctx, thread.Summary, nil)
	}
	s := r.scan()
	s.Tail = true
	d := r.New(s)
	facts, err := r.run(ctx, s, d)
	if err != nil || facts.State.Status == thread.PendingInit || facts.State.NoEnd {
		return r.Read(ctx, thread.Summary, nil)
	}
	return facts, nil
}

// Files implements thread.Scattered.
func (r *Reader) Files() []string {
	if r.Scatter == nil {
		return r.others
	}
	return append(r.Scatter(), r.others...)
}

// Extract implements thread.Extractor.
func (r *Reader) Extract(ctx context.Context, path string, edit thread.Edit) error {
	if r.Part == nil {
		return handoff.E("copy thread", "", handoff.Unsupported, errors.New("it is not in a database"))
	}
	return r.Part.Extract(ctx, path, edit)
}
