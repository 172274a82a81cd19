package cline_test

import (
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
)

const (
	mainID   = "1795866738216_7mw30"
	helperID = "agent_1795866740909_fio6ic"
)

// message returns a message of a session with parts.
func message(role string, at int64, more obj, parts ...obj) obj {
	m := obj{"id": role, "role": role, "ts": at, "content": parts}
	for k, v := range more {
		m[k] = v
	}
	return m
}

func text(s string) obj { return obj{"type": "text", "text": s} }

// answered are the members of an answer that used tokens, of which 10 were cached.
func answered(input int) obj {
	return obj{"modelInfo": obj{"id": "m", "provider": "p"}, "metrics": obj{"inputTokens": input + 10, "outputTokens": 2,
		"cacheReadTokens": 10, "cacheWriteTokens": 0}}
}

func writeMessages(t testing.TB, home, name string, list ...obj) {
	threadtest.WriteFile(t, encode(obj{"version": 1, "messages": list, "sessionId": mainID}), home, ".cline/data/sessions",
		mainID, name+".messages.json")
}

func writeSession(t testing.TB, home string, more obj) {
	v := obj{"session_id": mainID, "cwd": "/home/u/project", "status": "completed", "started_at": "2026-11-28T11:52:18Z",
		"ended_at": "2026-11-28T11:52:22Z",
		"metadata": obj{"title": "plan", "usage": obj{"inputTokens": 30, "outputTokens": 4}}}
	for k, value := range more {
		v[k] = value
	}
	threadtest.WriteFile(t, encode(v), home, ".cline/data/sessions", mainID, mainID+".json")
}

// sessions writes a session with a subagent.
func sessions(t testing.TB, home string) []threadtest.Thread {
	writeSession(t, home, nil)
	writeMessages(t, home, mainID,
		message("user", 1795866739000, nil, text(`<user_input mode="act">Design it.</user_input>`)),
		message("assistant", 1795866740000, answered(4), text("I run it."),
			obj{"type": "tool_use", "id": "c", "name": "run_commands", "input": obj{"commands": []string{"exit 3"}}}),
		message("user", 1795866741000, nil, obj{"type": "tool_result", "tool_use_id": "c", "content": []obj{
			{"query": "exit 3", "result": "[Command exited with code 3]", "success": false}}}),
		message("assistant", 1795866742000, answered(6), text("Done.")))
	writeMessages(t, home, helperID, message("user", 1795866741000, nil, text("Review it.")),
		message("assistant", 1795866741500, answered(7), text("Reviewed.")))
	return []threadtest.Thread{
		{ID: mainID, Status: thread.Completed, Source: thread.Child, Complete: thread.Exact,
			Usage:    thread.Tokens{Input: 10, Output: 4, CacheRead: 20, Calls: 2},
			Messages: []string{"user: Design it.", "assistant: I run it.", "assistant: Done."},
			Calls:    []string{"run_commands: [Command exited with code 3]"},
			Agents: []threadtest.Agent{{ID: helperID, Status: thread.Completed, Source: thread.Inferred,
				Last: "Reviewed."}}},
		{ID: helperID, Parent: mainID, Status: thread.Completed, Source: thread.Inferred, Complete: thread.Exact,
			Usage:    thread.Tokens{Input: 7, Output: 2, CacheRead: 10, Calls: 1},
			Messages: []string{"user: Review it.", "assistant: Reviewed."}},
	}
}

// TestSessionUsage has a session for each rule of counting usage and of its status.
func TestSessionUsage(t *testing.T) {
	one := thread.Tokens{Input: 4, Output: 2, CacheRead: 10, Calls: 1}
	none := thread.Tokens{}
	metadata := obj{"metadata": obj{"usage": obj{"inputTokens": 14, "outputTokens": 2}}}
	for name, tt := range map[string]struct {
		metadata obj
		answer   obj
		want     thread.Tokens
		complete thread.Completeness
		reason   string
		status   thread.Status
	}{
		"all is recorded": {metadata, answered(4), one, thread.Exact, "", thread.Completed},
		"the sum is more": {nil, answered(4), one, thread.LowerBound, "the session has used more", thread.Completed},
		"an unknown count": {metadata, obj{"metrics": obj{"inputTokens": 14, "outputTokens": 2, "cacheReadTokens": 10,
			"cacheWriteTokens": 0, "audio": 1}}, one, thread.LowerBound, "1 records of usage have numbers", thread.Completed},
		"without usage": {metadata, nil, none, thread.NoUsage, "no usage is recorded", thread.Completed},
		"the session failed": {obj{"status": "failed", "metadata": metadata["metadata"]}, answered(4), one, thread.Exact,
			"", thread.Errored},
		"the session runs": {obj{"status": "running", "metadata": metadata["metadata"]}, answered(4), one, thread.Exact,
			"", thread.Completed},
		"an error is a note": {obj{"status": "failed"}, obj{"metadata": obj{"displayRole": "error"}}, none,
			thread.NoUsage, "no usage is recorded", thread.Errored},
		"the role is not known": {metadata, obj{"role": "renamed", "metrics": answered(4)["metrics"]}, none,
			thread.NoUsage, "no usage is recorded", thread.Running},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			writeSession(t, home, tt.metadata)
			writeMessages(t, home, mainID, message("user", 1795866739000, nil, text("Go.")),
				message("assistant", 1795866740000, tt.answer, text("Done.")))
			th := threadtest.Load(t, provider(t, home), mainID)
			threadtest.CheckUsage(t, th, tt.want, tt.complete, tt.reason)
			if th.State.Status != tt.status {
				t.Errorf("got %+v, want %s", th.State, tt.status)
			}
		})
	}
}

func FuzzSession(f *testing.F) {
	f.Add(`[{"role":"user","content":[{"type":"text","text":"go"}]}]`)
	f.Add(`[{"role":"assistant","content":[{"type":"tool_use","id":"c"}],"metrics":{"inputTokens":1}}]`)
	f.Fuzz(func(t *testing.T, list string) {
		home := t.TempDir()
		threadtest.WriteFile(t, `{"messages":`+list, home, ".cline/data/sessions", mainID, mainID+".messages.json")
		threadtest.CheckThread(t, provider(t, home), mainID)
	})
}
