package gemini

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

// reader returns the reader of a chat.
func reader(f *engine.Found, c chat) *engine.Reader {
	r := &engine.Reader{Source: engine.File{Path: f.Path, Start: f.Start}.Lines,
		New: func(s *engine.Scan) engine.Decoder {
			return &decode{Scan: s, id: cmp.Or(c.id, f.ID), titled: c.title != "", document: f.Whole, byID: map[string]int{}}
		}}
	if f.Whole {
		r.Unit, r.Source = "message", func(ctx context.Context, s *engine.Scan, use func(int, jsonl.Value) bool) error {
			member := s.Decoder().(*decode).member
			return engine.Document{Path: f.Path, List: "messages", Member: member}.Elements(ctx, s, use)
		}
	}
	return r
}

// A message is what is kept of a message until all operations have been read.
type message struct {
	live  bool // it is part of the thread
	asks  bool // it is a prompt of the user
	model string
	at    time.Time
	usage thread.Tokens // of the last version that has it; none if Calls is 0
}

// A decode applies the operations of a chat. The messages that remain are the thread; all
// count.
type decode struct {
	*engine.Scan
	id       string
	titled   bool // a model was asked for the title
	document bool

	messages []message      // by index of what is kept
	byID     map[string]int // index of the message
	order    []int          // the thread
	parts    jsonl.Members  // of a message in a list

	cancelled int // cancelled requests
	compacted int // times the thread was replaced by a summary
	dropped   int // line that removed the prompt of a failed request; 0 if a message follows
}

// Record implements engine.Decoder.
func (d *decode) Record(n int, v jsonl.Value) {
	m := &d.Members
	id := m.Get("sessionId").Text()
	switch set, rewind := m.Get("$set"), m.Get("$rewindTo"); {
	case d.document:
		d.add(n, v, m)
	case id != "" && m.Get("type").Kind() == jsonl.Absent:
		d.begin(n, id, v)
	case set.Kind() == jsonl.Object:
		d.set(n, set)
	case rewind.Kind() == jsonl.String:
		if !d.rewind(rewind.Text()) {
			d.Facts.Warn("line %d rewinds to message %s, which is not in the thread: all messages are removed", n,
				rewind.Text())
		}
	default:
		d.saw(m.Get("lastUpdated").Time())
		d.add(n, v, m)
	}
}

// begin decodes the head of a log. That of another thread ends it.
func (d *decode) begin(n int, id string, v jsonl.Value) {
	d.id = cmp.Or(d.id, id)
	if id != d.id && n > 1 && bytes.HasPrefix(v, []byte(`{"sessionId":`)) {
		d.Facts.Warn("the file contains another thread from line %d: %s", n, id)
		d.Stopped = true
		return
	}
	for c := v.Members(); c.Next(); {
		d.member(c.Key(), c.Value())
	}
}

// member decodes a member of the chat besides its messages.
func (d *decode) member(name string, v jsonl.Value) {
	switch name {
	case "lastUpdated":
		d.saw(v.Time())
	case "summary":
		d.titled = d.titled || v.Text() != ""
	case "sessionId", "projectHash", "startTime", "kind", "directories", "parentSessionId", "parent_session_id", "parentId",
		"messages", "meta", "memoryScratchpad":
	default:
		d.Unknown(name, v)
	}
}

// set applies a $set. A list of messages replaces all earlier ones.
func (d *decode) set(n int, v jsonl.Value) {
	for c := v.Members(); c.Next(); {
		switch name, value := c.Key(), c.Value(); {
		case name == "messages" && value.Kind() == jsonl.Array:
			d.replace(n, value)
		case name == "sessionId":
			if id := value.Text(); id != d.id && id != "" {
				d.Facts.Warn("line %d changes the ID to %s", n, id)
			}
		default:
			d.member(name, value)
		}
	}
}

// saw records that something happened at a time, if it is known.
func (d *decode) saw(at time.Time) {
	if !at.IsZero() {
		d.At(at)
	}
}

// add applies a message or its new version.
func (d *decode) add(n int, v jsonl.Value, m *jsonl.Members) {
	kind, content := string(m.Get("type").Raw()), m.Get("content")
	written := m.Get("timestamp").Time()
	d.saw(written)
	if roles[kind] == "" {
		d.Unknown(kind, v)
		return
	}
	calls := d.calls(m.Get("toolCalls"), n, written)
	id := m.Get("id").Text()
	i, again := d.byID[id]
	if again && id != "" {
		d.Replace(i, v, calls)
	} else {
		i = d.Keep(v, calls)
		d.messages = append(d.messages, message{})
		d.byID[id] = i
		switch {
		case kind == "user" && isSummary(content):
			d.compacted++
		case kind == "info" && bytes.HasPrefix(content.Raw(), cancelled):
			d.cancelled++
		}
	}
	d.dropped = 0
	r := &d.messages[i]
	r.asks = kind == "user" && asks(content)
	r.model = cmp.Or(m.Get("model").Text(), r.model)
	if usage, ok := d.tokens(m.Get("tokens")); ok {
		r.usage, r.at = usage, written
	}
	if !r.live {
		r.live = true
		d.order = append(d.order, i)
	}
}

// counts are the members of the usage of a message.
var counts = engine.Counts{Input: "input", CacheRead: "cached", Output: "output", Reasoning: "thoughts",
	Optional: []string{"cached", "thoughts"}, Other: []string{"tool", "total"}}

// tokens returns the tokens of a message. In the file, input includes cached tokens;
// thoughts and tool, the tokens that tools added to the prompt, are not included in the
// others.
func (d *decode) tokens(v jsonl.Value) (t thread.Tokens, ok bool) {
	if t, ok = d.Tokens(v, &counts); !ok {
		return t, false
	}
	t.CacheRead = min(t.CacheRead, t.Input)
	t.Input += v.Get("tool").Count() - t.CacheRead
	t.Output += t.Reasoning
	return t, true
}

// clear removes the messages from index n on.
func (d *decode) clear(n int) {
	for _, i := range d.order[n:] {
		d.messages[i].live = false
	}
	d.order = d.order[:n]
}

// replace replaces the thread by the messages of a list. If it ended with a prompt and is
// the same without it, the request of the prompt failed: some versions record nothing
// else of that.
func (d *decode) replace(line int, list jsonl.Value) {
	before := slices.Clone(d.order)
	d.clear(0)
	for e := list.Elements(); e.Next(); {
		d.parts.Parse(e.Value())
		d.add(line, e.Value(), &d.parts)
	}
	if n := len(before) - 1; n >= 0 && d.messages[before[n]].asks && len(d.order) <= n &&
		slices.Equal(before[:len(d.order)], d.order) {
		d.dropped = line
	}
}

// rewind removes a message and all after it. Like the tool, it removes all messages
// if this one is unknown.
func (d *decode) rewind(id string) (known bool) {
	if i, ok := d.byID[id]; ok {
		if n := slices.Index(d.order, i); n >= 0 {
			d.clear(n)
			return true
		}
	}
	d.clear(0)
	return false
}

// calls returns the number of calls and records those that ran a subagent.
func (d *decode) calls(v jsonl.Value, line int, at time.Time) (n int) {
	for c := v.Elements(); c.Next(); n++ {
		if id := c.Value().Get("agentId").Text(); id != "" {
			called(d.Agent(id), c.Value(), line, at)
		}
	}
	return n
}

// statuses are the statuses of calls. With any other, the subagent is running.
var statuses = map[string]thread.Status{"success": thread.Completed, "error": thread.Errored,
	"cancelled": thread.Errored}

// goal is why a subagent ended that did its task. Its call succeeds in any case.
const goal = "GOAL"

func called(a *engine.Mention, v jsonl.Value, line int, at time.Time) {
	status := string(v.Get("status").Raw())
	a.Path, a.Evidence = safe(a.ID), []string{"a call of the parent names it"}
	// One tool starts all subagents in newer versions; before, each was a tool.
	a.Name = cmp.Or(v.Get("resultDisplay", "agentName").Text(), v.Get("args", "agent_name").Text(), v.Get("name").Text())
	if t := v.Get("timestamp").Time(); !t.IsZero() {
		at = t
	}
	a.State = thread.ReadState(cmp.Or(statuses[status], thread.Running), thread.Parent, at,
		"the parent's call of %s has status %q, line %d", a.Name, status, line)
	if end := v.Get("resultDisplay", "terminateReason").Text(); statuses[status] == thread.Completed && end != "" &&
		end != goal {
		status = end
		a.State = thread.ReadState(thread.Errored, thread.Parent, at, "the parent's call of %s ended with %q, line %d",
			a.Name, end, line)
	}
	event := thread.Event{Time: at, Name: "run_" + a.Name, Detail: status}
	if n := len(a.Lifecycle); n > 0 && a.Lifecycle[n-1] == event {
		return // a new version of the message
	}
	a.AddEvent(event.Time, event.Name, event.Detail)
}

// Select implements engine.Selector.
func (d *decode) Select() []int { return d.order }

// Show implements engine.Selector.
func (d *decode) Show(_, n int, _ jsonl.Value) {
	text := shownText(&d.Members)
	d.state(n, text)
	d.show(text)
}

// Finish implements engine.Decoder. The usage is that of all requests, also of messages
// that were removed or replaced later.
func (d *decode) Finish() {
	if d.dropped > 0 {
		d.Infer(thread.Errored, d.Facts.Last, "the request failed: its prompt was removed, line %d", d.dropped)
	}
	silent, titles := 0, 0
	for _, r := range d.messages {
		if r.usage.Calls > 0 || r.model != "" {
			d.Meter.At = r.at
			d.Use(engine.Use{Model: r.model, Tokens: r.usage, Apart: true})
		}
		if r.usage.Calls == 0 && r.model != "" {
			silent++
		}
	}
	if d.titled {
		titles = 1
	}
	d.Gaps = []thread.Gap{
		{N: silent, Reason: "%d answers have no recorded usage"},
		{N: d.compacted, Reason: "the usage of the thread summary is not recorded"},
		{N: d.cancelled, Reason: "%d requests were cancelled, their usage is not recorded"},
		{N: d.Facts.BadLines, Reason: "%d malformed lines were skipped"},
		{N: titles, Reason: "%d request, for the title, is in no file"},
	}
}

// state sets the state after a message. No record marks the end of a turn; an answer
// without calls is taken for it.
func (d *decode) state(n int, text string) {
	v := &d.Members
	at, content := v.Get("timestamp").Time(), v.Get("content")
	unit := "line"
	if d.document {
		unit = "message"
	}
	is := func(status thread.Status, evidence string) { d.State(status, at, "%s, %s %d", evidence, unit, n) }
	kind := string(v.Get("type").Raw())
	switch {
	case kind == "error":
		is(thread.Errored, "error: "+thread.Brief(text))
	case kind == "info" && bytes.HasPrefix(content.Raw(), cancelled):
		is(thread.Errored, "interrupted: the request was cancelled")
	case kind == "info" && bytes.HasPrefix(content.Raw(), failed):
		is(thread.Errored, "the request failed")
	case roles[kind] == thread.Assistant:
		d.answered(v.Get("toolCalls"), text, is)
	case roles[kind] != thread.User:
	case bytes.Contains(content, []byte(`"functionResponse"`)):
		is(thread.Running, "results of calls have no answer yet")
	case text != "" && !injected(text) && !strings.Contains(text, snapshot):
		is(thread.Running, "last message is from the user")
	}
}

// answered sets the state after an answer of the model.
func (d *decode) answered(list jsonl.Value, text string, is func(thread.Status, string)) {
	calls, cancelled := 0, 0
	waiting := ""
	for c := list.Elements(); c.Next(); calls++ {
		switch string(c.Value().Get("status").Raw()) {
		case "cancelled":
			cancelled++
		case "awaiting_approval":
			waiting = "approval of " + c.Value().Get("name").Text()
		}
	}
	switch {
	case calls > 0 && cancelled == calls:
		is(thread.Errored, "interrupted: its calls were cancelled")
	case calls > 0:
		is(thread.Running, "last message has calls")
		d.Facts.State.Waiting = waiting
	case text == "":
		is(thread.Running, "last message is empty")
	default: // calls are recorded when they have returned, so more may follow
		is(thread.Completed, "an answer without calls so far")
		d.Facts.State.Source, d.Facts.State.Waiting = thread.Inferred, thread.WaitingFor(text)
	}
}
