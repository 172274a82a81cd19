package claude_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/claude"
)

// usageOf returns the usage of each thread of a home directory, as a report counts it, and the
// subagents that threads name.
func usageOf(t *testing.T, p thread.Provider) (usage map[string]thread.Tokens, named []string) {
	t.Helper()
	usage = map[string]thread.Tokens{}
	for s, err := range p.(thread.Lister).Stored(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		list, err := s.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, th := range list {
			sum := usage[th.ID]
			sum.Add(th.Usage.Tokens)
			usage[th.ID], named = sum, append(named, th.Spawned...)
		}
	}
	return usage, named
}

// TestCopiedRecords has a subagent whose records are copied to the transcript of its
// session. They count only while it has no transcript of its own.
func TestCopiedRecords(t *testing.T) {
	const agent = "a0000001"
	first, last := used(9, 8, 7, 0, 1), used(9, 8, 7, 0, 20)
	copied := func(record obj) obj {
		return obj{"parentToolUseID": "t", "data": obj{"type": "agent_progress", "agentId": agent, "message": record}}
	}
	answer := func(text string, u obj) obj {
		return copied(obj{"type": "assistant", "timestamp": "2026-06-01T12:00:09.000Z", "message": obj{"id": "c",
			"role": "assistant", "model": "claude-haiku-4-5", "content": []obj{{"type": "text", "text": text}}, "usage": u}})
	}
	home := t.TempDir()
	put(t, home, ".claude", project+mainID+".jsonl", start(mainID, "", "2.1.39", 0).user("go").
		call("m", "t", "Task", obj{"description": "search", "prompt": "find it"}, used(1, 0, 0, 0, 5)).
		add("progress", copied(obj{"type": "user", "message": obj{"role": "user", "content": "find it"}})).
		add("progress", answer("I look.", first)).add("progress", answer("I found it.", last)).
		result("t", "found", obj{"status": "completed", "agentId": agent}).String())
	p := threadtest.Open(t, claude.Driver(), home)
	want := thread.Tokens{Input: 9, CacheRead: 8, CacheWrite: 7, Output: 20, Calls: 1}
	check := func(want thread.Tokens) {
		t.Helper()
		usage, named := usageOf(t, p)
		if usage[mainID] != (thread.Tokens{Input: 1, Output: 5, Calls: 1}) || usage[agent] != want ||
			!slices.Equal(named, []string{agent}) {
			t.Errorf("got %+v, subagents %q, want %+v for %s", usage, named, want, agent)
		}
	}
	check(want)
	agents, err := p.Agents(t.Context(), threadtest.Load(t, p, mainID))
	if err != nil || len(agents) != 1 || agents[0].Thread == nil {
		t.Fatalf("got %+v, %v, want a subagent with a thread", agents, err)
	}
	th := agents[0].Thread
	var texts []string
	if err := th.Read(t.Context(), thread.Texts, func(m thread.Message) error {
		texts = append(texts, string(m.Role)+": "+m.Text)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(texts, []string{"user: find it", "assistant: I look.\n\nI found it."}) ||
		th.AgentName != "search" || agents[0].State.Status != thread.Completed || th.Usage.Tokens != want {
		t.Errorf("got %q of %+v, %+v", texts, th, agents[0].State)
	}

	stamps := func() (list []uint64) {
		for s, err := range p.(thread.Lister).Stored(t.Context()) {
			if err == nil && filepath.Base(s.Source) == mainID+".jsonl" {
				list = append(list, s.Stamp)
			}
		}
		return list
	}
	before := stamps()
	put(t, home, ".claude", project+mainID+"/subagents/agent-"+agent+".jsonl",
		start(mainID, agent, "2.1.39", 0).user("find it").say("c", "I found it.", used(9, 8, 7, 0, 30), nil).String())
	want.Output = 30
	check(want)
	with := stamps()
	if err := os.RemoveAll(filepath.Join(home, ".claude", filepath.FromSlash(project), mainID)); err != nil {
		t.Fatal(err)
	}
	if after := stamps(); slices.Equal(before, with) || !slices.Equal(before, after) {
		t.Errorf("stamps are %d, with a transcript of the subagent %d, and then %d", before, with, after)
	}
	want.Output = 20
	check(want)
}

// TestPartsCount has a subagent whose records are in the transcript of its session.
func TestPartsCount(t *testing.T) {
	home := t.TempDir()
	s := start(mainID, "", "2.0.10", 0).user("go").say("m", "a", used(1, 0, 0, 0, 5), nil)
	s.add("user", obj{"isSidechain": true, "parentUuid": nil, "message": obj{"role": "user", "content": "sub"}})
	id := s.parent.(string)
	s.add("assistant", obj{"isSidechain": true, "message": obj{"id": "c", "role": "assistant", "model": "claude-opus-4-8",
		"content": []obj{{"type": "text", "text": "b"}}, "usage": used(7, 0, 0, 0, 8)}})
	put(t, home, ".claude", project+mainID+".jsonl", s.String())
	usage, _ := usageOf(t, threadtest.Open(t, claude.Driver(), home))
	if len(usage) != 2 || usage[mainID].Output != 5 || usage[id].Output != 8 {
		t.Errorf("got %+v, want that of %s and %s", usage, mainID, id)
	}
}

// TestNestedAgents has a subagent that started another one, which has no transcript: it is
// named. In records, both have the name of their role, because no program gave them one; the
// text of the call describes their task.
func TestNestedAgents(t *testing.T) {
	home := t.TempDir()
	const agent = "a0000001"
	put(t, home, ".claude", project+mainID+".jsonl", start(mainID, "", "2.1.140", 0).user("go").
		call("m", "t", "Agent", obj{"description": "search", "prompt": "find it", "subagent_type": "Explore"},
			used(1, 0, 0, 0, 5)).result("t", "found", obj{"status": "completed", "agentId": agent}).String())
	put(t, home, ".claude", project+mainID+"/subagents/agent-"+agent+".jsonl",
		start(mainID, agent, "2.1.140", 0).user("find it").
			call("c", "u", "Agent", obj{"name": "Otto", "prompt": "deeper", "subagent_type": "Explore"}, used(9, 0, 0, 0, 3)).
			result("u", "depth", obj{"status": "completed", "agentId": "deep1"}).String())
	put(t, home, ".claude", project+mainID+"/subagents/agent-"+agent+".meta.json",
		`{"agentType":"Explore","description":"search"}`)
	p := threadtest.Open(t, claude.Driver(), home)
	if _, named := usageOf(t, p); !slices.Equal(named, []string{agent, "deep1"}) {
		t.Errorf("subagents %q are named, want both", named)
	}
	th, err := p.Thread(t.Context(), agent)
	if err != nil || th.AgentName != "search" || th.ProducerAgent() != "Explore" {
		t.Errorf("got %+v, %v, want Explore in records", th, err)
	}
	got := map[string]string{}
	for _, of := range []*thread.Thread{threadtest.Load(t, p, mainID), th} {
		agents, err := p.Agents(t.Context(), of)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range agents {
			got[a.ID] = a.ProducerAgent()
		}
	}
	if got[agent] != "Explore" || got["deep1"] != "Otto" {
		t.Errorf("records name the subagents %v", got)
	}
}
