package gemini

import (
	"bytes"
	"time"

	"github.com/agent-handoff/handoff/internal/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// A record is what is kept of a message until all operations are read: where
// its newest version lies, and what it took.
type record struct {
	jsonl.Span
	line  int
	calls int
	live  bool // it is part of the conversation
	model string
	spent tokens
	known bool // its spending is recorded
	owed  bool // it was written by a model
}

// tokens are a message's counters as they are written. Cached ones are part of
// input; thoughts and what tools added to the prompt are beside all others.
type tokens struct{ input, output, cached, thoughts, tool int64 }

func parseTokens(v jsonl.Value) (t tokens, ok bool) {
	for c := v.Members(); c.Next(); ok = true {
		n := max(0, c.Value().Int())
		switch string(c.Name()) {
		case "input":
			t.input = n
		case "output":
			t.output = n
		case "cached":
			t.cached = n
		case "thoughts":
			t.thoughts = n
		case "tool":
			t.tool = n
		}
	}
	return t, ok
}

func (t tokens) tokens() thread.Tokens {
	cached := min(t.cached, t.input)
	return thread.Tokens{
		Input: t.input - cached + t.tool, CacheRead: cached,
		Output: t.output + t.thoughts, Reasoning: t.thoughts, Calls: 1,
	}
}

// A log applies the operations of a chat.
type log struct {
	records []record
	byID    map[string]int // of records
	order   []int          // the conversation, of records

	document  bool
	agents    []*sighting
	last      time.Time
	cancelled int // requests
	compacted int // how often it was replaced by a summary
}

// message notes a message, or its new version. Whether what v says is one is
// the result.
func (l *log) message(v jsonl.Value, at jsonl.Span, line int) bool {
	var name, is, content, model, tokens, calls, when jsonl.Value
	for c := v.Members(); c.Next(); {
		switch string(c.Name()) {
		case "id":
			name.First(c.Value())
		case "type":
			is.First(c.Value())
		case "timestamp":
			when.First(c.Value())
		case "content":
			content.First(c.Value())
		case "model":
			model.First(c.Value())
		case "tokens":
			tokens.First(c.Value())
		case "toolCalls":
			calls.First(c.Value())
		}
	}
	id, kind, written := name.Text(), string(is.Raw()), when.Time()
	l.saw(written)
	if roles[kind] == "" {
		return false
	}
	i, again := l.byID[id]
	if !again || id == "" {
		i = len(l.records)
		l.records = append(l.records, record{})
		if l.byID == nil {
			l.byID = map[string]int{}
		}
		if id != "" {
			l.byID[id] = i
		}
		if kind == "user" && summary(content) {
			l.compacted++
		}
		if kind == "info" && bytes.HasPrefix(content.Raw(), cancelled) {
			l.cancelled++
		}
	}
	r := &l.records[i]
	r.Span, r.line, r.calls = at, line, l.calls(calls, line, written)
	if model := model.Text(); model != "" {
		r.model, r.owed = model, true
	}
	if spent, known := parseTokens(tokens); known {
		r.spent, r.known = spent, true
	}
	if !r.live {
		r.live = true
		l.order = append(l.order, i)
	}
	return true
}

func (l *log) saw(t time.Time) {
	if t.After(l.last) {
		l.last = t
	}
}

// clear takes back the conversation from the message at place n on.
func (l *log) clear(n int) {
	for _, i := range l.order[n:] {
		l.records[i].live = false
	}
	l.order = l.order[:n]
}

// rewind takes back a message and all after it; all where it is not known, as
// the tool does.
func (l *log) rewind(id string) (known bool) {
	i, ok := l.byID[id]
	if ok {
		for n := len(l.order) - 1; n >= 0; n-- {
			if l.order[n] == i {
				l.clear(n)
				return true
			}
		}
	}
	l.clear(0)
	return false
}

// billed adds up every request that is recorded, also those whose messages were
// taken back or replaced later: they were paid for.
func (l *log) billed(bad int) thread.Usage {
	var u thread.Usage
	silent := 0
	for _, r := range l.records {
		if r.known {
			u.Add("", r.model, r.spent.tokens())
		} else if r.owed {
			silent++
		}
	}
	u.Judge(
		thread.Gap{N: silent, Why: "%d answers are recorded without what they took"},
		thread.Gap{N: l.compacted, Why: "what the summary of the conversation took is not recorded"},
		thread.Gap{N: l.cancelled, Why: "%d requests were cancelled: what they had taken by then is not recorded"},
		thread.Gap{N: bad, Why: "%d lines could not be read"},
	)
	return u
}
