package claude_test

import (
	"fmt"
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/claude"
)

// ended is a subagent that answered.
func ended(agent string, at int) *script {
	return start(mainID, agent, "2.1.330", at).user("do "+agent).say("m"+agent, "done", used(1, 0, 0, 0, 5), "end_turn")
}

// manyFiles writes a session and n subagents that it does not name. Every tenth spawned
// the one after it.
func manyFiles(t testing.TB, home string, n int) {
	put(t, home, ".claude", project+mainID+".jsonl",
		start(mainID, "", "2.1.330", 0).user("go").say("m", "Yes.", used(1, 0, 0, 0, 5), "end_turn").String())
	for i := range n {
		id := fmt.Sprintf("a%05d", i)
		s := ended(id, i%60)
		if i%10 == 0 {
			s.call("c"+id, "t"+id, "Agent", obj{"description": "deeper", "prompt": "deeper"}, used(1, 0, 0, 0, 1)).
				result("t"+id, "done", obj{"agentId": fmt.Sprintf("a%05d", i+1), "status": "completed"})
		}
		put(t, home, ".claude", project+mainID+"/subagents/agent-"+id+".jsonl", s.String())
	}
}

// manyChains writes a session with the records of n subagents in its own transcript.
func manyChains(t testing.TB, home string, n int) {
	text := start(mainID, "", "2.1.330", 0).user("go").say("m", "Yes.", used(1, 0, 0, 0, 5), "end_turn").String()
	for i := range n {
		text += ended(fmt.Sprintf("a%05d", i), i%60).String()
	}
	put(t, home, ".claude", project+mainID+".jsonl", text)
}

// TestManySubagents lists subagents that the session does not name. The work is counted
// in allocations: each opening of a file makes some.
func TestManySubagents(t *testing.T) {
	for name, write := range map[string]func(testing.TB, string, int){"files": manyFiles, "chains": manyChains} {
		t.Run(name, func(t *testing.T) {
			count := func(n int) float64 {
				home := t.TempDir()
				write(t, home, n)
				p := threadtest.Open(t, claude.Driver(), home)
				return testing.AllocsPerRun(1, func() {
					agents, err := p.Agents(t.Context(), threadtest.Load(t, p, mainID))
					if err != nil || len(agents) != n {
						t.Fatalf("got %d agents of %d, %v", len(agents), n, err)
					}
				})
			}
			if few, many := count(50), count(400); many > 12*few {
				t.Errorf("50 subagents take %.0f allocations, 400 %.0f, more than 12 times as many", few, many)
			}
		})
	}
}

// TestChainFacts compares what is read of all subagents in the transcript of their
// session at once with what is read of each alone, and who spawned whom.
func TestChainFacts(t *testing.T) {
	home := t.TempDir()
	manyChains(t, home, 7)
	p := threadtest.Open(t, claude.Driver(), home)
	agents, err := p.Agents(t.Context(), threadtest.Load(t, p, mainID))
	if err != nil || len(agents) != 7 {
		t.Fatalf("got %d agents, %v", len(agents), err)
	}
	for _, a := range agents {
		if err := a.Thread.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		if a.State != a.Thread.State || a.State.Status != thread.Completed {
			t.Errorf("%s: got %+v at once, %+v alone", a.ID, a.State, a.Thread.State)
		}
	}
	home = t.TempDir()
	manyFiles(t, home, 20)
	p = threadtest.Open(t, claude.Driver(), home)
	if agents, err = p.Agents(t.Context(), threadtest.Load(t, p, mainID)); err != nil || len(agents) != 20 {
		t.Fatalf("got %d agents, %v", len(agents), err)
	}
	for _, a := range agents {
		want := mainID
		if a.ID == "a00001" || a.ID == "a00011" {
			want = "a000" + a.ID[4:5] + "0"
		}
		if a.Thread.Parent != want {
			t.Errorf("the parent of %s is %s, want %s", a.ID, a.Thread.Parent, want)
		}
	}
}
