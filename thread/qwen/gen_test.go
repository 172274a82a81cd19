package qwen_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
)

// The IDs of the threads that home writes.
const (
	doneID  = "019f0000-0000-7000-8000-000000000001"
	openID  = "019f0000-0000-7000-8000-000000000002"
	failID  = "019f0000-0000-7000-8000-000000000003"
	agentID = "general-purpose-call1"
)

type obj = map[string]any

// A script writes a chat, with one record per second.
type script struct {
	id, agent string
	lines     []string
	at        time.Time
	n         int
}

func begin(id string) *script {
	return &script{id: id, at: time.Date(2026, 8, 17, 12, 0, 0, 0, time.UTC)}
}

func (s *script) add(kind string, more obj) {
	s.n++
	s.at = s.at.Add(time.Second)
	r := obj{"uuid": fmt.Sprintf("u%d", s.n), "sessionId": s.id, "timestamp": s.at, "type": kind, "cwd": "/home/u/project",
		"version": "0.24.4", "gitBranch": "main"}
	if s.agent != "" {
		r["agentId"], r["agentName"], r["isSidechain"] = s.agent, "general-purpose", true
	}
	for k, v := range more {
		r[k] = v
	}
	b, err := handoff.EncodeJSON(r)
	if err != nil {
		panic(err)
	}
	s.lines = append(s.lines, strings.TrimSpace(string(b)))
}

func text(s string) obj    { return obj{"text": s} }
func thought(s string) obj { return obj{"text": s, "thought": true} }
func call(id, tool string) obj {
	return obj{"functionCall": obj{"id": id, "name": tool, "args": obj{"a": 1}}}
}

func tokens(n int) obj {
	return obj{"promptTokenCount": n, "candidatesTokenCount": n, "cachedContentTokenCount": 10, "totalTokenCount": 2 * n}
}

func (s *script) user(words string) {
	s.add("user", obj{"message": obj{"role": "user", "parts": []obj{text(words)}}})
}

func (s *script) answer(uuid string, usage obj, parts ...obj) {
	more := obj{"uuid": uuid, "model": "m", "message": obj{"role": "model", "parts": parts}}
	if usage != nil {
		more["usageMetadata"] = usage
	}
	s.add("assistant", more)
}

func (s *script) result(id, output, status string, display any) {
	s.add("tool_result", obj{
		"message": obj{"role": "user", "parts": []obj{
			{"functionResponse": obj{"id": id, "response": obj{"output": output}}}}},
		"toolCallResult": obj{"callId": id, "status": status, "resultDisplay": display},
	})
}

func (s *script) system(subtype string, payload obj) {
	s.add("system", obj{"subtype": subtype, "systemPayload": payload})
}

func (s *script) write(t testing.TB, home string) {
	t.Helper()
	path := []string{home, ".qwen/projects/p/chats", s.id + ".jsonl"}
	if s.agent != "" {
		path = []string{home, ".qwen/projects/p/subagents", s.id, "agent-" + s.agent + ".jsonl"}
	}
	threadtest.WriteFile(t, strings.Join(s.lines, "\n")+"\n", path...)
}

// home writes a home directory with threads of every kind.
func home(t testing.TB, dir string) []threadtest.Thread {
	s := begin(doneID)
	s.add("user", obj{"systemPayload": obj{"displayText": "design it"},
		"message": obj{"role": "user", "parts": []obj{text("design it"), text("<context>")}}})
	s.system("attribution_snapshot", obj{})
	s.system("ui_telemetry", obj{"uiEvent": obj{"event.name": "qwen-code.api_response", "prompt_id": doneID + "########0",
		"input_token_count": 20}})
	s.answer("a1", tokens(20), thought("Hm."), text("I ask."), call("call1", "agent"), call("c", "run_shell_command"))
	s.system("ui_telemetry",
		obj{"uiEvent": obj{"event.name": "qwen-code.api_error", "subagent_id": agentID, "prompt_id": doneID + "#x#0",
			"error_message": "of another"}})
	s.result("call1", "Fine.", "success", obj{"type": "task_execution", "subagentName": "general-purpose",
		"status": "completed", "terminateReason": "GOAL", "executionSummary": obj{"inputTokens": 1000}})
	s.result("c", "no such file", "success", obj{"type": "shell_result", "exitCode": 2})
	s.answer("a2", tokens(30), call("call2", "agent"))
	s.result("call2", "gave up", "success",
		obj{"type": "task_execution", "subagentName": "explore", "status": "failed", "terminateReason": "MAX_TURNS"})
	s.system("chat_compression", obj{"compressedHistory": []obj{}})
	s.answer("a3", tokens(40), text("All done."))
	s.add("user", obj{"subtype": "notification", "message": obj{"role": "user", "parts": []obj{text("A task ended.")}}})
	s.system("custom_title", obj{"customTitle": "A title"})
	s.write(t, dir)

	s = begin(doneID)
	s.agent = agentID
	s.user("review it")
	s.answer("b1", tokens(11), text("I look."))
	s.answer("b2", nil, call("c", "read_file"))
	s.result("c", "x", "success", "x")
	s.answer("b3", tokens(12), text("Fine."))
	s.write(t, dir)
	threadtest.WriteFile(t, `{"agentId":"x","status":"completed"}`, dir, ".qwen/projects/p/subagents", doneID,
		"agent-"+agentID+".meta.json")

	s = begin(openID)
	s.user("ask me")
	s.answer("a", tokens(13), call("q", "ask_user_question"))
	s.write(t, dir)

	s = begin(failID)
	s.user("one")
	s.system("rewind", obj{"targetUuid": "u0"})
	s.user("two")
	s.system("ui_telemetry", obj{"uiEvent": obj{"event.name": "qwen-code.api_error", "prompt_id": failID + "########0",
		"error_message": "400"}})
	s.write(t, dir)

	return []threadtest.Thread{
		{
			ID: doneID, Status: thread.Completed, Source: thread.Inferred,
			Messages: []string{"user: design it", "assistant: I ask.", "compaction: " + thread.DefaultCompactionText,
				"assistant: All done.", "note: A task ended."},
			Calls: []string{"agent: Fine.", "run_shell_command: no such file", "agent: gave up"},
			Usage: thread.Tokens{Input: 60, CacheRead: 30, Output: 90, Calls: 3}, Complete: thread.Exact,
			Agents: []threadtest.Agent{
				{ID: agentID, Status: thread.Completed, Source: thread.Parent, Last: "Fine."},
				{ID: "explore-call2", Status: thread.Errored, Source: thread.Parent},
			},
		},
		{
			ID: agentID, Parent: doneID, Status: thread.Completed, Source: thread.Inferred, Messages: []string{
				"user: review it", "assistant: I look.", "assistant: Fine."},
			Calls: []string{"read_file: x"}, Usage: thread.Tokens{Input: 3, CacheRead: 20, Output: 23, Calls: 2},
			Complete: thread.Exact,
		},
		{ID: openID, Status: thread.Running, Source: thread.Child, Messages: []string{"user: ask me"},
			Calls: []string{"ask_user_question: "}, Usage: thread.Tokens{Input: 3, CacheRead: 10, Output: 13, Calls: 1},
			Complete: thread.Exact},
		{ID: failID, Status: thread.Errored, Source: thread.Child,
			Messages: []string{"user: one", "note: The thread was rewound.", "user: two", "note: The request failed. 400"},
			Complete: thread.NoUsage},
	}
}

// big writes a chat of at least size bytes.
func big(t testing.TB, home string, size int64) string {
	s := begin(doneID)
	s.user(strings.Repeat("word ", 4<<10))
	s.answer("a", tokens(10), text("ok"))
	turn := strings.Join(s.lines, "\n") + "\n"
	threadtest.WriteFile(t, strings.Repeat(turn, int(size)/len(turn)+1), home, ".qwen/projects/p/chats", doneID+".jsonl")
	return doneID
}
