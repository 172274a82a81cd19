package droid_test

import (
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/droid"
)

var suite = threadtest.Suite{Driver: droid.Driver(), Write: home, Lines: true, Big: big}

func TestSuite(t *testing.T)    { threadtest.Run(t, suite) }
func TestStatuses(t *testing.T) { threadtest.CheckStatuses(t, suite) }

func provider(t testing.TB, home string) thread.Provider {
	t.Helper()
	return threadtest.Open(t, droid.Driver(), home)
}

// TestRealThreads reads published sessions of the session store, which are invented.
// Those of another format, the output of a run, are not in the store.
func TestRealThreads(t *testing.T) {
	for name, messages := range map[string]int{"small": 1, "large": 5, "schema_drift": 2} {
		home := t.TempDir()
		threadtest.WriteFile(t, threadtest.ReadFile(t,
			threadtest.Transcripts(t, "droid", "jazzyalex+agent-sessions", "session_store_"+name+".jsonl")), home,
			".factory/sessions/p", doneID+".jsonl")
		if said := threadtest.CheckThread(t, provider(t, home), doneID); len(said) != messages {
			t.Errorf("%s: got %q, want %d messages", name, said, messages)
		}
	}
}

// TestRealClients compares the threads of a real client with what the server sent.
func TestRealClients(t *testing.T) {
	home, l := threadtest.Client(t, "droid-0.215.0")
	threadtest.CheckUnchanged(t, home)
	p := provider(t, home)
	threadtest.CheckLedger(t, p, l, "5a2f7bd9-7e61-4aa9-b36d-e50ce72df79c", thread.Completed, []int{1, 5, 9, 13}, nil)
	hello := threadtest.Load(t, p, "19de857c-39d3-4526-87bf-6e4b2a11b092")
	threadtest.CheckUsage(t, hello, thread.Tokens{Input: 3, Output: 2, Calls: 1}, thread.LowerBound,
		"only the total of the session")
	if th := threadtest.Load(t, p, "1956c1b5-923c-4fce-8b11-26beaf239a56"); th.State.Status != thread.PendingInit ||
		th.Usage.Completeness != thread.NoUsage {
		t.Errorf("got %+v", th.Facts)
	}
	for th, err := range p.Threads(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		threadtest.CheckTruncated(t, droid.Driver(), home, th)
	}
}

// FuzzSession reads any bytes as a session, and as its settings.
func FuzzSession(f *testing.F) {
	dir := f.TempDir()
	home(f, dir)
	threadtest.AddSeeds(f, dir, "*.json*")
	alone := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		threadtest.WriteFile(t, string(b), alone, ".factory/sessions/p", doneID+".jsonl")
		threadtest.WriteFile(t, string(b), alone, ".factory/sessions/p", doneID+".settings.json")
		threadtest.CheckThread(t, provider(t, alone), doneID)
	})
}
