package droid_test

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
	childID = "019f0000-0000-7000-8000-000000000002"
	openID  = "019f0000-0000-7000-8000-000000000003"
	failID  = "019f0000-0000-7000-8000-000000000004"
)

type obj = map[string]any

// A script writes a session, with one record per second.
type script struct {
	id    string
	lines []string
	at    time.Time
}

func begin(id string, more obj) *script {
	s := &script{id: id, at: time.Date(2026, 8, 17, 12, 0, 0, 0, time.UTC)}
	start := obj{"type": "session_start", "id": id, "title": "A title", "cwd": "/home/u/project", "version": 2}
	for k, v := range more {
		start[k] = v
	}
	s.put(start)
	return s
}

func (s *script) put(record obj) {
	b, err := handoff.EncodeJSON(record)
	if err != nil {
		panic(err)
	}
	s.lines = append(s.lines, strings.TrimSpace(string(b)))
}

func (s *script) message(role string, content ...obj) {
	s.at = s.at.Add(time.Second)
	s.put(obj{"type": "message", "id": fmt.Sprintf("m%d", len(s.lines)), "timestamp": s.at,
		"message": obj{"role": role, "content": content, "modelId": "m"}})
}

func text(s string) obj { return obj{"type": "text", "text": s} }
func use(id, tool string) obj {
	return obj{"type": "tool_use", "id": id, "name": tool, "input": obj{"a": 1}}
}

func result(id, text string, failed bool) obj {
	return obj{"type": "tool_result", "tool_use_id": id, "content": text, "is_error": failed}
}

func (s *script) end(reason string) { s.put(obj{"type": "agent_turn_outcome", "reason": reason}) }

func (s *script) write(t testing.TB, home string, tokens int) {
	t.Helper()
	dir := ".factory/sessions/-home-u-project"
	threadtest.WriteFile(t, strings.Join(s.lines, "\n")+"\n", home, dir, s.id+".jsonl")
	if tokens > 0 {
		usage := fmt.Sprintf(
			`{"model":"m","tokenUsage":{"inputTokens":%d,"outputTokens":%d,"cacheCreationTokens":3,"cacheReadTokens":4,"thinkingTokens":1},"inclusiveTokenUsage":{"inputTokens":9999}}`, tokens, tokens)
		threadtest.WriteFile(t, usage, home, dir, s.id+".settings.json")
	}
}

// home writes a home directory with threads of every kind.
func home(t testing.TB, dir string) []threadtest.Thread {
	s := begin(doneID, nil)
	s.message("user", text("<system-reminder>\nx\n</system-reminder>"))
	s.message("user", text("<system-reminder>\nx\n</system-reminder>\n\ndesign it"))
	s.message("assistant", obj{"type": "thinking", "thinking": "Hm."}, text("I ask."), use("task1", "Task"),
		use("c", "Execute"))
	s.message("user", result("task1", "Fine.", false), result("c", "no such file", true))
	s.put(obj{"type": "compaction_state", "timestamp": s.at, "summaryText": "They designed it."})
	s.message("assistant", text("All done?"))
	s.end("completed")
	s.write(t, dir, 100)

	s = begin(childID, obj{"callingSessionId": doneID, "callingToolUseId": "task1"})
	s.message("user", text("review it"))
	s.message("assistant", text("Fine."))
	s.end("completed")
	s.write(t, dir, 10)

	s = begin(openID, nil)
	s.message("user", text("ask me"))
	s.message("assistant", use("q", "AskUser"))
	s.write(t, dir, 0)

	s = begin(failID, nil)
	s.message("user", text("one"))
	s.end("error")
	s.write(t, dir, 0)

	usage := func(n int64, calls int) thread.Tokens {
		return thread.Tokens{Input: n, Output: n, CacheWrite: 3, CacheRead: 4, Reasoning: 1, Calls: calls}
	}
	return []threadtest.Thread{
		{
			ID: doneID, Status: thread.Completed, Source: thread.Child, Messages: []string{
				"user: design it", "assistant: I ask.", "compaction: They designed it.", "assistant: All done?"},
			Calls: []string{"Task: Fine.", "Execute: no such file"}, Usage: usage(100, 2), Complete: thread.LowerBound,
			Agents: []threadtest.Agent{{ID: childID, Status: thread.Completed, Source: thread.Child, Last: "Fine."}},
		},
		{ID: childID, Parent: doneID, Status: thread.Completed, Source: thread.Child,
			Messages: []string{"user: review it", "assistant: Fine."}, Usage: usage(10, 1), Complete: thread.LowerBound},
		{ID: openID, Status: thread.Running, Source: thread.Child, Messages: []string{"user: ask me"},
			Calls: []string{"AskUser: "}, Complete: thread.NoUsage},
		{ID: failID, Status: thread.Errored, Source: thread.Child, Messages: []string{"user: one"}, Complete: thread.NoUsage},
	}
}

// big writes a session of at least size bytes.
func big(t testing.TB, home string, size int64) string {
	s := begin(doneID, nil)
	s.message("user", text(strings.Repeat("word ", 4<<10)))
	s.message("assistant", text("ok"))
	turn := strings.Join(s.lines[1:], "\n") + "\n"
	threadtest.WriteFile(t, s.lines[0]+"\n"+strings.Repeat(turn, int(size)/len(turn)+1), home, ".factory/sessions/p",
		doneID+".jsonl")
	return doneID
}
