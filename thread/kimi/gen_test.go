package kimi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
)

// The IDs of the threads that home writes.
const (
	doneID = "session_019f0000-0000-7000-8000-000000000001"
	waitID = "session_019f0000-0000-7000-8000-000000000002"
	stopID = "session_019f0000-0000-7000-8000-000000000003" // of a version without turn.ended
	failID = "session_019f0000-0000-7000-8000-000000000004"
	oldID  = "019f0000-0000-7000-8000-000000000005" // of Kimi CLI
)

type obj = map[string]any

// A script writes a journal, with one record per second.
type script struct {
	lines []string
	at    int64
}

func begin() *script {
	s := &script{at: 1_785_000_000_000}
	s.put(obj{"type": "metadata", "protocol_version": "1.5", "created_at": s.at})
	s.add("llm.request", obj{"provider": "p", "model": "model-1", "modelAlias": "m"})
	return s
}

// old returns the metadata of a version without turn.ended.
func old(metadata string) string { return strings.Replace(metadata, `"1.5"`, `"1.4"`, 1) }

func (s *script) put(record obj) {
	b, err := handoff.EncodeJSON(record)
	if err != nil {
		panic(err)
	}
	s.lines = append(s.lines, strings.TrimSpace(string(b)))
}

func (s *script) add(kind string, more obj) {
	s.at += 1000
	record := obj{"type": kind, "time": s.at}
	for k, v := range more {
		record[k] = v
	}
	s.put(record)
}

func (s *script) loop(kind string, more obj) {
	more["type"] = kind
	s.add("context.append_loop_event", obj{"event": more})
}

func (s *script) user(text, origin string) {
	if origin != "injection" {
		s.add("turn.prompt", obj{"input": []obj{{"type": "text", "text": text}}})
	}
	s.add("context.append_message", obj{"message": obj{"role": "user", "content": []obj{{"type": "text", "text": text}},
		"origin": obj{"kind": origin}}})
}

func (s *script) say(text string) {
	s.loop("step.begin", obj{"step": 1})
	s.loop("content.part", obj{"part": obj{"type": "think", "think": "Hm: " + text}})
	s.loop("content.part", obj{"part": obj{"type": "text", "text": text}})
	s.add("agent.message.appended", obj{"message": obj{"message": obj{"role": "assistant", "content": text}}})
}

func (s *script) usage(n int) {
	u := obj{"inputOther": n, "output": 2 * n, "inputCacheRead": 3 * n, "inputCacheCreation": 4 * n}
	s.add("usage.record", obj{"model": "m", "usage": u})
}

func (s *script) end(reason string) {
	s.loop("step.end", obj{"finishReason": reason, "usage": obj{"inputOther": 1}})
}

func (s *script) call(id, tool string) {
	s.loop("tool.call", obj{"toolCallId": id, "name": tool, "args": obj{"a": 1}})
}

func (s *script) result(id, text string, failed bool) {
	s.loop("tool.result", obj{"toolCallId": id, "result": obj{"output": text, "isError": failed}})
}

func (s *script) write(t testing.TB, home, id, agent string) {
	t.Helper()
	threadtest.WriteFile(t, strings.Join(s.lines, "\n")+"\n", home, ".kimi-code/sessions/wd_x_0123", id, "agents", agent,
		"wire.jsonl")
}

func tokens(n int64, calls int) thread.Tokens {
	return thread.Tokens{Input: n, Output: 2 * n, CacheRead: 3 * n, CacheWrite: 4 * n, Calls: calls}
}

// home writes a home directory with threads of every kind.
func home(t testing.TB, dir string) []threadtest.Thread {
	s := begin()
	s.user("design it", "user")
	s.user("<system-reminder>", "injection")
	s.say("I look.")
	s.usage(10)
	s.call("c", "Bash")
	s.result("c", "no such file", true)
	s.call("call1", "Agent")
	s.add("subagent.spawned", obj{"subagentId": "agent-0", "subagentName": "coder", "parentToolCallId": "call1",
		"description": "Review"})
	s.add("subagent.started", obj{"subagentId": "agent-0"})
	s.add("subagent.completed", obj{"subagentId": "agent-0", "usage": obj{"inputOther": 1000}})
	s.result("call1", "status: completed", false)
	s.call("call2", "Agent")
	s.add("subagent.spawned", obj{"subagentId": "agent-9", "subagentName": "plan"})
	s.add("subagent.failed", obj{"subagentId": "agent-9", "error": "no model"})
	s.result("call2", "failed", true)
	s.end("tool_use")
	s.add("full_compaction.begin", obj{"source": "auto"})
	s.add("context.apply_compaction", obj{"summary": "They designed it."})
	s.usage(1)
	s.add("full_compaction.complete", nil)
	s.say("All done?")
	s.usage(5)
	s.end("end_turn")
	s.add("turn.ended", obj{"reason": "completed"})
	s.write(t, dir, doneID, "main")

	s = begin()
	s.user("review it", "system_trigger")
	s.say("Fine.")
	s.usage(7)
	s.end("end_turn")
	s.add("turn.ended", obj{"reason": "completed"})
	s.write(t, dir, doneID, "agent-0")
	threadtest.WriteFile(t,
		fmt.Sprintf(
			`{"id":%q,"title":"A title","cwd":"/home/u/project","agents":{"main":{"type":"main"},"agent-0":{"homedir":"/../../etc","parentAgentId":"main","labels":{"profileName":"coder"}}}}`, doneID),
		dir, ".kimi-code/sessions/wd_x_0123", doneID, "state.json")

	s = begin()
	s.user("ask me", "user")
	s.loop("step.begin", obj{"step": 1})
	s.call("q", "AskUserQuestion")
	s.write(t, dir, waitID, "main")

	s = begin()
	s.lines[0] = old(s.lines[0])
	s.user("one", "user")
	s.say("two")
	s.usage(3)
	s.end("end_turn")
	s.user("stop", "user")
	s.add("turn.cancel", nil)
	s.write(t, dir, stopID, "main")

	s = begin()
	s.user("one", "user")
	s.loop("step.begin", obj{"step": 1})
	s.add("turn.ended", obj{"reason": "failed"})
	s.write(t, dir, failID, "main")

	old := []string{
		`{"role":"_system_prompt","content":"You are."}`, `{"role":"user","content":"hello"}`,
		`{"role":"_usage","token_count":12}`,
		`{"role":"assistant","content":[{"type":"think","think":"Hm."},{"type":"text","text":"I look."}],"tool_calls":[{"id":"t","function":{"name":"Shell","arguments":"{}"}}]}`,
		`{"role":"tool","tool_call_id":"t","content":"x"}`, `{"role":"assistant","content":[{"type":"text","text":"Done."}]}`,
	}
	threadtest.WriteFile(t, strings.Join(old, "\n")+"\n", dir, ".kimi/sessions/0123456789abcdef", oldID, "context.jsonl")

	return []threadtest.Thread{
		{
			ID: doneID, Status: thread.Completed, Source: thread.Child,
			Messages: []string{"user: design it", "assistant: I look.", "compaction: They designed it.", "assistant: All done?"},
			Calls:    []string{"Bash: no such file", "Agent: status: completed", "Agent: failed"}, Usage: tokens(16, 3),
			Complete: thread.Exact,
			Agents: []threadtest.Agent{
				{ID: "agent-0", Status: thread.Completed, Source: thread.Parent, Last: "Fine."},
				{ID: "agent-9", Status: thread.Errored, Source: thread.Parent},
			},
		},
		{ID: waitID, Status: thread.Running, Source: thread.Child, Messages: []string{"user: ask me"},
			Calls: []string{"AskUserQuestion: "}, Complete: thread.NoUsage},
		{ID: stopID, Status: thread.Errored, Source: thread.Child,
			Messages: []string{"user: one", "assistant: two", "user: stop"}, Usage: tokens(3, 1), Complete: thread.Exact},
		{ID: failID, Status: thread.Errored, Source: thread.Child, Messages: []string{"user: one"}, Complete: thread.NoUsage},
		{ID: oldID, Status: thread.Completed, Source: thread.Inferred,
			Messages: []string{"user: hello", "assistant: I look.", "assistant: Done."}, Calls: []string{"Shell: x"},
			Complete: thread.NoUsage},
	}
}

// big writes a session of at least size bytes.
func big(t testing.TB, home string, size int64) string {
	s := begin()
	s.user(strings.Repeat("word ", 4<<10), "user")
	s.say("ok")
	turn := strings.Join(s.lines[1:], "\n") + "\n"
	threadtest.WriteFile(t, s.lines[0]+"\n"+strings.Repeat(turn, int(size)/len(turn)+1), home,
		".kimi-code/sessions/wd_x_0123", doneID, "agents/main/wire.jsonl")
	return doneID
}
