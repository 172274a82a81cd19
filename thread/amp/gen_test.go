package amp_test

import (
	"encoding/json"
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
)

// The IDs of the threads that home writes.
const (
	mainID  = "T-019ca1ce-3ae2-7686-a41e-000000000001"
	doneID  = "T-019ca1cf-3ae2-7686-a41e-000000000002"
	waitID  = "T-019ca1d0-3ae2-7686-a41e-000000000003"
	awayID  = "T-019ca1d1-3ae2-7686-a41e-000000000004" // on the server only
	plainID = "T-019ca1d2-3ae2-7686-a41e-000000000005" // of a version that says little
	emptyID = "T-019ca1d3-3ae2-7686-a41e-000000000006"
	stopID  = "T-019ca1d4-3ae2-7686-a41e-000000000007"
)

type obj = map[string]any

const createdAt = 1772241173221

func text(s string) obj    { return obj{"type": "text", "text": s} }
func thought(s string) obj { return obj{"type": "thinking", "thinking": s, "signature": "x"} }
func use(id, name string) obj {
	return obj{"type": "tool_use", "id": id, "name": name, "input": obj{"path": "a"}, "complete": true}
}

func result(id, status string, v any) obj {
	return obj{"type": "tool_result", "toolUseID": id, "run": obj{"status": status, "result": v}}
}

func user(n int, content ...obj) obj {
	return obj{"role": "user", "messageId": n, "content": content, "meta": obj{"sentAt": createdAt + 1000*n}}
}

func agent(n int, kind, stop string, content ...obj) obj {
	return obj{
		"role": "assistant", "messageId": n, "content": content, "state": obj{"type": kind, "stopReason": stop},
		"usage": obj{"model": "model-1", "inputTokens": 3, "outputTokens": 20, "cacheCreationInputTokens": 50,
			"cacheReadInputTokens": 100, "totalInputTokens": 153, "timestamp": "2026-02-28T01:13:27.454Z"},
	}
}

func handedOff(role, id string) obj {
	r := obj{"type": "handoff", "threadID": id, "timestamp": "2026-02-28T01:13:00Z"}
	if role != "" {
		r["role"] = role
	}
	return r
}

func put(t testing.TB, home, id string, doc obj) {
	t.Helper()
	doc["id"], doc["v"], doc["created"] = id, 7, createdAt
	b, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	threadtest.WriteFile(t, string(b), home, ".local/share/amp/threads", id+".json")
}

func tokens(n int64) thread.Tokens {
	return thread.Tokens{Input: 3 * n, Output: 20 * n, CacheWrite: 50 * n, CacheRead: 100 * n, Calls: int(n)}
}

// home writes a home directory with threads of every kind.
func home(t testing.TB, dir string) []threadtest.Thread {
	put(t, dir, mainID, obj{
		"title": "A title", "env": obj{"initial": obj{
			"trees": []obj{{"uri": "file:///home/u/project",
				"repository": obj{"url": "https://example.com/r", "ref": "refs/heads/main", "sha": "6be354d8"}}}}},
		"messages": []obj{
			user(0, text("look into it")), agent(1, "complete", "tool_use", text("\n"), thought("Hm."), text("Let me look."),
				use("a", "Read"), use("b", "Bash")),
			user(2, result("a", "done", obj{"content": "1: x"}), result("b", "error", "no such file")), agent(3, "complete",
				"tool_use", use("c", "Read")),
			user(4, result("c", "done", "2: y")), agent(5, "complete", "end_turn", text("Handed off.")),
		},
		"relationships": []obj{handedOff("parent", doneID), handedOff("", waitID), handedOff("parent", awayID),
			handedOff("", mainID), {"type": "mention", "threadID": plainID}},
		"~debug": obj{"lastInferenceUsage": obj{"inputTokens": 1000}},
	})
	put(t, dir, doneID, obj{"messages": []obj{user(0, text("go on")), agent(1, "complete", "end_turn", text("done"))},
		"relationships": []obj{handedOff("child", mainID)}})
	put(t, dir, waitID, obj{
		"messages": []obj{user(0, text("delete it")), agent(1, "complete", "tool_use", use("a", "Bash")),
			user(2, result("a", "blocked-on-user", nil))},
		"relationships": []obj{handedOff("child", mainID)},
	})
	put(t, dir, plainID,
		obj{"messages": []obj{{"role": "user", "content": "hello"}, {"role": "assistant", "content": []obj{text("world")}}}})
	put(t, dir, emptyID, obj{"messages": []obj{}})
	put(t, dir, stopID, obj{"messages": []obj{user(0, text("an essay")), agent(1, "cancelled", "", text("It was"))}})

	return []threadtest.Thread{
		{
			ID: mainID, Status: thread.Completed, Source: thread.Child, Messages: []string{
				"user: look into it", "assistant: Hm.\n\nLet me look.", "assistant: Handed off."},
			Calls: []string{`Read: {"content":"1: x"}`, "Bash: no such file", "Read: 2: y"}, Usage: tokens(3),
			Complete: thread.LowerBound,
			Agents: []threadtest.Agent{
				{ID: doneID, Status: thread.Completed, Source: thread.Child, Last: "done"},
				{ID: waitID, Status: thread.Running, Source: thread.Child, Last: "delete it"},
				{ID: awayID, Status: thread.NotFound, Source: thread.Inferred},
			},
		},
		{ID: doneID, Parent: mainID, Status: thread.Completed, Source: thread.Child,
			Messages: []string{"user: go on", "assistant: done"}, Usage: tokens(1), Complete: thread.LowerBound},
		{ID: waitID, Parent: mainID, Status: thread.Running, Source: thread.Child, Messages: []string{"user: delete it"},
			Calls: []string{"Bash: "}, Usage: tokens(1), Complete: thread.LowerBound},
		{ID: plainID, Status: thread.Completed, Source: thread.Inferred,
			Messages: []string{"user: hello", "assistant: world"}, Complete: thread.NoUsage},
		{ID: emptyID, Status: thread.PendingInit, Source: thread.Inferred, Complete: thread.NoUsage},
		{ID: stopID, Status: thread.Errored, Source: thread.Child, Messages: []string{"user: an essay", "assistant: It was"},
			Usage: tokens(1), Complete: thread.LowerBound},
	}
}
