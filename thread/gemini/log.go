package gemini

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// A record is what is kept of a message until all operations have been read: the
// location of its last version, and its usage.
type record struct {
	jsonl.Span
	line  int
	calls int
	live  bool // it is part of the thread
	asks  bool // it is a prompt of the user
	model string
	at    time.Time
	usage thread.Tokens // none if Calls is 0
}

// parseTokens parses the counters of a message. In the file, input includes cached
// tokens; thoughts and tool, the tokens that tools added to the prompt, are not
// included in the others.
func parseTokens(v jsonl.Value) (t thread.Tokens, ok bool) {
	var n [5]int64
	if !v.Counts([]string{"input", "cached", "tool", "output", "thoughts"}, n[:]) {
		return t, false
	}
	input, cached, thoughts := n[0], min(n[1], n[0]), n[4]
	return thread.Tokens{
		Input: input - cached + n[2], CacheRead: cached, Output: n[3] + thoughts, Reasoning: thoughts, Calls: 1,
	}, true
}

// A log applies the operations of a chat.
type log struct {
	records []record
	byID    map[string]int // index of records
	order   []int          // the thread, as indexes of records
	members jsonl.Members  // of the current message

	meter     thread.Meter
	document  bool
	agents    []*thread.Agent
	last      time.Time
	cancelled int // cancelled requests
	compacted int // times the thread was replaced by a summary
	dropped   int // line that removed the prompt of a failed request; 0 if a message follows
}

// message applies a message or its new version. Other records are ignored.
func (l *log) message(v jsonl.Value, at jsonl.Span, line int) {
	m := &l.members
	m.Parse(v)
	id, kind, written, content := m.Get("id").Text(), string(m.Get("type").Raw()), m.Get("timestamp").Time(),
		m.Get("content")
	l.saw(written)
	if roles[kind] == "" {
		return
	}
	i, again := l.byID[id]
	if !again || id == "" {
		i = len(l.records)
		l.records = append(l.records, record{})
		if id != "" {
			l.byID[id] = i
		}
		if kind == "user" && isSummary(content) {
			l.compacted++
		}
		if kind == "info" && bytes.HasPrefix(content.Raw(), cancelled) {
			l.cancelled++
		}
	}
	l.dropped = 0
	r := &l.records[i]
	r.asks = kind == "user" && asks(content)
	r.model = cmp.Or(m.Get("model").Text(), r.model)
	l.meter.CheckCounts(m.Get("tokens"))
	if usage, known := parseTokens(m.Get("tokens")); known {
		r.usage, r.at = usage, written
	}
	r.Span, r.line, r.calls = at, line, l.calls(m.Get("toolCalls"), line, written)
	if !r.live {
		r.live = true
		l.order = append(l.order, i)
	}
}

func (l *log) saw(t time.Time) {
	if t.After(l.last) {
		l.last = t
	}
}

// clear removes the messages from index n on.
func (l *log) clear(n int) {
	for _, i := range l.order[n:] {
		l.records[i].live = false
	}
	l.order = l.order[:n]
}

// replace replaces the thread by the messages that add applies. If it ended
// with a prompt and is the same without it, the request of the prompt failed: some
// versions record nothing else of that.
func (l *log) replace(line int, add func()) {
	before := slices.Clone(l.order)
	l.clear(0)
	add()
	if n := len(before) - 1; n >= 0 && l.records[before[n]].asks && len(l.order) <= n &&
		slices.Equal(before[:len(l.order)], l.order) {
		l.dropped = line
	}
}

// rewind removes a message and all after it. Like the tool, it removes all messages
// if this one is unknown.
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

// finishUsage stores the usage of all requests in the facts, also of messages that
// were removed or replaced later.
func (l *log) finishUsage(f *thread.Facts) {
	silent := 0
	for _, r := range l.records {
		if r.usage.Calls > 0 || r.model != "" {
			l.meter.At = r.at
			l.meter.Add("", r.model, r.usage, false)
		}
		if r.usage.Calls == 0 && r.model != "" {
			silent++
		}
	}
	l.meter.Finish(f,
		thread.Gap{N: silent, Reason: "%d answers have no recorded usage"},
		thread.Gap{N: l.compacted, Reason: "the usage of the thread summary is not recorded"},
		thread.Gap{N: l.cancelled, Reason: "%d requests were cancelled, their usage is not recorded"},
		thread.Gap{N: f.BadLines, Reason: "%d malformed lines were skipped"},
	)
}
