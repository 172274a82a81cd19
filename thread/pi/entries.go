package pi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// A reader reads one thread: first all entries, for the tree they form and what
// they took, then those of the branch that is the thread.
type reader struct {
	session session
	leaf    string // the entry that the branch ends with; "" for the last

	seen []*sighting // what the last Read saw of subagents
}

var errNoEntry = errors.New("there is no such entry")

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
		t.Reader = &reader{session: r.session, leaf: leaf}
		if err := t.Load(ctx); !errors.Is(err, errNoEntry) {
			return t, leaf, err
		}
	}
	return nil, id, nil
}

// Read implements thread.Reader.
func (r *reader) Read(ctx context.Context, detail thread.Detail, emit func(thread.Message) error) (thread.Facts, error) {
	f, err := thread.OpenFile(r.session.path())
	if err != nil {
		return thread.Facts{}, err
	}
	defer f.Close()
	src := io.NewSectionReader(f, r.session.start, 1<<62-r.session.start)
	s := &scanner{ctx: ctx, head: r.session.head, byID: map[string]int{}, last: r.session.head.started, timeline: timeline{spans: jsonl.Spans{Source: src}}}
	s.timeline.Detail, s.timeline.Emit = detail, emit
	for _, id := range r.session.head.children {
		s.sight(id)
	}
	if err := s.scan(src); err != nil {
		return thread.Facts{}, err
	}
	r.seen = s.agents
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

// An entry is what is kept of one until all are read.
type entry struct {
	jsonl.Span
	line   int
	parent int // of scanner.entries, -1 where it is the first
	calls  int
	copied bool // from the session this one was forked from
}

// A scanner goes through a session's entries.
type scanner struct {
	ctx     context.Context
	head    head
	facts   thread.Facts
	entries []entry
	byID    map[string]int // of entries, the newest where several have an id
	leaf    int            // of entries, the last of the thread
	lost    int            // entries whose parents are missing
	spend   spend
	agents  []*sighting
	last    time.Time

	timeline timeline
}

func (s *scanner) warn(format string, args ...any) {
	s.facts.Warnings = append(s.facts.Warnings, fmt.Sprintf(format, args...))
}

// scan reads all entries, to the end or to where the file goes on with another
// session.
func (s *scanner) scan(src io.Reader) error {
	rd := jsonl.NewReader(src)
	report, err := rd.Each(s.ctx, func(line jsonl.Value) (bool, error) {
		if s.over(rd.Number(), line) {
			return true, jsonl.ErrStop
		}
		return s.line(rd, line), nil
	})
	s.facts.Lines, s.facts.BadLines = report.Lines, report.Bad
	s.facts.Warnings = append(s.facts.Warnings, report.Warnings...)
	if s.lost > 0 {
		s.warn("%d entries follow one that is missing; they are read as following the one before them", s.lost)
	}
	return err
}

// over reports whether a line begins another session.
func (s *scanner) over(n int, line jsonl.Value) bool {
	if n == 1 || s.head.id == "" || !line.Get("type").Is("session") {
		return false
	}
	id := canonical(line.Get("id").Text())
	if id == s.head.id || id == "" {
		return false
	}
	s.warn("from line %d on its file holds thread %s", n, id)
	return true
}

// line reads the entries of a line, of which there is one, unless a writer glued
// two. It reports whether the line is nothing else.
func (s *scanner) line(rd *jsonl.Reader, line jsonl.Value) bool {
	for len(line) > 0 {
		var kind, id, parent, message, at jsonl.Value
		c := line.Members()
		for c.Next() {
			switch string(c.Name()) {
			case "type":
				kind.First(c.Value())
			case "id":
				id.First(c.Value())
			case "parentId":
				parent.First(c.Value())
			case "timestamp":
				at.First(c.Value())
			case "message":
				message.First(c.Value())
			}
		}
		if !c.Whole() && !rd.Cut() {
			return false
		}
		if kinds[string(kind.Raw())] {
			written := at.Time()
			e := entry{Span: rd.Span(line[:len(line)-len(c.Rest())]), line: rd.Number(), copied: s.head.from != "" && written.Before(s.head.started) && !written.IsZero()}
			e.parent = s.parent(parent)
			s.note(&e, line, message, written)
			if word := id.Text(); word != "" {
				s.byID[word] = len(s.entries)
			}
			s.entries = append(s.entries, e)
		}
		line = c.Rest()
	}
	return true
}

// kinds are the types of entries. Each has its place in the tree.
var kinds = map[string]bool{
	"message": true, "model_change": true, "thinking_level_change": true, "compaction": true, "branch_summary": true,
	"custom": true, "custom_message": true, "label": true, "session_info": true,
}

// parent finds the entry that one follows. Before entries had ids each follows
// the one before it; so does one whose parent is missing.
func (s *scanner) parent(v jsonl.Value) int {
	before := len(s.entries) - 1
	switch v.Kind() {
	case jsonl.Null:
		return -1
	case jsonl.String:
		if i, ok := s.byID[v.Text()]; ok {
			return i
		}
		s.lost++
	}
	return before
}

// note notes what an entry took, called, and says of subagents.
func (s *scanner) note(e *entry, line, message jsonl.Value, at time.Time) {
	if at.After(s.last) {
		s.last = at
	}
	for _, holder := range []jsonl.Value{message, line} {
		if file := holder.Get("details", "sessionFile").Text(); idOf(file) != "" {
			s.ran(file, holder, at, e.line)
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
	s.spend.count(message, e.copied)
}

// branch returns the entries from the leaf to the root, of s.entries. Each
// follows one that stands before it, so there is an end.
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
	s.spend.finish(&s.facts)
	if s.leaf < len(s.entries)-1 && s.facts.Usage.Calls > 0 {
		s.facts.Usage.Completeness, s.facts.Usage.Reason = thread.SessionTotal, "it is what all branches took"
	}
	return s.facts, nil
}
