package opencode

import (
	"cmp"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

// message decodes a message of version 1, whose parts are apart.
func (d *decode) message(v jsonl.Value) {
	r := d.content()
	role := thread.Role(d.Members.Get("role").Raw())
	model := cmp.Or(d.Members.Get("modelID").Text(), d.Members.Get("model").Get("modelID").Text())
	shown := role
	switch role {
	case thread.User:
		d.prompted()
	case thread.Assistant:
		d.uncounted += max(0, r.started-len(r.steps))
		failed := d.Members.Get("error")
		d.turn(r, failed.Get("name").Text(), failed.Get("data", "message").Text())
		summary := d.Members.Get("summary").True() || d.Members.Get("parentID").Is(d.compact)
		if d.compact != "" && summary && r.text() != "" {
			shown, d.compact = thread.Compaction, ""
		}
	default:
		d.Unknown("role "+string(role), v)
		shown = ""
	}
	d.compacted()
	by := ""
	if role == thread.Assistant {
		by = model
	}
	d.show(shown, by, r)
	if r.compaction {
		d.compact = d.row.id
	}
	if role == thread.Assistant {
		d.count(r, cmp.Or(d.Members.Get("providerID").Text(), d.Members.Get("model").Get("providerID").Text()), model)
	}
}

// compacted adds a compaction without a summary.
func (d *decode) compacted() {
	if d.compact != "" {
		d.Compacted("", jsonl.Milliseconds(d.at))
	}
	d.compact = ""
}

// count counts the usage of a message. The message itself has only the usage of its last
// request, or 0 if it did not end, so the sum of its requests is used if it is larger.
func (d *decode) count(r reply, provider, model string) {
	t, ok := d.tokens(d.Members.Get("tokens"), d.Members.Get("cost"))
	if ended := d.Members.Get("finish").Text(); !ok && ended != "" && ended != "error" {
		d.Missing("tokens")
	}
	var steps thread.Tokens
	for _, s := range r.steps {
		steps.Add(s)
	}
	if steps.Total() > t.Total() {
		steps.Cost = max(steps.Cost, t.Cost)
		t = steps
	}
	t.Calls = max(1, len(r.steps))
	if t.Total() > 0 || len(r.steps) > 0 {
		d.use(provider, model, t, false)
	}
}

// content returns the content of the parts of a message.
func (d *decode) content() (r reply) {
	user := d.Members.Get("role").Is(string(thread.User))
	for _, p := range d.parts {
		if p == nil {
			continue // omitted
		}
		if !isObject(p) {
			d.Facts.BadLines++
			continue
		}
		switch kind := string(p.Get("type").Raw()); kind {
		case "text":
			// Texts that the tool adds to a message of the user are marked.
			if !p.Get("synthetic").True() && !p.Get("ignored").True() {
				r.add(p.Get("text").Text())
			}
		case "reasoning":
			r.add(p.Get("text").Text())
		case "file":
			if name := cmp.Or(p.Get("filename").Text(), p.Get("mime").Text()); user && name != "" {
				r.add("[" + name + "]")
			}
		case "subtask":
			r.add(cmp.Or(p.Get("prompt").Text(), p.Get("description").Text()))
		case "tool":
			d.call(p, &r)
		case "step-start":
			r.started++
		case "step-finish":
			t, ok := d.tokens(p.Get("tokens"), p.Get("cost"))
			if !ok {
				d.Missing("tokens")
			}
			r.steps = append(r.steps, t)
		case "compaction":
			r.compaction = true
		case "snapshot", "patch", "agent", "retry":
		default:
			d.Unknown(kind, p)
		}
	}
	return r
}

// call adds a call. Its times and its result have other names in version 2.
func (d *decode) call(p jsonl.Value, r *reply) {
	m, state := &d.part, &d.state
	m.Parse(p)
	state.Parse(m.Get("state"))
	either := func(v, other jsonl.Value) jsonl.Value {
		if v.Kind() == jsonl.Absent {
			return other
		}
		return v
	}
	about := func(name string) jsonl.Value {
		return either(state.Get("structured", name), state.Get("metadata", name))
	}
	status := string(state.Get("status").Raw())
	failure := cmp.Or(state.Get("error", "message").Text(), state.Get("error").Text())
	start := either(state.Get("time", "start"), m.Get("time", "created")).Int()
	end := either(state.Get("time", "end"), m.Get("time", "completed")).Int()
	call := thread.Call{ID: either(m.Get("callID"), m.Get("id")).Text(), Time: jsonl.Milliseconds(start),
		Name: either(m.Get("tool"), m.Get("name")).Text()}
	call.End(jsonl.Milliseconds(end))
	r.result(&call, status, about("exit"))
	if d.Timeline.Detail == thread.Tools {
		call.Input = thread.Clip(state.Get("input").Plain())
		call.SetOutput(cmp.Or(state.Get("output").Text(), engine.Text(state.Get("content")), failure))
	}
	if call.Name == "task" || call.Name == "subagent" {
		call.Agent = child(state, about)
		if running := about("status"); status == "completed" && running.Is("running") {
			status = "running" // in the background
		}
		d.task(call, state.Get("input"), state.Get("title").Text(), status, failure, end)
	}
	d.saw(start)
	d.saw(end)
	r.calls = append(r.calls, call)
}

// result sets what the status of a call shows, and the exit status of a command. The
// status is not error for a failed command and for a call of an unknown tool.
func (r *reply) result(call *thread.Call, status string, exit jsonl.Value) {
	switch status {
	case "pending", "running", "streaming":
		call.Pending = true
		r.open = append(r.open, call.Name)
	case "error":
		call.Failed = true
	case "completed", "exited":
	default:
		call.Pending = exit.Kind() != jsonl.Number
	}
	if exit.Kind() == jsonl.Number {
		call.Exit = new(int(exit.Int()))
	}
	if exit.Int() != 0 || call.Name == "invalid" {
		call.Failed = true
	}
}

// child returns the ID of the subagent of a call, "" if there is none.
func child(state *jsonl.Members, about func(string) jsonl.Value) string {
	id := cmp.Or(about("sessionId").Text(), about("sessionID").Text(), state.Get("input", "sessionID").Text())
	if id != "" {
		return id
	}
	if _, id, ok := strings.Cut(state.Get("output").Text(), "task_id: ses_"); ok {
		return "ses_" + id[:len(id)-len(strings.TrimLeft(id, alphanumeric))]
	}
	return state.Get("input", "task_id").Text()
}

const alphanumeric = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
