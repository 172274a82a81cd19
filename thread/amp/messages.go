package amp

import (
	"cmp"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

// A decode decodes the messages of a thread. Its state is that of the last message, if
// it has one, else of the document.
type decode struct {
	*engine.Scan
	head head
	n    int
	role thread.Role // of the last message
	at   time.Time   // its time
}

// Record implements engine.Decoder. Calls and usage of a message without text belong
// to the message before.
func (d *decode) Record(n int, v jsonl.Value) {
	d.n = n
	role := thread.Role(d.Members.Get("role").Raw())
	if role != thread.User && role != thread.Assistant {
		d.Unknown("message of role "+string(role), v)
		return
	}
	usage := v.Get("usage")
	d.role, d.at = role, clock(v.Get("timestamp"), v.Get("meta", "sentAt"), usage.Get("timestamp"))
	d.At(d.at)
	d.Facts.Undated = false // the document has a time
	c := d.content(v.Get("content"))
	d.turn(v, role, c.blocked)
	m := thread.Message{ID: v.Get("messageId").Plain(), Role: role, Text: strings.Join(c.texts, "\n\n"), Time: d.at}
	if role == thread.Assistant {
		m.Model = usage.Get("model").Text()
	}
	d.Timeline.Add(m)
	for _, call := range c.calls {
		d.Timeline.AddCall(call)
	}
	if t, ok := d.Tokens(usage, &counts); ok && role == thread.Assistant {
		d.Meter.N = d.Timeline.Messages
		d.Use(engine.Use{Model: usage.Get("model").Text(), Tokens: t})
	}
}

// counts are the members of a usage, in disjoint buckets.
var counts = engine.Counts{Input: "inputTokens", CacheRead: "cacheReadInputTokens",
	CacheWrite: "cacheCreationInputTokens", Output: "outputTokens",
	Optional: []string{"cacheReadInputTokens", "cacheCreationInputTokens"},
	Other:    []string{"maxInputTokens", "totalInputTokens", "credits", "timestamp"}}

// A content is the content of a message.
type content struct {
	texts   []string
	calls   []thread.Call
	blocked bool // a call waits for a person
}

func (d *decode) content(v jsonl.Value) (c content) {
	add := func(text string) {
		if text = strings.TrimSpace(text); text != "" {
			c.texts = append(c.texts, text)
		}
	}
	add(v.Text())
	for e := v.Elements(); e.Next(); {
		v := e.Value()
		switch string(v.Get("type").Raw()) {
		case "text":
			add(v.Get("text").Text())
		case "thinking":
			add(v.Get("thinking").Text())
		case "image":
			add("[image]")
		case "tool_use":
			call := thread.Call{ID: v.Get("id").Text(), Name: v.Get("name").Text(), Pending: true, Time: d.at}
			if d.Timeline.Detail == thread.Tools {
				call.Input = thread.Clip(string(v.Get("input")))
			}
			c.calls = append(c.calls, call)
		case "tool_result":
			c.blocked = v.Get("run", "status").Is("blocked-on-user") || c.blocked
			d.result(v.Get("toolUseID").Text(), v.Get("run"))
		}
	}
	return c
}

// result reads the result of a call.
func (d *decode) result(id string, run jsonl.Value) {
	status := string(run.Get("status").Raw())
	if status == "queued" || status == "in-progress" || status == "blocked-on-user" {
		return
	}
	d.Timeline.SetResult(id, func(c *thread.Call) {
		c.Failed = status == "error" || status == "cancelled" || status == "rejected-by-user"
		c.Output = thread.Clip(cmp.Or(run.Get("result").Plain(), run.Get("error").Plain()))
	})
}

// turn sets the state after a message, none if its version does not record it.
func (d *decode) turn(v jsonl.Value, role thread.Role, blocked bool) {
	set := func(status thread.Status, reason string) { d.State(status, d.at, "%s, message %d", reason, d.n) }
	d.Facts.State = thread.State{}
	if role == thread.User {
		if v.Get("messageId").Kind() == jsonl.Absent {
			return // only versions that number messages record their state
		}
		set(thread.Running, "no answer yet")
		if blocked {
			d.Facts.State.Waiting = "approval of a tool call"
		}
		return
	}
	state := v.Get("state")
	stop := state.Get("stopReason").Text()
	switch kind := state.Get("type").Text(); {
	case kind == "":
	case kind == "complete" && stop == "tool_use":
		set(thread.Running, "stopReason is tool_use")
	case kind == "complete" && (stop == "max_tokens" || stop == "refusal"):
		set(thread.Errored, "stopReason is "+stop)
	case kind == "complete":
		set(thread.Completed, "stopReason is "+stop)
	case kind == "cancelled", kind == "error":
		set(thread.Errored, "state is "+kind)
	default:
		set(thread.Running, "state is "+kind)
	}
}

// words are the statuses that some versions record for the thread.
var words = map[string]thread.Status{
	"running": thread.Running, "completed": thread.Completed, "done": thread.Completed,
	"error": thread.Errored, "errored": thread.Errored, "failed": thread.Errored, "cancelled": thread.Errored,
}

// end sets the state of a thread whose last message has none.
func (d *decode) end(updated time.Time) {
	for _, v := range []jsonl.Value{d.head.members["status"], d.head.members["state"]} {
		word := v.Text()
		if c := v.Members(); c.Next() {
			word = c.Key()
		}
		if status := words[strings.ToLower(word)]; status != "" {
			d.State(status, updated, "status of the thread is %s", word)
			return
		}
	}
	switch d.role {
	case thread.User:
		d.Infer(thread.Running, d.at, "last message is from the user")
	case thread.Assistant:
		d.Infer(thread.Completed, d.at,
			"last message is from the agent, and this version does not record the end of a turn")
	default:
		d.Infer(thread.PendingInit, clock(d.head.members["created"], d.head.members["createdAt"]), "no messages yet")
	}
}

// Finish implements engine.Decoder.
func (d *decode) Finish() {
	for _, rel := range d.head.handoffs() {
		d.mention(rel)
	}
	updated := clock(d.head.members["updatedAt"], d.head.members["lastUpdated"])
	if d.Facts.State.Status == "" {
		d.end(updated)
	}
	d.At(updated)
	d.Facts.Undated = false
	if d.head.id == "" && d.n == 0 && !d.Facts.Partial {
		d.Facts.WarnUnknown()
	}
	d.Gaps = []thread.Gap{{N: 1, Reason: "the usage of Amp's oracle and other subagents is not on this machine"}}
}

// mention adds a subagent, a thread that this one handed work off to. The relation is
// validated if one of them records its own role.
func (d *decode) mention(rel relation) {
	if rel.role == "child" {
		return
	}
	a := d.Agent(rel.other)
	if len(a.Lifecycle) > 0 {
		return
	}
	evidence := "main thread names it without the role of either"
	if rel.role == "parent" {
		evidence = "main relationships includes handoff(role=parent) to child thread"
		a.Evidence = []string{evidence}
	}
	a.AddEvent(rel.at, "handoff", evidence)
	a.State = thread.ReadState(thread.NotFound, thread.Inferred, rel.at, "the thread is not on this machine")
}
