package codex

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

// spawnAgent is the tool that starts a subagent.
const spawnAgent = "spawn_agent"

// A talk is a call about subagents that has not returned.
type talk struct {
	name    string
	at      time.Time
	targets []string
	role    string
}

// mention returns the subagent with an ID or path. Older versions identify it by its
// thread, newer ones by its path in the team; a record with both joins them.
func (d *decode) mention(word string) *engine.Mention {
	if word = thread.LowerUUID(word); strings.HasPrefix(word, "/") {
		return d.join("", word)
	}
	return d.join(word, "")
}

func (d *decode) join(id, path string) *engine.Mention {
	m := d.Member(id, path)
	m.Aliases = names(m.Path)
	d.markSpawned(m, false)
	return m
}

// markSpawned notes that the thread started a subagent, if it did so now or before.
func (d *decode) markSpawned(m *engine.Mention, now bool) {
	const proof = "parent rollout contains spawn_agent output"
	if now && !slices.Contains(m.Evidence, proof) {
		m.Evidence = append(m.Evidence, proof)
	}
	m.Spawned = m.Spawned || (len(m.Evidence) > 0 && thread.IsUUID(m.ID) && m.ID != d.meta.id)
}

// set sets the state of a subagent from the current record.
func (d *decode) set(m *engine.Mention, s thread.Status, at time.Time, by string) {
	m.State = thread.ReadState(s, thread.Parent, at, "%s, line %d of the parent's transcript", by, d.n)
}

// report sets the state and adds an event.
func (d *decode) report(m *engine.Mention, s thread.Status, by string) {
	m.AddEvent(d.at(), by, "status "+string(s))
	d.set(m, s, d.at(), by)
}

// talk notes a call if it is about subagents.
func (d *decode) talk(c thread.Call, input jsonl.Value) {
	switch c.Name {
	case spawnAgent, "wait", "wait_agent", "send_input", "send_message", "followup_task", "resume_agent", "close_agent",
		"interrupt_agent", "list_agents":
	default:
		return
	}
	if !d.own() || c.ID == "" {
		return
	}
	if input.Kind() == jsonl.String {
		input = jsonl.Value(input.Text())
	}
	t := talk{name: c.Name, at: c.Time, role: input.Get("agent_type").Text(), targets: targets(input)}
	d.talks[c.ID] = t
	switch c.Name {
	case spawnAgent:
		d.Spawning[c.ID] = true
	case "send_input", "send_message", "followup_task", "resume_agent": // they start it before the call returns
		for _, target := range t.targets {
			m := d.mention(target)
			m.AddEvent(t.at, t.name, "")
			d.set(m, thread.Running, t.at, t.name)
		}
	}
}

// targets returns the subagents that the input of a call names.
func targets(input jsonl.Value) (list []string) {
	for _, key := range []string{"ids", "targets", "id", "target", "agent_id"} {
		v := input.Get(key)
		if v.Kind() == jsonl.String {
			list = append(list, v.Text())
		}
		for e := v.Elements(); e.Next(); {
			list = append(list, e.Value().Text())
		}
	}
	return slices.DeleteFunc(list, func(s string) bool { return !strings.HasPrefix(s, "/") && !thread.IsUUID(s) })
}

// awaits reports whether this is a call about subagents that has not returned.
func (d *decode) awaits(id string) bool {
	_, ok := d.talks[id]
	return ok || d.Spawning[id]
}

// returned decodes the result of a call about subagents. It returns the subagent,
// if there is only one.
func (d *decode) returned(id string, result jsonl.Value) string {
	t, ok := d.talks[id]
	if !ok { // it was made before reading was resumed
		t = talk{name: spawnAgent}
	}
	delete(d.talks, id)
	delete(d.Spawning, id)
	switch t.name {
	case spawnAgent:
		return d.spawn(t, result)
	case "wait", "wait_agent":
		d.waited(t, result)
	case "close_agent", "interrupt_agent":
		d.closed(t, result)
	case "list_agents":
		for c := result.Get("agents").Elements(); c.Next(); {
			v := c.Value()
			word := cmp.Or(v.Get("agent_id").Text(), v.Get("agent_path").Text(), v.Get("agent_name").Text())
			if strings.HasPrefix(word, "/root/") || thread.IsUUID(word) {
				d.reported(word, v.Get("agent_status"), "list_agents")
			}
		}
	}
	return only(t.targets)
}

// only returns the element of a list of one.
func only(list []string) string {
	if len(list) == 1 {
		return list[0]
	}
	return ""
}

func (d *decode) spawn(t talk, result jsonl.Value) string {
	id, path := thread.LowerUUID(result.Get("agent_id").Text()), result.Get("task_name").Text()
	if path != "" && !strings.HasPrefix(path, "/") {
		path = "/root/" + path
	}
	if id == "" && path == "" {
		return "" // the call failed
	}
	m := d.join(id, path)
	d.markSpawned(m, true)
	m.Name, m.Role = cmp.Or(result.Get("nickname").Text(), m.Name), cmp.Or(t.role, m.Role)
	m.AddEvent(t.at, spawnAgent, "subagent spawned")
	if m.State.Status == "" {
		d.set(m, thread.PendingInit, t.at, spawnAgent)
	}
	return m.ID
}

func (d *decode) waited(t talk, result jsonl.Value) {
	known := map[string]bool{}
	for c := result.Get("status").Members(); c.Next(); {
		key := c.Key()
		if s := statuses[key]; s != "" { // some versions omit the agent
			if target := only(t.targets); target != "" {
				d.report(d.mention(target), s, t.name)
				known[target] = true
			}
			continue
		}
		known[key] = true
		d.reported(key, c.Value(), t.name)
	}
	for _, target := range t.targets {
		if !known[target] {
			d.mention(target).AddEvent(d.at(), t.name, "no status yet")
		}
	}
}

// closed decodes the end of a subagent. Its status before is kept if it is final.
func (d *decode) closed(t talk, result jsonl.Value) {
	end := thread.Shutdown
	if t.name == "interrupt_agent" {
		end = thread.Errored
	}
	for _, target := range t.targets {
		s := end
		for _, key := range []string{"status", "previous_status"} {
			if before := parseStatus(result.Get(key)); before.Ended() && before != thread.NotFound {
				s = before
			}
		}
		d.report(d.mention(target), s, t.name)
	}
}

// reported decodes v if it is a status of a subagent. A subagent that has ended is
// not found by later calls.
func (d *decode) reported(word string, v jsonl.Value, by string) {
	s := parseStatus(v)
	if word == "" || s == "" || word == d.meta.id {
		return
	}
	m := d.mention(word)
	m.AddEvent(d.at(), by, "status "+string(s))
	if s != thread.NotFound || !m.State.Status.Ended() {
		d.set(m, s, d.at(), by)
	}
}

// notified decodes a notification in a message of the user, which the tool wrote.
func (d *decode) notified(text string) {
	_, text, _ = strings.Cut(text, "<subagent_notification>")
	text, _, _ = strings.Cut(text, "</subagent_notification>")
	if v := jsonl.Value(strings.TrimSpace(text)); d.own() && json.Valid(v) {
		word := cmp.Or(v.Get("agent_id").Text(), v.Get("agent_path").Text())
		d.reported(word, v.Get("status"), "subagent_notification")
	}
}

// sent decodes a message from one agent of a team to another.
func (d *decode) sent(author, recipient string) {
	if d.own() && strings.HasPrefix(author, "/root/") && recipient == "/root" {
		d.mention(author).AddEvent(d.at(), "agent_message", "to "+recipient)
	}
}

// teamEvent decodes the events about agents that some versions write. It reports whether
// it is one.
func (d *decode) teamEvent(kind string) bool {
	v := &d.payload
	switch kind {
	case "collab_agent_spawn_end", "collab_waiting_end", "collab_close_end", "collab_agent_interaction_end",
		"collab_resume_end", "sub_agent_activity":
	default:
		return strings.HasPrefix(kind, "collab_")
	}
	switch {
	case !d.own():
	case kind == "collab_agent_spawn_end":
		if id := v.Get("new_thread_id").Text(); id != "" {
			m := d.mention(id)
			d.markSpawned(m, true)
			m.Name = cmp.Or(m.Name, v.Get("new_agent_nickname").Text())
			m.Role = cmp.Or(m.Role, v.Get("new_agent_role").Text())
			if s := parseStatus(v.Get("status")); s != "" {
				d.set(m, s, d.at(), kind)
			}
		}
	case kind == "collab_waiting_end":
		for c := v.Get("agent_statuses").Elements(); c.Next(); {
			d.reported(c.Value().Get("thread_id").Text(), c.Value().Get("status"), kind)
		}
		for c := v.Get("statuses").Members(); c.Next(); {
			d.reported(c.Key(), c.Value(), kind)
		}
	case kind == "sub_agent_activity":
		d.activity(v)
	default:
		d.reported(v.Get("receiver_thread_id").Text(), v.Get("status"), kind)
	}
	return true
}

func (d *decode) activity(v *jsonl.Members) {
	id, path := v.Get("agent_thread_id").Text(), v.Get("agent_path").Text()
	kind := v.Get("kind").Text()
	if (id == "" && path == "") || !d.own() {
		return
	}
	m := d.join(thread.LowerUUID(id), path)
	m.AddEvent(d.at(), "sub_agent_activity", kind)
	d.markSpawned(m, kind == "started")
	if s := statuses[kind]; s != "" {
		d.set(m, s, d.at(), "sub_agent_activity")
	}
}

// collaborated decodes what a call of a script about subagents did. It returns the
// subagent, if there is only one.
func (d *decode) collaborated(tool string, v *jsonl.Members) string {
	if !d.own() {
		return ""
	}
	var ids []string
	for c := v.Get("receiver_thread_ids").Elements(); c.Next(); {
		ids = append(ids, c.Value().Text())
	}
	for c := v.Get("receiver_agents").Elements(); c.Next(); {
		m := d.mention(c.Value().Get("thread_id").Text())
		m.Name = cmp.Or(m.Name, c.Value().Get("agent_nickname").Text())
	}
	for _, id := range ids {
		m := d.mention(id)
		m.AddEvent(d.at(), tool, "")
		d.markSpawned(m, tool == spawnAgent)
	}
	for c := v.Get("agents_states").Members(); c.Next(); {
		d.reported(c.Key(), c.Value(), tool)
	}
	return only(ids)
}

// parseStatus reads a status: a word, or an object with the word as its name.
func parseStatus(v jsonl.Value) thread.Status {
	if v.Kind() == jsonl.String {
		return statuses[v.Text()]
	}
	for c := v.Members(); c.Next(); {
		if s := statuses[c.Key()]; s != "" {
			return s
		}
	}
	return ""
}

// statuses are the words for a status, and the kinds of sub_agent_activity that change it.
var statuses = map[string]thread.Status{
	"pending_init": thread.PendingInit, "pendingInit": thread.PendingInit,
	"running": thread.Running, "started": thread.Running, "interacted": thread.Running,
	"completed": thread.Completed, "errored": thread.Errored, "interrupted": thread.Errored,
	"shutdown": thread.Shutdown, "not_found": thread.NotFound, "notFound": thread.NotFound,
}
