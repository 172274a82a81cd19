package all_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
)

// A scripted is a thread of a real client with a scripted server, and what the
// server sent.
type scripted struct {
	Home, Thread string
	Status       thread.Status
	Usage        thread.Tokens
	Subagents    []struct {
		ID, Name, Parent string
		Status           thread.Status
		Usage            thread.Tokens
	}
}

// usageRecords are the answers that EXPECTED.json has as not recorded, because there is no
// token_count of them, and of which there is a token_usage_record. They have the numbers
// 153 and 163 in the ledger.
var usageRecords = map[string]thread.Tokens{
	"codex/01a1ff9f-ec4a-76d3-b0cb-a875017ce8c4": {Input: 11, CacheRead: 1, CacheWrite: 2, Output: 3, Calls: 1},
	"codex/01a1ffa0-4fd6-7a72-a0d0-afa758e5ef10": {Input: 11, CacheRead: 1, CacheWrite: 2, Output: 3, Calls: 1},
}

// TestClients compares usage, subagents and end states of threads of real clients
// with what a scripted server sent them.
func TestClients(t *testing.T) {
	b, err := os.ReadFile(threadtest.Clients(t, "EXPECTED.json"))
	if err != nil {
		t.Fatal(err)
	}
	var expected struct{ Threads []scripted }
	if err := json.Unmarshal(b, &expected); err != nil || len(expected.Threads) == 0 {
		t.Fatalf("%d threads, %v", len(expected.Threads), err)
	}
	read := map[string]int{}
	for _, want := range expected.Threads {
		t.Run(want.Thread, func(t *testing.T) {
			want.Usage.Add(usageRecords[want.Thread])
			want.check(t, threadtest.Clients(t, want.Home))
		})
		read[want.Home]++
	}
	t.Logf("compared %v", read)
}

func (want scripted) check(t *testing.T, home string) {
	threadtest.CheckUnchanged(t, home)
	set := thread.NewSet(all.Drivers(), func(string) string { return "" }, home)
	u, err := thread.ParseURI(want.Thread)
	if err != nil {
		t.Fatal(err)
	}
	v, err := set.Open(t.Context(), u)
	if err == nil {
		err = v.Thread.Load(t.Context())
	}
	if err == nil {
		err = v.LoadAgents(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := v.Thread; got.State.Status != want.Status || !same(got.Usage.Tokens, want.Usage) {
		t.Errorf("got %+v, %+v, want %s, %+v", got.State, got.Usage, want.Status, want.Usage)
	}
	if len(v.Agents) != len(want.Subagents) {
		t.Errorf("got %d subagents, want %d", len(v.Agents), len(want.Subagents))
	}
	for _, w := range want.Subagents {
		sub, err := set.Open(t.Context(), v.URI.Child(w.ID))
		if err != nil || sub.Agent == nil || sub.Agent.Thread == nil {
			t.Errorf("subagent %s: got %+v, %v", w.ID, sub, err)
			continue
		}
		a := sub.Agent
		if err := a.Thread.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !a.Validated || a.State.Status != w.Status || a.Name != w.Name || !same(a.Thread.Usage.Tokens, w.Usage) ||
			w.Parent != "" && a.Thread.Parent != w.Parent {
			t.Errorf("subagent %s: got %q, %+v, parent %s, %+v, want %q, %s, parent %s, %+v", w.ID, a.Name, a.State,
				a.Thread.Parent, a.Thread.Usage, w.Name, w.Status, w.Parent, w.Usage)
		}
	}
}

// same reports whether the tokens are the same. The server has no costs, and does not
// distinguish how long a cache is kept.
func same(got, want thread.Tokens) bool {
	got.Cost, got.CacheWrite1h = 0, 0
	return got == want
}
