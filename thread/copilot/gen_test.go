package copilot_test

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
	openID  = "019f0000-0000-7000-8000-000000000002" // waits for a permission
	failID  = "019f0000-0000-7000-8000-000000000003"
	flatID  = "019f0000-0000-7000-8000-000000000004" // a file of an old version
	agentID = "019f0000-0000-7000-8000-00000000000a"
	lostID  = "019f0000-0000-7000-8000-00000000000b"
)

type obj = map[string]any

// A script writes a session, with one event per second.
type script struct {
	id, agent string
	model     string // that answers name
	lines     []string
	at        time.Time
}

func begin(id string) *script {
	s := &script{id: id, model: "m", at: time.Date(2026, 8, 3, 10, 0, 0, 0, time.UTC)}
	s.add("session.start", obj{
		"sessionId": id, "copilotVersion": "1.0.102", "startTime": s.at,
		"context": obj{"cwd": "/home/u/project", "branch": "main", "headCommit": "75d8fc3", "repository": "example/r"},
	})
	return s
}

func (s *script) add(kind string, data obj) {
	s.at = s.at.Add(time.Second)
	event := obj{"type": kind, "data": data, "id": fmt.Sprintf("e%d", len(s.lines)), "timestamp": s.at, "parentId": nil}
	if s.agent != "" {
		event["agentId"] = s.agent
	}
	b, err := handoff.EncodeJSON(event)
	if err != nil {
		panic(err)
	}
	s.lines = append(s.lines, strings.TrimSpace(string(b)))
}

func (s *script) user(text string) {
	s.add("user.message", obj{"content": text, "transformedContent": "<x>" + text})
}

// answer adds an answer with its output tokens, without a record of the request.
func (s *script) answer(text string, output int, calls ...obj) {
	s.add("assistant.message", obj{"messageId": "m" + text, "model": s.model, "content": text, "outputTokens": output,
		"toolRequests": calls})
}

// request adds a record of a request.
func (s *script) request(in, out, read, write int) {
	s.add("session.usage_record", obj{"usage": obj{
		"model": "m", "modelProvider": "p", "inputTokens": in + read + write, "outputTokens": out,
		"cacheReadTokens": read, "cacheWriteTokens": write, "reasoningTokens": 1,
	}})
}

func task(id, tool string) obj {
	return obj{"toolCallId": id, "name": tool, "arguments": obj{"name": "reviewer", "prompt": "review"}}
}

func (s *script) call(id, tool string) {
	s.add("tool.execution_start", obj{"toolCallId": id, "toolName": tool, "arguments": obj{"command": "ls"}})
}

func (s *script) result(id, text string, code int) {
	s.add("tool.execution_complete", obj{"toolCallId": id, "success": true, "shellExecution": obj{"exitCode": code},
		"result": obj{"content": text}})
}

func (s *script) start() { s.add("assistant.turn_start", obj{"turnId": "0"}) }
func (s *script) end()   { s.add("assistant.turn_end", obj{"turnId": "0"}) }

func (s *script) turn(text string, output int) {
	s.user(text)
	s.start()
	s.answer("re: "+text, output)
	s.end()
}

func total(in, out, read, write, reasoning int) obj {
	return obj{"usage": obj{"inputTokens": in, "outputTokens": out, "cacheReadTokens": read, "cacheWriteTokens": write,
		"reasoningTokens": reasoning}}
}

func (s *script) shutdown(models obj) {
	s.add("session.shutdown", obj{"shutdownType": "routine", "modelMetrics": models})
}

func (s *script) write(t testing.TB, home string) {
	t.Helper()
	threadtest.WriteFile(t, strings.Join(s.lines, "\n")+"\n", home, ".copilot/session-state", s.id, "events.jsonl")
}

// home writes a home directory with threads of every kind.
func home(t testing.TB, dir string) []threadtest.Thread {
	s := begin(doneID)
	s.add("system.message", obj{"content": strings.Repeat("You are. ", 100)})
	s.user("design it")
	s.start()
	s.request(100, 40, 2000, 300)
	s.answer("I ask a reviewer.", 0, task("call1", "task"), task("call2", "task"))
	s.call("call1", "task")
	s.agent = agentID
	s.add("subagent.started", obj{"toolCallId": "call1", "agentName": "general-purpose", "agentDisplayName": "General"})
	s.user("review it")
	s.start()
	s.request(50, 20, 500, 25)
	s.answer("I look.", 0, task("c", "bash"))
	s.call("c", "bash")
	s.result("c", "no such file", 2)
	s.end()
	s.start()
	s.request(51, 9, 525, 5)
	s.answer("Fine.", 0)
	s.end()
	s.add("subagent.completed", obj{"toolCallId": "call1", "agentName": "general-purpose", "totalTokens": 1})
	s.agent = ""
	s.result("call1", "Fine.", 0)
	s.call("call2", "task")
	s.agent = lostID
	s.add("subagent.started", obj{"toolCallId": "call2", "agentName": "task", "agentDisplayName": "Task"})
	s.add("subagent.failed", obj{"toolCallId": "call2", "agentName": "task", "error": "no model"})
	s.agent = ""
	s.result("call2", "failed", 0)
	s.end()
	s.start()
	s.request(105, 36, 2430, 63)
	s.add("session.compaction_complete", obj{"success": true, "summaryContent": "They designed it.",
		"compactionTokensUsed": obj{"model": "m", "requestCount": 1, "inputTokens": 7, "outputTokens": 3,
			"cacheReadTokens": 0, "cacheWriteTokens": 0}})
	s.answer("All done?", 0)
	s.end()
	s.write(t, dir)
	threadtest.WriteFile(t, "id: "+doneID+"\nname: 'It''s a title'\n", dir, ".copilot/session-state", doneID,
		"workspace.yaml")

	s = begin(openID)
	s.user("write it")
	s.start()
	s.answer("", 12, task("w", "bash"))
	s.call("w", "bash")
	s.add("permission.requested", obj{"requestId": "r", "permissionRequest": obj{"toolCallId": "w"}})
	s.write(t, dir)

	s = begin(failID)
	s.user("hello")
	s.start()
	s.end()
	s.add("session.error", obj{"errorType": "query", "message": "no connection"})
	s.shutdown(obj{})
	s.write(t, dir)

	s = begin(flatID)
	s.turn("one", 10)
	s.user("two")
	s.start()
	s.shutdown(obj{"m": total(100, 10, 20, 30, 4)})
	threadtest.WriteFile(t, strings.Join(s.lines, "\n")+"\n", dir, ".copilot/session-state", flatID+".jsonl")

	return []threadtest.Thread{
		{
			ID: doneID, Status: thread.Completed, Source: thread.Child,
			Messages: []string{"user: design it", "assistant: I ask a reviewer.", "compaction: They designed it.",
				"assistant: All done?"},
			Calls:    []string{"task: Fine.", "task: failed"},
			Usage:    thread.Tokens{Input: 212, Output: 79, CacheRead: 4430, CacheWrite: 363, Reasoning: 2, Calls: 3},
			Complete: thread.Exact,
			Agents: []threadtest.Agent{
				{ID: agentID, Status: thread.Completed, Source: thread.Parent, Last: "Fine."},
				{ID: lostID, Status: thread.Errored, Source: thread.Parent},
			},
		},
		{ID: openID, Status: thread.Running, Source: thread.Child, Messages: []string{"user: write it"},
			Calls: []string{"bash: "}, Usage: thread.Tokens{Output: 12, Calls: 1}, Complete: thread.LowerBound},
		{ID: failID, Status: thread.Errored, Source: thread.Child,
			Messages: []string{"user: hello", "note: The request failed. no connection"}, Complete: thread.NoUsage},
		{ID: flatID, Status: thread.Errored, Source: thread.Child,
			Messages: []string{"user: one", "assistant: re: one", "user: two"},
			Usage:    thread.Tokens{Input: 50, Output: 10, CacheRead: 20, CacheWrite: 30, Reasoning: 4, Calls: 1},
			Complete: thread.Exact},
	}
}

// big writes a session of at least size bytes.
func big(t testing.TB, home string, size int64) string {
	s := begin(doneID)
	s.turn(strings.Repeat("word ", 4<<10), 1)
	turn := strings.Join(s.lines[1:], "\n") + "\n"
	threadtest.WriteFile(t, s.lines[0]+"\n"+strings.Repeat(turn, int(size)/len(turn)+1), home, ".copilot/session-state",
		doneID, "events.jsonl")
	return doneID
}
