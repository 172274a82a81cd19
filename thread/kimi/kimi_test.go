package kimi_test

import (
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/kimi"
)

var suite = threadtest.Suite{Driver: kimi.Driver(), Write: home, Lines: true, Big: big}

func TestSuite(t *testing.T)    { threadtest.Run(t, suite) }
func TestStatuses(t *testing.T) { threadtest.CheckStatuses(t, suite) }

func provider(t testing.TB, home string) thread.Provider {
	t.Helper()
	return threadtest.Open(t, kimi.Driver(), home)
}

// TestID checks that a session is found by its UUID, and that the name of a subagent,
// which is not unique, finds nothing.
func TestID(t *testing.T) {
	dir := t.TempDir()
	home(t, dir)
	set := thread.NewSet([]thread.Driver{kimi.Driver()}, func(string) string { return "" }, dir)
	for in, want := range map[string]string{
		"kimi/" + doneID: doneID, doneID[len("session_"):]: doneID, "kimi/" + oldID: oldID,
		"kimi/" + doneID + "/agent-0": doneID, "kimi/" + doneID + "/call1": doneID,
	} {
		u, err := thread.ParseURI(in)
		if err != nil {
			t.Fatal(err)
		}
		v, err := set.Open(t.Context(), u)
		if err != nil || v.Thread.ID != want || v.Agent != nil && v.Agent.ID != "agent-0" {
			t.Errorf("%s: got %+v, %v", in, v, err)
		}
	}
	if th, err := provider(t, dir).Thread(t.Context(), "agent-0"); err == nil {
		t.Errorf("agent-0: got %+v", th)
	}
}

// FuzzWire reads any bytes as a journal, and as a session of Kimi CLI.
func FuzzWire(f *testing.F) {
	dir := f.TempDir()
	home(f, dir)
	threadtest.AddSeeds(f, dir, "*.jsonl")
	alone := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		threadtest.WriteFile(t, string(b), alone, ".kimi-code/sessions/wd/"+doneID+"/agents/main/wire.jsonl")
		threadtest.WriteFile(t, string(b), alone, ".kimi-code/sessions/wd/"+doneID+"/state.json")
		threadtest.WriteFile(t, string(b), alone, ".kimi/sessions/h/"+oldID+"/context.jsonl")
		threadtest.CheckThread(t, provider(t, alone), doneID)
		threadtest.CheckThread(t, provider(t, alone), oldID)
	})
}
