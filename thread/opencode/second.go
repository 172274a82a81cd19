package opencode

import (
	"cmp"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// typed decodes a message of version 2, whose row has its type. The row of an answer, a
// command or a compaction is replaced while that goes on.
func (d *decode) typed(v jsonl.Value) {
	switch d.row.kind {
	case "user":
		r := reply{}
		r.add(d.Members.Get("text").Text())
		for c := d.Members.Get("files").Elements(); c.Next(); {
			if name := cmp.Or(c.Value().Get("name").Text(), c.Value().Get("mime").Text()); name != "" {
				r.add("[" + name + "]")
			}
		}
		d.prompted()
		d.show(thread.User, "", r)
	case "assistant":
		d.answer()
	case "compaction":
		d.compaction()
	case "shell":
		d.shell()
	case "idle":
		d.idle(v)
	case "synthetic", "system", "skill", "agent-switched", "model-switched", "location-switched":
	default:
		d.Unknown(d.row.kind, v)
	}
}

// answer decodes an answer, which is one request.
func (d *decode) answer() {
	r := reply{}
	for c := d.Members.Get("content").Elements(); c.Next(); {
		switch p := c.Value(); string(p.Get("type").Raw()) {
		case "text", "reasoning":
			r.add(p.Get("text").Text())
		case "tool":
			d.call(p, &r)
		default:
			d.Unknown("content "+p.Get("type").Text(), p)
		}
	}
	failed, model := d.Members.Get("error"), d.Members.Get("model")
	d.turn(r, failed.Get("type").Text(), failed.Get("message").Text())
	d.show(thread.Assistant, model.Get("id").Text(), r)
	t, ok := d.tokens(d.Members.Get("tokens"), d.Members.Get("cost"))
	switch refused := failed.Kind() == jsonl.Object && len(r.texts)+len(r.calls) == 0; {
	case ok:
		d.use(model.Get("providerID").Text(), model.Get("id").Text(), t, false)
	case !refused && !d.Timeline.Inherited:
		d.uncounted++
	}
}

// compaction adds a compaction.
func (d *decode) compaction() {
	switch status := d.Members.Get("status"); {
	case status.Is("running"):
		if !d.Timeline.Inherited {
			d.StartCompaction(jsonl.Milliseconds(d.at), "a compaction is in progress, message %s", d.row.id)
		}
	case !status.Is("failed"):
		d.Compacted(d.Members.Get("summary").Text(), jsonl.Milliseconds(d.at))
	}
	model := d.Members.Get("model")
	if t, ok := d.tokens(d.Members.Get("tokens"), d.Members.Get("cost")); ok {
		d.use(model.Get("providerID").Text(), model.Get("id").Text(), t, true)
	} else if !d.Timeline.Inherited {
		d.silent++
	}
}

// shell adds a command of the user.
func (d *decode) shell() {
	call := thread.Call{ID: d.Members.Get("shellID").Text(), Name: "shell", Time: jsonl.Milliseconds(d.at)}
	call.End(jsonl.Milliseconds(d.Members.Get("time").Get("completed").Int()))
	r := reply{}
	r.result(&call, string(d.Members.Get("status").Raw()), d.Members.Get("exit"))
	if d.Timeline.Detail == thread.Tools {
		call.Input = thread.Clip(`{"command":` + string(cmp.Or(string(d.Members.Get("command")), `""`)) + `}`)
		call.SetOutput(strings.TrimSpace(d.Members.Get("output").Get("output").Text()))
	}
	d.Timeline.AddCall(call)
}

// idle notes the end of a turn.
func (d *decode) idle(v jsonl.Value) {
	if d.Timeline.Inherited {
		return
	}
	outcome, at := d.Members.Get("outcome").Text(), jsonl.Milliseconds(d.at)
	switch {
	case outcome == "succeeded":
		d.State(thread.Completed, at, "the turn succeeded, message %s", d.row.id)
	case outcome == "":
		d.Unknown("idle without outcome", v)
	case d.Facts.State.Status != thread.Errored:
		d.State(thread.Errored, at, "the turn ended as %s, message %s", thread.Brief(outcome), d.row.id)
	}
}

// remainder counts what a session of version 2 used in requests that are in no message:
// for its title, and for compactions. Version 1 adds up a session in another way, and
// copies that of a fork, so a session with messages of both is left as it is. It returns
// how many requests are missing.
func (d *decode) remainder() (missing int) {
	titles := 0
	if d.session.asked() {
		titles = 1
	}
	all := d.session.spent
	if all == nil || d.first || (d.copied > 0 && d.session.fork == "") {
		return titles
	}
	used := d.Meter.Used()
	rest := thread.Tokens{Input: all.Input - used.Input, CacheRead: all.CacheRead - used.CacheRead,
		CacheWrite: all.CacheWrite - used.CacheWrite, Output: all.Output - used.Output,
		Reasoning: all.Reasoning - used.Reasoning, Cost: max(0, all.Cost-used.Cost), Calls: max(1, titles+d.silent)}
	if min(rest.Input, rest.CacheRead, rest.CacheWrite, rest.Output, rest.Reasoning) < 0 {
		return titles // the sums are not kept
	}
	const least = 1e-6 // in USD: sums of costs are not exact
	switch {
	case rest.Total() > 0:
		d.use("", "", rest, true)
		d.silent = 0
	case rest.Cost > least:
		d.use("", "", thread.Tokens{Cost: rest.Cost}, true)
	}
	if d.session.first() {
		return titles // the title may be from version 1
	}
	return 0
}
