package codex

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// subagents are the subagents that a rollout mentions.
type subagents struct {
	self   string // ID of the thread
	line   int    // of the record
	off    bool   // the record was copied from another thread
	agents []*subagent
	calls  map[string]call
}

// A subagent is one that the parent mentions. Older versions identify it by its
// thread, newer ones by its path in the team; a record with both joins them.
type subagent struct {
	thread.Agent
	path    string
	spawned bool
}

// spawnAgent is the tool that starts a subagent.
const spawnAgent = "spawn_agent"

// spawned returns the IDs of the subagents that the thread started.
func (l *subagents) spawned() (ids []string) {
	for _, a := range l.agents {
		if a.spawned && thread.IsUUID(a.ID) && a.ID != l.self {
			ids = append(ids, a.ID)
		}
	}
	return ids
}

// spawning returns the calls that have not returned yet and start a subagent.
func (l *subagents) spawning() (calls []string) {
	for id, c := range l.calls {
		if c.name == spawnAgent {
			calls = append(calls, id)
		}
	}
	return calls
}

// restore adds the subagents that were started before a mark.
func (l *subagents) restore(spawned, spawning []string) {
	for _, id := range spawned {
		l.find(id).spawned = true
	}
	for _, id := range spawning {
		l.calls[id] = call{name: spawnAgent}
	}
}

// A call is a call about subagents that has not returned.
type call struct {
	name    string
	at      time.Time
	targets []string
	role    string
}

// find returns the subagent with an ID or path, a new one if there is none.
func (l *subagents) find(word string) *subagent {
	word = thread.LowerUUID(word)
	for _, a := range l.agents {
		if a.ID == word || a.path == word {
			return a
		}
	}
	a := new(subagent)
	if strings.HasPrefix(word, "/") {
		a.path = word
	} else {
		a.ID = word
	}
	l.agents = append(l.agents, a)
	return a
}

// join returns the subagent with an ID and a path. One of them may be empty.
func (l *subagents) join(id, path string) *subagent {
	if id == "" || path == "" {
		return l.find(cmp.Or(id, path))
	}
	a, b := l.find(path), l.find(id)
	if a != b {
		a.ID = b.ID
		a.Lifecycle = append(a.Lifecycle, b.Lifecycle...)
		if b.State.Status != "" {
			a.State = b.State
		}
		l.agents = slices.DeleteFunc(l.agents, func(x *subagent) bool { return x == b })
	}
	return a
}

// set sets the state of a subagent from the current record.
func (l *subagents) set(a *subagent, s thread.Status, at time.Time, by string) {
	a.State = thread.ReadState(s, thread.Parent, at, "%s, line %d of the parent's transcript", by, l.line)
}

// report sets the state and adds an event.
func (l *subagents) report(a *subagent, s thread.Status, at time.Time, by string) {
	a.AddEvent(at, by, "status "+string(s))
	l.set(a, s, at, by)
}

// called handles a call if it is about subagents.
func (l *subagents) called(c thread.Call, input jsonl.Value) {
	switch c.Name {
	case "spawn_agent", "wait", "wait_agent", "send_input", "send_message", "followup_task", "resume_agent", "close_agent",
		"interrupt_agent", "list_agents":
	default:
		return
	}
	if l.off || c.ID == "" {
		return
	}
	if input.Kind() == jsonl.String {
		input = jsonl.Value(input.Text())
	}
	o := call{name: c.Name, at: c.Time, role: input.Get("agent_type").Text()}
	for _, key := range []string{"ids", "targets", "id", "target", "agent_id"} {
		v := input.Get(key)
		if v.Kind() == jsonl.String {
			o.targets = append(o.targets, v.Text())
		}
		for e := v.Elements(); e.Next(); {
			o.targets = append(o.targets, e.Value().Text())
		}
	}
	o.targets = slices.DeleteFunc(o.targets, func(s string) bool {
		return s == "" || !strings.HasPrefix(s, "/") && !thread.IsUUID(s)
	})
	l.calls[c.ID] = o
	// A message to a subagent starts it before the call returns.
	switch c.Name {
	case "send_input", "send_message", "followup_task", "resume_agent":
		for _, t := range o.targets {
			a := l.find(t)
			a.AddEvent(o.at, o.name, "")
			l.set(a, thread.Running, o.at, o.name)
		}
	}
}

// awaits reports whether this is a call about subagents that has not returned.
func (l *subagents) awaits(id string) bool {
	_, ok := l.calls[id]
	return ok
}

// returned handles the result of a call about subagents. It returns the subagent,
// if there is only one.
func (l *subagents) returned(id string, at time.Time, result jsonl.Value) string {
	o, ok := l.calls[id]
	if !ok {
		return ""
	}
	delete(l.calls, id)
	switch o.name {
	case "spawn_agent":
		return l.spawn(o, result)
	case "wait", "wait_agent":
		l.waited(o, at, result)
	case "close_agent", "interrupt_agent":
		l.closed(o, at, result)
	case "list_agents":
		for c := result.Get("agents").Elements(); c.Next(); {
			v := c.Value()
			word := cmp.Or(v.Get("agent_id").Text(), v.Get("agent_path").Text(), v.Get("agent_name").Text())
			if strings.HasPrefix(word, "/root/") || thread.IsUUID(word) {
				l.reported(word, at, v.Get("agent_status"), "list_agents")
			}
		}
	}
	if len(o.targets) == 1 {
		return o.targets[0]
	}
	return ""
}

func (l *subagents) spawn(o call, result jsonl.Value) string {
	id, path := result.Get("agent_id").Text(), result.Get("task_name").Text()
	if path != "" && !strings.HasPrefix(path, "/") {
		path = "/root/" + path
	}
	if id == "" && path == "" {
		return "" // the call failed
	}
	a := l.join(id, path)
	a.spawned = true
	a.Name, a.Role = cmp.Or(result.Get("nickname").Text(), a.Name), cmp.Or(o.role, a.Role)
	a.AddEvent(o.at, "spawn_agent", "subagent spawned")
	if a.State.Status == "" {
		l.set(a, thread.PendingInit, o.at, "spawn_agent")
	}
	return cmp.Or(a.ID, a.path)
}

func (l *subagents) waited(o call, at time.Time, result jsonl.Value) {
	reported := map[string]bool{}
	for c := result.Get("status").Members(); c.Next(); {
		key := c.Key()
		if s := status(key); s != "" { // some versions omit the agent
			if len(o.targets) == 1 {
				key = o.targets[0]
				l.report(l.find(key), s, at, o.name)
				reported[key] = true
			}
			continue
		}
		reported[key] = true
		l.reported(key, at, c.Value(), o.name)
	}
	for _, t := range o.targets {
		if !reported[t] {
			l.find(t).AddEvent(at, o.name, "no status yet")
		}
	}
}

// closed handles the end of a subagent. Its status before is kept if it is final.
func (l *subagents) closed(o call, at time.Time, result jsonl.Value) {
	end := thread.Shutdown
	if o.name == "interrupt_agent" {
		end = thread.Errored
	}
	for _, t := range o.targets {
		s := end
		for _, key := range []string{"status", "previous_status"} {
			if before := parseStatus(result.Get(key)); before.Ended() && before != thread.NotFound {
				s = before
			}
		}
		l.report(l.find(t), s, at, o.name)
	}
}

// reported handles v if it is a status of a subagent. A subagent that has ended is
// not found by later calls.
func (l *subagents) reported(word string, at time.Time, v jsonl.Value, by string) {
	s := parseStatus(v)
	if word == "" || s == "" || word == l.self {
		return
	}
	a := l.find(word)
	a.AddEvent(at, by, "status "+string(s))
	if s != thread.NotFound || !a.State.Status.Ended() {
		l.set(a, s, at, by)
	}
}

// notified handles a notification in a message of the user, which the tool wrote.
func (l *subagents) notified(at time.Time, text string) {
	_, text, _ = strings.Cut(text, "<subagent_notification>")
	text, _, _ = strings.Cut(text, "</subagent_notification>")
	if v := jsonl.Value(strings.TrimSpace(text)); !l.off && json.Valid(v) {
		l.reported(cmp.Or(v.Get("agent_id").Text(), v.Get("agent_path").Text()), at, v.Get("status"), "subagent_notification")
	}
}

// sent handles a message from one agent of a team to another.
func (l *subagents) sent(at time.Time, author, recipient string) {
	if !l.off && strings.HasPrefix(author, "/root/") && recipient == "/root" {
		l.find(author).AddEvent(at, "agent_message", "to "+recipient)
	}
}

// event handles the events about agents that some versions write.
func (l *subagents) event(kind []byte, written jsonl.Value, v *jsonl.Members) {
	if l.off || !bytes.HasPrefix(kind, []byte("collab_")) && !bytes.HasPrefix(kind, []byte("sub_agent_")) {
		return
	}
	at, by := written.Time(), string(kind)
	switch by {
	case "collab_agent_spawn_end":
		if id := v.Get("new_thread_id").Text(); id != "" {
			a := l.find(id)
			a.spawned = true
			a.Name, a.Role = cmp.Or(a.Name, v.Get("new_agent_nickname").Text()), cmp.Or(a.Role, v.Get("new_agent_role").Text())
			if s := parseStatus(v.Get("status")); s != "" {
				l.set(a, s, at, by)
			}
		}
	case "collab_waiting_end":
		for c := v.Get("agent_statuses").Elements(); c.Next(); {
			l.reported(c.Value().Get("thread_id").Text(), at, c.Value().Get("status"), by)
		}
		for c := v.Get("statuses").Members(); c.Next(); {
			l.reported(c.Key(), at, c.Value(), by)
		}
	case "collab_close_end", "collab_agent_interaction_end", "collab_resume_end":
		l.reported(v.Get("receiver_thread_id").Text(), at, v.Get("status"), by)
	case "sub_agent_activity":
		l.activity(at, v)
	}
}

// activities are the kinds of sub_agent_activity that change the status.
var activities = map[string]thread.Status{"started": thread.Running, "interacted": thread.Running,
	"interrupted": thread.Errored}

func (l *subagents) activity(at time.Time, v *jsonl.Members) {
	id, path, kind := v.Get("agent_thread_id").Text(), v.Get("agent_path").Text(), v.Get("kind").Text()
	if id == "" && path == "" {
		return
	}
	a := l.join(id, path)
	a.AddEvent(at, "sub_agent_activity", kind)
	a.spawned = a.spawned || kind == "started"
	if s := activities[kind]; s != "" {
		l.set(a, s, at, "sub_agent_activity")
	}
}

// parseStatus reads a status: a word, or an object with the word as its name.
func parseStatus(v jsonl.Value) thread.Status {
	if v.Kind() == jsonl.String {
		return status(v.Text())
	}
	for c := v.Members(); c.Next(); {
		if s := status(c.Key()); s != "" {
			return s
		}
	}
	return ""
}

func status(word string) thread.Status {
	switch word {
	case "pending_init", "pendingInit":
		return thread.PendingInit
	case "running":
		return thread.Running
	case "completed":
		return thread.Completed
	case "errored", "interrupted":
		return thread.Errored
	case "shutdown":
		return thread.Shutdown
	case "not_found", "notFound":
		return thread.NotFound
	}
	return ""
}
