package codex

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// A ledger is what a rollout says about the subagents of its thread.
type ledger struct {
	self   string
	line   int  // of the record that is read
	off    bool // what is read was copied from another thread
	agents []*sighting
	calls  map[string]order
}

// A sighting is one subagent. Older versions name it by its thread, newer ones
// by its path in the team; where a record tells both, they are joined.
type sighting struct {
	id, path, name, role string
	spawned              bool
	state                thread.State
	events               []thread.Event
}

// An order is a call about subagents that has not returned.
type order struct {
	name    string
	at      time.Time
	targets []string
	role    string
}

// find returns the sighting of an id or path, a new one if there is none.
func (l *ledger) find(word string) *sighting {
	if thread.IsUUID(word) {
		word = strings.ToLower(word)
	}
	for _, a := range l.agents {
		if a.id == word || a.path == word {
			return a
		}
	}
	a := new(sighting)
	if strings.HasPrefix(word, "/") {
		a.path = word
	} else {
		a.id = word
	}
	l.agents = append(l.agents, a)
	return a
}

// join returns the sighting of an id and a path, either of which may be empty.
func (l *ledger) join(id, path string) *sighting {
	if id == "" || path == "" {
		return l.find(cmp.Or(id, path))
	}
	a, b := l.find(path), l.find(id)
	if a != b {
		a.id = b.id
		a.events = append(a.events, b.events...)
		if b.state.Status != "" {
			a.state = b.state
		}
		l.agents = slices.DeleteFunc(l.agents, func(x *sighting) bool { return x == b })
	}
	return a
}

const maxEvents = 1000 // kept of one subagent

func (a *sighting) event(at time.Time, name, detail string) {
	if len(a.events) < maxEvents {
		a.events = append(a.events, thread.Event{Time: at, Name: name, Detail: detail})
	}
}

// set notes a state that the record now read tells of.
func (l *ledger) set(a *sighting, s thread.Status, at time.Time, by string) {
	a.state = thread.State{Status: s, Source: thread.Parent, Evidence: fmt.Sprintf("%s, line %d of the parent's transcript", by, l.line), At: at}
}

// called notes a call that is about subagents.
func (l *ledger) called(c thread.Call, input jsonl.Value) {
	switch c.Name {
	case "spawn_agent", "wait", "wait_agent", "send_input", "send_message", "followup_task", "resume_agent", "close_agent", "interrupt_agent", "list_agents":
	default:
		return
	}
	if l.off || c.ID == "" {
		return
	}
	if input.Kind() == jsonl.String {
		input = jsonl.Value(input.Text())
	}
	o := order{name: c.Name, at: c.Time, role: input.Get("agent_type").Text()}
	for _, key := range []string{"ids", "targets", "id", "target", "agent_id"} {
		v := input.Get(key)
		if v.Kind() == jsonl.String {
			o.targets = append(o.targets, v.Text())
		}
		for e := v.Elements(); e.Next(); {
			o.targets = append(o.targets, e.Value().Text())
		}
	}
	o.targets = slices.DeleteFunc(o.targets, func(s string) bool { return s == "" || !strings.HasPrefix(s, "/") && !thread.IsUUID(s) })
	if l.calls == nil {
		l.calls = map[string]order{}
	}
	l.calls[c.ID] = o
	// What is asked of an agent sets it to work before the call returns.
	switch c.Name {
	case "send_input", "send_message", "followup_task", "resume_agent":
		for _, t := range o.targets {
			a := l.find(t)
			a.event(o.at, o.name, "")
			l.set(a, thread.Running, o.at, o.name)
		}
	}
}

// awaits reports whether a call about subagents has not returned.
func (l *ledger) awaits(id string) bool {
	_, ok := l.calls[id]
	return ok
}

// returned notes what such a call returned, and the agent it is about.
func (l *ledger) returned(id string, at time.Time, said jsonl.Value) string {
	o, ok := l.calls[id]
	if !ok {
		return ""
	}
	delete(l.calls, id)
	switch o.name {
	case "spawn_agent":
		return l.spawn(o, said)
	case "wait", "wait_agent":
		l.waited(o, at, said)
	case "close_agent", "interrupt_agent":
		l.closed(o, at, said)
	case "list_agents":
		for c := said.Get("agents").Elements(); c.Next(); {
			v := c.Value()
			word := cmp.Or(cmp.Or(v.Get("agent_id").Text(), v.Get("agent_path").Text()), v.Get("agent_name").Text())
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

func (l *ledger) spawn(o order, said jsonl.Value) string {
	id, path := said.Get("agent_id").Text(), said.Get("task_name").Text()
	if path != "" && !strings.HasPrefix(path, "/") {
		path = "/root/" + path
	}
	if id == "" && path == "" {
		return "" // the call failed
	}
	a := l.join(id, path)
	a.spawned = true
	a.name, a.role = cmp.Or(said.Get("nickname").Text(), a.name), cmp.Or(o.role, a.role)
	a.event(o.at, "spawn_agent", "subagent spawned")
	if a.state.Status == "" {
		l.set(a, thread.PendingInit, o.at, "spawn_agent")
	}
	return cmp.Or(a.id, a.path)
}

func (l *ledger) waited(o order, at time.Time, said jsonl.Value) {
	told := map[string]bool{}
	for c := said.Get("status").Members(); c.Next(); {
		key := c.Key()
		if s := status(key); s != "" { // some versions leave out the agent
			if len(o.targets) == 1 {
				key = o.targets[0]
				a := l.find(key)
				a.event(o.at, o.name, "status "+string(s))
				l.set(a, s, at, o.name)
				told[key] = true
			}
			continue
		}
		told[key] = true
		if a := l.reported(key, o.at, c.Value(), o.name); a != nil {
			a.state.At = at
		}
	}
	for _, t := range o.targets {
		if !told[t] {
			l.find(t).event(o.at, o.name, "no status yet")
		}
	}
}

// closed notes the end of an agent: the state it was in, if that was an end.
func (l *ledger) closed(o order, at time.Time, said jsonl.Value) {
	end := thread.Shutdown
	if o.name == "interrupt_agent" {
		end = thread.Errored
	}
	for _, t := range o.targets {
		a := l.find(t)
		s := end
		for _, key := range []string{"status", "previous_status"} {
			if was := parseStatus(said.Get(key)); was.Ended() && was != thread.NotFound {
				s = was
			}
		}
		a.event(o.at, o.name, "status "+string(s))
		l.set(a, s, at, o.name)
	}
}

// reported notes a status that was told of an agent, and returns that; nil if it
// is none.
func (l *ledger) reported(word string, at time.Time, v jsonl.Value, by string) *sighting {
	s := parseStatus(v)
	if word == "" || s == "" || word == l.self {
		return nil
	}
	a := l.find(word)
	a.event(at, by, "status "+string(s))
	if s != thread.NotFound || a.state.Status == "" {
		l.set(a, s, at, by)
	}
	return a
}

// notified reads a notification that the tool wrote in the user's name.
func (l *ledger) notified(at time.Time, said string) {
	_, said, _ = strings.Cut(said, "<subagent_notification>")
	said, _, _ = strings.Cut(said, "</subagent_notification>")
	if v := jsonl.Value(strings.TrimSpace(said)); !l.off && json.Valid(v) {
		l.reported(cmp.Or(v.Get("agent_id").Text(), v.Get("agent_path").Text()), at, v.Get("status"), "subagent_notification")
	}
}

// spoke notes a message from one agent of a team to another.
func (l *ledger) spoke(at time.Time, author, recipient string) {
	if !l.off && strings.HasPrefix(author, "/root/") && recipient == "/root" {
		l.find(author).event(at, "agent_message", "to "+recipient)
	}
}

// event reads the events about agents that some versions wrote.
func (l *ledger) event(kind []byte, written jsonl.Value, v *jsonl.Members) {
	if l.off || !bytes.HasPrefix(kind, []byte("collab_")) && !bytes.HasPrefix(kind, []byte("sub_agent_")) {
		return
	}
	at, by := written.Time(), string(kind)
	switch by {
	case "collab_agent_spawn_end":
		if id := v.Get("new_thread_id").Text(); id != "" {
			a := l.find(id)
			a.spawned = true
			a.name, a.role = cmp.Or(a.name, v.Get("new_agent_nickname").Text()), cmp.Or(a.role, v.Get("new_agent_role").Text())
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

func (l *ledger) activity(at time.Time, v *jsonl.Members) {
	id, path, what := v.Get("agent_thread_id").Text(), v.Get("agent_path").Text(), v.Get("kind").Text()
	if id == "" && path == "" {
		return
	}
	a := l.join(id, path)
	a.event(at, "sub_agent_activity", what)
	switch what {
	case "started":
		a.spawned = true
		l.set(a, thread.Running, at, "sub_agent_activity")
	case "interacted":
		l.set(a, thread.Running, at, "sub_agent_activity")
	case "interrupted":
		l.set(a, thread.Errored, at, "sub_agent_activity")
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
