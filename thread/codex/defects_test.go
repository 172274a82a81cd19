package codex_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/codex"
)

const rolloutFile = "sessions/2026/02/22/rollout-2026-02-22T20-48-50-" + parentID + ".jsonl"

// load reads a rollout and its subagents.
func load(t *testing.T, name, body string) (*thread.Thread, []thread.Agent) {
	t.Helper()
	home := t.TempDir()
	put(t, home, name, body)
	p := threadtest.Open(t, codex.Driver(), home)
	th := threadtest.Load(t, p, parentID)
	agents, err := p.Agents(t.Context(), th)
	if err != nil {
		t.Fatal(err)
	}
	return th, agents
}

// TestNotFound checks the status of a subagent that a later call did not find.
func TestNotFound(t *testing.T) {
	wait := func(s *script, status any) *script {
		return s.call("w", "wait", obj{"ids": []string{doneID}}, obj{"status": obj{doneID: status}})
	}
	spawn := func() *script {
		return start("2026-02-22T20:48:50Z").meta(parentID, nil).begin("t1").user("go").call("s", "spawn_agent", obj{},
			obj{"agent_id": doneID})
	}
	for name, tt := range map[string]struct {
		script *script
		want   thread.Status
		by     string
	}{
		"before it started":      {wait(spawn(), "not_found"), thread.NotFound, "wait, line 9"},
		"while it was running":   {wait(wait(spawn(), "running"), "not_found"), thread.NotFound, "wait, line 11"},
		"after it had completed": {wait(wait(spawn(), obj{"completed": "x"}), "not_found"), thread.Completed, "wait, line 9"},
	} {
		_, agents := load(t, rolloutFile, tt.script.String())
		if len(agents) != 1 || agents[0].State.Status != tt.want || !strings.HasPrefix(agents[0].State.Evidence, tt.by) {
			t.Errorf("%s: got %+v, want %s by %s", name, agents, tt.want, tt.by)
		}
	}
}

// TestFailedTurn checks the status after a turn that ended with an error, which newer
// versions record only in the end of the turn.
func TestFailedTurn(t *testing.T) {
	failed := func() *script {
		return start("2026-02-22T20:48:50Z").meta(parentID, nil).begin("t1").user("go").
			event("task_complete", obj{"turn_id": "t1", "last_agent_message": nil,
				"error": obj{"message": "the request was refused", "codex_error_info": "other"}})
	}
	for name, tt := range map[string]struct {
		script   *script
		want     thread.Status
		evidence string
	}{
		"the last turn": {failed(), thread.Errored, "task_complete: error: the request was refused, line 6"},
		"an earlier turn": {failed().begin("t2").agent("done").end("t2", "done"), thread.Completed,
			"task_complete, line 11"},
		"a turn without an error": {start("2026-02-22T20:48:50Z").meta(parentID, nil).begin("t1").event("task_complete",
			obj{"error": nil}), thread.Completed, "task_complete, line 4"},
		"a prompt after the end": {failed().begin("t2").end("t2", "done").user("again"), thread.Running,
			"a prompt follows the end of a turn, line 10"},
		"a call after the end": {failed().begin("t2").end("t2", "done").call("c", "shell", obj{}, nil), thread.Running,
			"a call follows the end of a turn, line 10"},
		"an error after the last words": {start("2026-02-22T20:48:50Z").meta(parentID, nil).begin("t1").event("task_complete",
			obj{"last_agent_message": "I start.", "error": obj{}}), thread.Errored,
			"task_complete: error: no reason given, line 4"},
	} {
		th, _ := load(t, rolloutFile, tt.script.String())
		if th.State.Status != tt.want || th.State.Evidence != tt.evidence {
			t.Errorf("%s: got %+v, want %s by %q", name, th.State, tt.want, tt.evidence)
		}
	}
}

// TestFailedAgent has a subagent whose error is far before the end of its turn.
func TestFailedAgent(t *testing.T) {
	home := t.TempDir()
	child := start("2026-02-22T20:48:50Z").meta(doneID, spawned(parentID)).begin("t1").
		event("error", obj{"message": "no connection"})
	for range 40 {
		child.event("agent_reasoning", obj{"text": strings.Repeat("hm ", 1000)})
	}
	child.event("task_complete", obj{"turn_id": "t1", "last_agent_message": nil})
	put(t, home, rolloutFile, start("2026-02-22T20:48:50Z").meta(parentID, nil).begin("t1").user("go").
		call("s", "spawn_agent", obj{}, obj{"agent_id": doneID}).String())
	put(t, home, "sessions/2026/02/22/rollout-2026-02-22T20-48-52-"+doneID+".jsonl", child.String())
	p := threadtest.Open(t, codex.Driver(), home)
	agents, err := p.Agents(t.Context(), threadtest.Load(t, p, parentID))
	own := threadtest.Load(t, p, doneID).State
	if err != nil || len(agents) != 1 || agents[0].State.Status != thread.Errored || own.Status != thread.Errored {
		t.Errorf("got %+v at the parent, and %+v: %v", agents, own, err)
	}
}

// TestEventTimes checks that a status has the time of the result that contains it,
// not that of the call.
func TestEventTimes(t *testing.T) {
	s := start("2026-02-22T20:48:50Z").meta(parentID, nil).begin("t1").user("go").call("s", "spawn_agent", obj{},
		obj{"agent_id": doneID})
	s.call("w", "wait_agent", obj{"targets": []string{doneID}}, nil)
	s.at = s.at.Add(time.Minute)
	s.add("response_item", obj{"type": "function_call_output", "call_id": "w",
		"output": `{"status":{"` + doneID + `":{"completed":"x"}}}`})
	s.call("c", "close_agent", obj{"target": doneID}, nil)
	s.at = s.at.Add(time.Minute)
	s.add("response_item", obj{"type": "function_call_output", "call_id": "c", "output": `{"status":"completed"}`})
	_, agents := load(t, rolloutFile, s.String())
	if len(agents) != 1 {
		t.Fatalf("got %+v", agents)
	}
	var got []string
	for _, e := range agents[0].Lifecycle {
		got = append(got, e.Time.Format("15:04:05 ")+e.Name)
	}
	if want := []string{"20:48:56 spawn_agent", "20:49:59 wait_agent", "20:51:01 close_agent"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestOnlyCalls reads a thread whose calls returned, and which has no message and
// no record of a turn.
func TestOnlyCalls(t *testing.T) {
	th, _ := load(t, rolloutFile, start("2026-02-22T20:48:50Z").meta(parentID, nil).call("s", "spawn_agent", obj{},
		obj{"agent_id": doneID}).String())
	if th.State.Status != thread.Running || th.State.Source != thread.Inferred {
		t.Errorf("got %+v, want running, inferred", th.State)
	}
}

// TestByteOrderMark reads the first record of a rollout that an editor saved.
func TestByteOrderMark(t *testing.T) {
	th, _ := load(t, rolloutFile, "\xef\xbb\xbf"+
		start("2026-02-22T20:48:50Z").meta(parentID, nil).begin("t1").user("go").String())
	if th.Cwd != "/home/u/project" || th.Version == "" || th.BadLines > 0 {
		t.Errorf("got %+v", th)
	}
}

// TestModels lists the models of all answers, also of those without usage.
func TestModels(t *testing.T) {
	s := start("2026-02-22T20:48:50Z").meta(parentID, nil).begin("t1").agent("one").end("t1", "one")
	s.event("task_started", obj{"turn_id": "t2"}).add("turn_context", obj{"turn_id": "t2", "model": "gpt-6"}).agent("two").
		count(1, 0, 1, 0).end("t2", "two")
	th, _ := load(t, rolloutFile, s.String())
	var names []string
	for _, m := range th.Usage.Models {
		names = append(names, m.Model)
	}
	if !slices.Equal(names, []string{"gpt-5", "gpt-6"}) || th.Usage.Completeness != thread.LowerBound {
		t.Errorf("got models %q, %s", names, th.Usage.Completeness)
	}
}

// TestBomb reads a small file that decompresses to a very large one.
func TestBomb(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, ".codex", rolloutFile+".zst")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	enc, err := zstd.NewWriter(f)
	if err != nil {
		t.Fatal(err)
	}
	enc.Write([]byte(start("2026-02-22T20:48:50Z").meta(parentID, nil).begin("t1").user("go").agent("done").count(1, 0, 1,
		0).end("t1", "done").String()))
	zeros := make([]byte, 1<<20)
	for range 256 {
		enc.Write(zeros)
	}
	if enc.Close() != nil || f.Close() != nil {
		t.Fatal("not written")
	}
	th := threadtest.Load(t, threadtest.Open(t, codex.Driver(), home), parentID)
	if !strings.Contains(strings.Join(th.Warnings, "\n"), "decompressed size") || th.State.Status != thread.Running ||
		th.Usage.Completeness != thread.LowerBound || th.Usage.Input != 1 {
		t.Errorf("got %+v", th.Facts)
	}
}
