package pi

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// A reader reads one thread in two passes: all entries, for their tree and their
// usage, and then the entries of the branch.
type reader struct {
	p       *provider
	session session
	leaf    string // ID of the last entry of the branch; "" for the last in the file

	subagents []*subagent // found by the last Read
}

var errNoEntry = errors.New("no such entry")

// Branch implements thread.Brancher.
func (p *provider) Branch(ctx context.Context, main *thread.Thread, id string) (*thread.Thread, string, error) {
	r, ok := main.Reader.(*reader)
	if !ok {
		return nil, id, errors.New("the thread is of another provider")
	}
	for _, leaf := range []string{id, strings.ToLower(id)} {
		t, err := p.open([]session{r.session})
		if err != nil {
			return nil, id, err
		}
		t.Reader = &reader{p: p, session: r.session, leaf: leaf}
		if err := t.Load(ctx); !errors.Is(err, errNoEntry) {
			return t, leaf, err
		}
	}
	return nil, id, nil
}

// Read implements thread.Reader.
func (r *reader) Read(ctx context.Context, detail thread.Detail, emit func(thread.Message) error) (thread.Facts,
	error) {
	f, err := thread.OpenFile(r.session.path())
	if err != nil {
		return thread.Facts{}, err
	}
	defer f.Close()
	src := io.NewSectionReader(f, r.session.start, 1<<62-r.session.start)
	s := &scanner{ctx: ctx, head: r.session.head, byID: map[string]int{}, inlined: map[string]int{},
		last: r.session.head.started, timeline: timeline{spans: jsonl.Spans{Source: src}}}
	s.timeline.Detail, s.timeline.Emit = detail, emit
	for _, id := range r.session.head.children {
		s.subagent(id)
	}
	if from := r.session.head.from; from != "" && idOf(from) != r.session.parent() && !r.p.has(newTree(ctx), from) {
		s.original = cmp.Or(idOf(from), from)
	}
	if err := s.scan(src); err != nil {
		return thread.Facts{}, err
	}
	r.subagents = s.subagents
	s.leaf = len(s.entries) - 1
	if r.leaf != "" {
		i, ok := s.byID[r.leaf]
		if !ok {
			return thread.Facts{}, errNoEntry
		}
		s.leaf = i
	}
	return s.finish()
}

// An entry is what is kept of an entry until all have been read.
type entry struct {
	jsonl.Span
	line   int
	parent int // index in scanner.entries, -1 for a root
	calls  int
	copied bool // from the session this one was forked from
}

// A scanner reads the entries of a session.
type scanner struct {
	ctx   context.Context
	head  head
	facts thread.Facts

	original string // session that this one was forked from and that does not exist, or its file

	entries []entry
	byID    map[string]int // index of entries, of the last one with an ID
	leaf    int            // index of the last entry of the thread
	orphans int            // entries whose parents are missing
	last    time.Time
	members jsonl.Members // of the current entry

	meter     meter
	subagents []*subagent
	inlined   map[string]int // names and IDs of subagents without a session
	timeline  timeline
}

// scan reads all entries up to the next session in the file.
func (s *scanner) scan(src io.Reader) error {
	rd := jsonl.NewReader(src)
	report, err := rd.Each(s.ctx, func(line jsonl.Value) (bool, error) {
		if s.startsSession(rd.Number(), line) {
			return true, jsonl.ErrStop
		}
		return s.line(rd, line), nil
	})
	s.facts.Lines, s.facts.BadLines, s.facts.Partial = report.Lines, report.Bad, report.Partial
	s.facts.Warnings = append(s.facts.Warnings, report.Warnings...)
	if s.orphans > 0 {
		s.facts.Warn("%d entries have a missing parent; the entry before each is used instead", s.orphans)
	}
	return err
}

// startsSession reports whether a line starts another session.
func (s *scanner) startsSession(n int, line jsonl.Value) bool {
	if n == 1 || s.head.id == "" || !line.Get("type").Is("session") {
		return false
	}
	id := thread.LowerUUID(line.Get("id").Text())
	if id == s.head.id || id == "" {
		return false
	}
	s.facts.Warn("the file contains another thread from line %d: %s", n, id)
	return true
}

// line reads the entry of a line, or several entries written on one line. It
// reports whether the line consists of complete entries.
func (s *scanner) line(rd *jsonl.Reader, line jsonl.Value) bool {
	for len(line) > 0 {
		c := s.members.Parse(line)
		if !c.Closed() && !rd.Cut() {
			return false
		}
		if m := &s.members; kinds[string(m.Get("type").Raw())] {
			written := m.Get("timestamp").Time()
			e := entry{Span: rd.Span(line[:len(line)-len(c.Rest())]), line: rd.Number(), copied: s.head.from != "" &&
				written.Before(s.head.started) && !written.IsZero()}
			e.parent = s.parent(m.Get("parentId"))
			s.count(&e, line, m.Get("message"), written)
			if !e.copied {
				s.inlines(m.Get("message"), rd.Span, written, e.line)
			}
			if word := m.Get("id").Text(); word != "" {
				s.byID[word] = len(s.entries)
			}
			s.entries = append(s.entries, e)
		}
		line = c.Rest()
	}
	return true
}

// kinds are the types of entries in the tree.
var kinds = map[string]bool{
	"message": true, "model_change": true, "thinking_level_change": true, "compaction": true, "branch_summary": true,
	"custom": true, "custom_message": true, "label": true, "session_info": true,
}

// parent returns the index of the parent of an entry. In version 1, and if the
// parent is missing, that is the entry before it.
func (s *scanner) parent(v jsonl.Value) int {
	before := len(s.entries) - 1
	switch v.Kind() {
	case jsonl.Null:
		return -1
	case jsonl.String:
		if i, ok := s.byID[v.Text()]; ok {
			return i
		}
		s.orphans++
	}
	return before
}

// count counts the calls and the usage of an entry and records its subagents.
func (s *scanner) count(e *entry, line, message jsonl.Value, at time.Time) {
	if at.After(s.last) {
		s.last = at
	}
	for _, holder := range []jsonl.Value{message, line} {
		if file := holder.Get("details", "sessionFile").Text(); idOf(file) != "" {
			s.ran(file, holder.Get("details"), at, e.line)
		}
	}
	if !message.Get("role").Is("assistant") {
		return
	}
	for c := message.Get("content").Elements(); c.Next(); {
		if c.Value().Get("type").Is("toolCall") {
			e.calls++
		}
	}
	s.meter.At = at
	s.meter.count(message, e.copied && s.original == "")
}

// branch returns the indexes of the entries from the leaf to the root. A parent is
// always before its children, so there is no cycle.
func (s *scanner) branch() []int {
	var path []int
	for i := s.leaf; i >= 0; i = s.entries[i].parent {
		path = append(path, i)
	}
	return path
}

// finish reads the branch and returns the facts.
func (s *scanner) finish() (thread.Facts, error) {
	path := s.branch()
	for n, i := range slices.Backward(path) {
		e := s.entries[i]
		if !e.copied {
			s.facts.ToolCalls += e.calls
		}
		if s.timeline.Detail == thread.Summary {
			continue
		}
		if n%256 == 0 && s.ctx.Err() != nil {
			return thread.Facts{}, s.ctx.Err()
		}
		if err := s.timeline.add(e); err != nil {
			return thread.Facts{}, err
		}
	}
	if err := s.timeline.Finish(); err != nil {
		return thread.Facts{}, err
	}
	s.facts.Messages, s.facts.State, s.facts.Last = s.timeline.Messages, s.state(path), s.last
	s.finishUsage()
	return s.facts, nil
}
