package copilot_test

import (
	"slices"
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/copilot"
)

var suite = threadtest.Suite{Driver: copilot.Driver(), Write: home, Lines: true, Big: big}

func TestSuite(t *testing.T)    { threadtest.Run(t, suite) }
func TestStatuses(t *testing.T) { threadtest.CheckStatuses(t, suite) }

func provider(t testing.TB, home string) thread.Provider {
	t.Helper()
	return threadtest.Open(t, copilot.Driver(), home)
}

func TestXurl(t *testing.T) {
	threadtest.Xurl(t, copilot.Driver(), "COPILOT_HOME", map[string]string{
		"mode":              "a thread has its subagents in its head, as for every provider",
		"new-copilot-child": "an unknown subagent is not an error, as for every provider",
	})
}

// TestEpochs adds the totals of several processes: they continue after a resume, or
// start again.
func TestEpochs(t *testing.T) {
	home := t.TempDir()
	s := begin(doneID)
	s.turn("one", 10)
	s.shutdown(obj{"m": total(100, 10, 20, 0, 5)})
	s.turn("two", 20)
	s.shutdown(obj{"m": total(100, 10, 20, 0, 5), "n": total(50, 20, 0, 0, 0)})
	s.turn("three", 30)
	s.shutdown(obj{"n": total(70, 30, 0, 50, 0)})
	s.write(t, home)
	th := threadtest.Load(t, provider(t, home), doneID)
	threadtest.CheckUsage(t, th, thread.Tokens{Input: 80 + 50 + 20, Output: 60, CacheRead: 20, CacheWrite: 50,
		Reasoning: 5, Calls: 3}, thread.Exact, "")
}

// TestRewound has a total that is less than the sum of the answers.
func TestRewound(t *testing.T) {
	home := t.TempDir()
	s := begin(doneID)
	s.turn("one", 10)
	s.turn("two", 20)
	s.shutdown(obj{"m": total(100, 20, 0, 0, 0)})
	s.write(t, home)
	th := threadtest.Load(t, provider(t, home), doneID)
	threadtest.CheckUsage(t, th, thread.Tokens{Input: 100, Output: 30, Calls: 2}, thread.LowerBound,
		"less than the sum of its answers")
}

// TestShellID opens a subagent by the ID that its shells have.
func TestShellID(t *testing.T) {
	const shell = "5daa0bc7-5967-4125-8f70-45c7f3a6fc55"
	home := t.TempDir()
	s := begin(doneID)
	s.agent = agentID
	s.add("subagent.started", obj{"toolCallId": "call1", "agentName": "task"})
	for _, agent := range []string{"", agentID, agentID} {
		source := shell
		if s.agent = agent; agent == "" {
			source = doneID
		}
		s.add("session.usage_record", obj{"usage": obj{"model": "m", "accounting": obj{"sourceSessionId": source}}})
	}
	s.write(t, home)
	set := thread.NewSet([]thread.Driver{copilot.Driver()}, func(string) string { return "" }, home)
	v, err := set.Open(t.Context(), thread.URI{Provider: "copilot", Thread: doneID, Agent: shell})
	if err != nil || v.Agent == nil || v.Agent.ID != agentID || !slices.Equal(v.Agent.Aliases, []string{"call1", shell}) {
		t.Errorf("got %+v, %v, want the subagent %s", v, err, agentID)
	}
	for _, id := range []string{shell, agentID} { // without its session, as records of its shells name it
		v, err := set.Open(t.Context(), thread.URI{Provider: "copilot", Thread: id})
		if err != nil || v.Thread.ID != agentID || v.Thread.Parent != doneID || !v.Thread.Subagent {
			t.Errorf("%s: got %+v, %v, want the subagent %s", id, v, err, agentID)
		}
	}
}

// TestSeveralThreads reads a file with another session after the first.
func TestSeveralThreads(t *testing.T) {
	home := t.TempDir()
	s := begin(doneID)
	s.turn("one", 10)
	s.lines = append(s.lines, begin(openID).lines...)
	s.turn("two", 20)
	s.write(t, home)
	p := provider(t, home)
	if said := threadtest.CheckThread(t, p, doneID); len(said) != 2 {
		t.Errorf("got %q, want the messages of the first session", said)
	}
	if th := threadtest.Load(t, p, doneID); len(th.Warnings) != 1 {
		t.Errorf("got warnings %q, want one", th.Warnings)
	}
}

// FuzzEvents reads any bytes as a session.
func FuzzEvents(f *testing.F) {
	dir := f.TempDir()
	home(f, dir)
	threadtest.AddSeeds(f, dir, "*.jsonl")
	alone := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		threadtest.WriteFile(t, string(b), alone, ".copilot/session-state", doneID, "events.jsonl")
		threadtest.CheckThread(t, provider(t, alone), doneID)
	})
}

// TestModels has answers that name no model, which other events name.
func TestModels(t *testing.T) {
	for name, events := range map[string]func(*script){
		"the change before": func(s *script) {
			s.add("session.model_change", obj{"newModel": "auto"})
			s.add("session.model_change", obj{"newModel": "m"})
			s.answer("one", 10)
		},
		"the call after": func(s *script) {
			s.answer("one", 10)
			s.add("tool.execution_complete", obj{"toolCallId": "c", "model": "m", "success": true})
		},
		"the end": func(s *script) {
			s.answer("one", 10)
			s.shutdown(obj{"m": total(0, 10, 0, 0, 0)})
		},
	} {
		home := t.TempDir()
		s := begin(doneID)
		s.model = ""
		s.user("go")
		events(s)
		s.write(t, home)
		th := threadtest.Load(t, provider(t, home), doneID)
		if models := th.Usage.Models; len(models) != 1 || models[0].Model != "m" || len(th.Requests) != 1 ||
			th.Requests[0].Model != "m" {
			t.Errorf("%s: got %+v, %+v, want one request of m", name, models, th.Requests)
		}
	}
}

// TestTaskComplete has a task that completed before the tool was closed.
func TestTaskComplete(t *testing.T) {
	home := t.TempDir()
	s := begin(doneID)
	s.user("go")
	s.start()
	s.answer("Done.", 10, task("c", "task_complete"))
	s.call("c", "task_complete")
	s.result("c", "ok", 0)
	s.add("session.task_complete", obj{"success": true, "summary": "Done."})
	s.end()
	s.shutdown(obj{})
	s.write(t, home)
	if th := threadtest.Load(t, provider(t, home), doneID); th.State.Status != thread.Completed {
		t.Errorf("got %+v, want completed", th.State)
	}
}

// TestStore has sessions whose events record no request: the requests are in session-store.db.
func TestStore(t *testing.T) {
	const before = "only their output tokens"
	row := func(model string, agent any, in, out, read int) []any {
		return []any{doneID, model, in, out, read, 5, 1, agent}
	}
	for name, tt := range map[string]struct {
		id     string
		model  string // that answers name
		agent  string // the name of the column of agents; "" without a store
		rows   [][]any
		want   thread.Tokens
		reason string
	}{
		"all requests": {doneID, "", "agent_id", [][]any{row("m", nil, 100, 10, 40), row("m", nil, 50, 20, 0),
			row("m", agentID, 9, 7, 0), {openID, "m", 1, 10, 0, 0, 0, nil}},
			thread.Tokens{Input: 100, Output: 30, CacheRead: 40, CacheWrite: 10, Reasoning: 2, Calls: 2}, ""},
		"a request without an answer": {doneID, "m", "agent_id", [][]any{row("m", nil, 100, 10, 40),
			row("m", nil, 50, 20, 0), row("n", nil, 5, 2, 0)},
			thread.Tokens{Input: 100, Output: 32, CacheRead: 40, CacheWrite: 15, Reasoning: 3, Calls: 3}, ""},
		"an answer is missing": {doneID, "m", "agent_id", [][]any{row("m", nil, 100, 10, 40)},
			thread.Tokens{Output: 30, Calls: 2}, before},
		"no store": {doneID, "m", "", nil, thread.Tokens{Output: 30, Calls: 2}, before},
		"agents are not told": {doneID, "m", "kind", [][]any{row("m", nil, 100, 30, 40), row("m", nil, 50, 20, 0)},
			thread.Tokens{Output: 30, Calls: 2}, before},
		"more cached than input": {doneID, "m", "agent_id", [][]any{row("m", nil, 5, 30, 40), row("m", nil, 50, 0, 0)},
			thread.Tokens{Input: 45, Output: 30, CacheRead: 40, CacheWrite: 10, Reasoning: 2, Calls: 2}, "lack a member"},
		"requests of a subagent": {agentID, "m", "agent_id", [][]any{row("m", agentID, 9, 7, 0)},
			thread.Tokens{Input: 4, Output: 7, CacheWrite: 5, Reasoning: 1, Calls: 1}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			s := begin(doneID)
			s.model = tt.model
			s.turn("one", 10)
			s.turn("two", 20)
			s.agent = agentID
			s.add("subagent.started", obj{"toolCallId": "c", "agentName": "task"})
			s.answer("three", 7)
			s.write(t, home)
			if tt.agent != "" {
				threadtest.WriteDatabase(t, func(exec func(string, ...any)) {
					exec("CREATE TABLE assistant_usage_events(id INTEGER PRIMARY KEY, session_id, model, " +
						"input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, " + tt.agent + ")")
					for _, row := range tt.rows {
						exec("INSERT INTO assistant_usage_events VALUES(NULL, ?, ?, ?, ?, ?, ?, ?, ?)", row...)
					}
				}, home, ".copilot", "session-store.db")
			}
			want := thread.LowerBound
			if tt.reason == "" {
				want = thread.Exact
			}
			threadtest.CheckUsage(t, threadtest.Load(t, provider(t, home), tt.id), tt.want, want, tt.reason)
		})
	}
}
