package opencode

import (
	"cmp"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

// A decode decodes the messages of a session.
type decode struct {
	*engine.Scan
	session *session

	row   row           // of the message
	parts []jsonl.Value // of the message, in version 1; nil for one that is too long
	lost  bool          // the message itself is too long
	part  jsonl.Members // of a call
	state jsonl.Members // of it

	omitted   int    // rows that are too long
	copied    int    // messages that are older than the session
	uncounted int    // requests without usage
	silent    int    // compactions without usage
	compact   string // message that requested a compaction whose summary did not follow yet
	at        int64  // of the message
	first     bool   // there is one of version 1
}

// pass passes a message to use. Its row and parts are set.
func (d *decode) pass(n int, data jsonl.Value, use func(int, jsonl.Value) bool) (more bool) {
	defer func() { d.parts = d.parts[:0] }()
	d.Facts.Lines += 1 + len(d.parts)
	if !isObject(data) {
		if !d.lost {
			d.Facts.BadLines++
		}
		return true
	}
	return use(n, data)
}

// Record implements engine.Decoder. A message that is older than its session was copied
// when the session was forked, which version 2 records.
func (d *decode) Record(_ int, v jsonl.Value) {
	d.at = d.Members.Get("time").Get("created").Int()
	if d.at <= 0 {
		d.at = d.row.created
	}
	forked := d.session.fork != "" || d.row.kind == "" || d.session.first()
	inherited := forked && d.at > 0 && d.at < d.session.created
	if inherited {
		d.copied++
	}
	d.Copied(inherited)
	if d.row.id == d.session.reverted && d.row.id != "" {
		d.Note("The following messages were undone.", jsonl.Milliseconds(d.session.updated))
	}
	d.saw(d.at)
	d.saw(d.Members.Get("time").Get("completed").Int())
	if d.row.kind == "" {
		d.first = true
		d.message(v)
	} else {
		d.typed(v)
	}
}

// saw notes that something happened at a time in this session.
func (d *decode) saw(ms int64) {
	if t := jsonl.Milliseconds(ms); !d.Timeline.Inherited && t.After(d.Facts.Last) {
		d.Facts.Last = t
	}
}

// A reply is the content of a message.
type reply struct {
	texts      []string
	calls      []thread.Call
	steps      []thread.Tokens // usage of the requests that ended
	started    int             // requests
	open       []string        // names of the calls that have not ended
	compaction bool
}

func (r *reply) add(text string) {
	if text = strings.TrimSpace(text); text != "" {
		r.texts = append(r.texts, text)
	}
}

func (r *reply) text() string { return strings.Join(r.texts, "\n\n") }

// show adds a message to the timeline. Calls and usage of a message without text
// belong to the message before.
func (d *decode) show(role thread.Role, model string, r reply) {
	m := thread.Message{ID: d.row.id, Role: role, Text: r.text(), Time: jsonl.Milliseconds(d.at), Model: model}
	if role != "" {
		d.Timeline.Add(m)
	}
	for _, c := range r.calls {
		d.Timeline.AddCall(c)
	}
}

// use counts the usage of a message.
func (d *decode) use(provider, model string, t thread.Tokens, apart bool) {
	d.Meter.N, d.Meter.At = d.Timeline.Messages, jsonl.Milliseconds(d.at)
	d.Use(engine.Use{Provider: provider, Model: model, Tokens: t, Apart: apart})
}

var (
	counts = engine.Counts{Input: "input", Output: "output", Reasoning: "reasoning", Other: []string{"cache", "total"}}
	caches = engine.Counts{CacheRead: "read", CacheWrite: "write"}
)

// tokens returns the usage in a message or a step-finish. ok is false if it has none. In
// the file, output does not include reasoning.
func (d *decode) tokens(usage, cost jsonl.Value) (t thread.Tokens, ok bool) {
	if t, ok = d.Tokens(usage, &counts); !ok {
		return t, false
	}
	cache, ok := d.Tokens(usage.Get("cache"), &caches)
	if !ok {
		d.Missing("cache")
	}
	t.CacheRead, t.CacheWrite = cache.CacheRead, cache.CacheWrite
	t.Output += t.Reasoning
	t.Cost = cost.Amount()
	return t, true
}

// turn sets the state, which is that of the last message.
func (d *decode) turn(r reply, failed, message string) {
	if d.Timeline.Inherited {
		return
	}
	set := func(s thread.Status, reason string) {
		at := cmp.Or(d.Members.Get("time").Get("completed").Int(), max(d.at, d.row.created))
		d.State(s, jsonl.Milliseconds(at), "%s, message %s", reason, d.row.id)
	}
	finish := d.Members.Get("finish").Text()
	switch {
	case failed != "":
		set(thread.Errored, failed+": "+cmp.Or(message, "no message given"))
	case len(r.open) > 0:
		set(thread.Running, "call of "+r.open[len(r.open)-1]+" has not ended")
		d.Facts.State.Waiting = waiting(r.open)
	case finish == "tool-calls":
		set(thread.Running, "finish is tool-calls")
	case finish == "stop":
		set(thread.Completed, "finish is stop")
	case finish != "" && finish != "unknown":
		set(thread.Errored, "finish is "+thread.Brief(finish))
	case d.Members.Get("time").Get("completed").Int() > 0:
		set(thread.Completed, "time.completed")
	case len(r.steps) > 0:
		set(thread.Running, "its last request has ended, the message has not")
	default:
		set(thread.Running, "the message has not ended")
	}
}

// prompted sets the state after a message of the user.
func (d *decode) prompted() {
	if !d.Timeline.Inherited {
		d.State(thread.Running, jsonl.Milliseconds(max(d.at, d.row.created)), "no answer yet, message %s", d.row.id)
	}
}

// waiting returns what a person has to do before a call ends.
func waiting(open []string) string {
	for _, name := range open {
		switch name {
		case "question":
			return "an answer to its question"
		case "plan_exit":
			return "approval of its plan"
		}
	}
	return ""
}

// task notes a call that starts or resumes a subagent. It ends when the turn of the
// subagent ends.
func (d *decode) task(call thread.Call, input jsonl.Value, title, status, failure string, end int64) {
	if call.Agent == "" || d.Timeline.Inherited {
		return
	}
	m := d.Agent(call.Agent)
	a, at := &m.Agent, jsonl.Milliseconds(end)
	a.Evidence = []string{"a task call of the main thread names it"}
	a.Role = cmp.Or(input.Get("subagent_type").Text(), input.Get("agent").Text(), a.Role)
	a.AddEvent(call.Time, "task", cmp.Or(input.Get("description").Text(), title))
	set := func(s thread.Status, reason string) {
		a.State = thread.ReadState(s, thread.Parent, at, "%s, call %s", reason, call.ID)
		a.AddEvent(at, "task_"+string(s), failure)
	}
	switch status {
	case "completed":
		set(thread.Completed, "task completed")
	case "error":
		set(thread.Errored, "task failed: "+failure)
	default:
		a.State = thread.ReadState(thread.Running, thread.Parent, call.Time, "task is %s, call %s", status, call.ID)
	}
}

// Finish implements engine.Decoder.
func (d *decode) Finish() {
	d.Copied(false)
	d.compacted()
	f := &d.Facts
	if f.BadLines > 0 {
		f.Warn("skipped %d malformed messages or parts", f.BadLines)
	}
	if d.omitted > 0 {
		f.Warn("skipped %d messages or parts longer than %d MiB", d.omitted, jsonl.MaxLine>>20)
	}
	if d.copied > 0 && d.session.fork == "" {
		f.Warn("%d messages are older than the thread: it was forked from a thread that is not recorded",
			d.copied)
	}
	if f.Last.IsZero() {
		f.Last = jsonl.Milliseconds(d.session.updated)
	}
	if f.Partial && f.State.Status.Ended() {
		d.Infer(thread.Running, f.State.At, "part of the thread can't be read; the rest ends with: %s",
			f.State.Evidence)
	}
	titles := d.remainder()
	d.Gaps = append(d.Gaps,
		thread.Gap{N: d.omitted, Reason: "%d messages or parts are too long to be read"},
		thread.Gap{N: d.uncounted,
			Reason: "%d requests did not end or were interrupted before their usage was recorded"},
		thread.Gap{N: d.silent, Reason: "the usage of %d compactions is not recorded"},
		thread.Gap{N: titles, Reason: "%d request, for the title, is in no file"})
}
