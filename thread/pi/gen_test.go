package pi_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
)

// The IDs of the threads that home writes.
const (
	treeID    = "019e5c5c-0000-7000-8000-000000000001"
	forkID    = "019e5c5c-0000-7000-8000-000000000002"
	flatID    = "019e5c5c-0000-7000-8000-000000000003" // of version 1, without IDs of entries
	renamedID = "019e5c5c-0000-7000-8000-000000000004" // with a file name that the user chose
	nestID    = "019e5c5c-0000-7000-8000-000000000005" // with subagents in its directory
	scoutID   = "019e5c5c-0000-7000-8000-000000000006"
	deeperID  = "019e5c5c-0000-7000-8000-000000000007"
	runnerID  = "019e5c5c-0000-7000-8000-000000000008" // with subagents as sessions
	ranID     = "019e5c5c-0000-7000-8000-000000000009"
	hintID    = "019e5c5c-0000-7000-8000-00000000000a" // with relations in headers
	hintedID  = "019e5c5c-0000-7000-8000-00000000000b"
	lostID    = "019e5c5c-0000-7000-8000-00000000000c"
	abortedID = "019e5c5c-0000-7000-8000-00000000000d"
	inlineID  = "019e7777-0000-7000-8000-00000000aaaa"
	unbegunID = "019e5c5c-0000-7000-8000-00000000000e"
)

type obj = map[string]any

// A script writes a session, with one entry per second.
type script struct {
	lines []string
	at    time.Time
	last  any // ID of the parent of the next entry
	n     int
	flat  bool
}

func begin(id, at string, more obj) *script {
	t, err := time.Parse(time.RFC3339, at)
	if err != nil {
		panic(err)
	}
	s := &script{at: t}
	h := obj{"id": id, "timestamp": at, "cwd": "/home/u/project", "version": 3}
	for k, v := range more {
		h[k] = v
	}
	b, err := json.Marshal(h)
	if err != nil {
		panic(err)
	}
	s.lines = append(s.lines, `{"type":"session",`+string(b[1:]))
	return s
}

func (s *script) add(kind string, more obj) *script {
	s.at = s.at.Add(time.Second)
	e := obj{"type": kind, "timestamp": s.at.Format("2006-01-02T15:04:05.000Z")}
	if !s.flat {
		s.n++
		id := fmt.Sprintf("%08x", s.n)
		e["id"], e["parentId"] = id, s.last
		s.last = id
	}
	for k, v := range more {
		e[k] = v
	}
	b, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	s.lines = append(s.lines, string(b))
	return s
}

func (s *script) user(text string) *script {
	return s.add("message", obj{"message": obj{"role": "user", "content": []obj{{"type": "text", "text": text}}}})
}

// answer writes an answer that used the input tokens, 2 output tokens, and 10 tokens
// from and to a cache.
func (s *script) answer(stop, text string, input int64, calls ...string) *script {
	content := []obj{{"type": "thinking", "thinking": "hidden"}}
	if text != "" {
		content = append(content, obj{"type": "text", "text": text})
	}
	for _, name := range calls {
		content = append(content, obj{"type": "toolCall", "id": "call-" + name, "name": name, "arguments": obj{"a": 1}})
	}
	return s.add("message", obj{"message": obj{
		"role": "assistant", "content": content, "provider": "openai", "model": "gpt-5", "stopReason": stop,
		"usage": obj{"input": input, "output": 2, "cacheRead": 10, "cacheWrite": 10, "totalTokens": input + 22,
			"cost": obj{"input": 1, "total": 0.25}},
	}})
}

func (s *script) result(name, text string, details obj) *script {
	m := obj{"role": "toolResult", "toolCallId": "call-" + name, "toolName": name,
		"content": []obj{{"type": "text", "text": text}}, "isError": false}
	if details != nil {
		m["details"] = details
	}
	return s.add("message", obj{"message": m})
}

func (s *script) String() string { return strings.Join(s.lines, "\n") + "\n" }

func took(input int64, calls int) thread.Tokens {
	n := int64(calls)
	return thread.Tokens{Input: input, Output: 2 * n, CacheRead: 10 * n, CacheWrite: 10 * n, Calls: calls,
		Cost: 0.25 * float64(calls)}
}

const project = "--home-u-project--/"

func named(at, id string) string {
	return strings.NewReplacer(":", "-", ".", "-").Replace(at) + "_" + id + ".jsonl"
}

func put(t testing.TB, home, name, body string) string {
	t.Helper()
	path := filepath.Join(home, ".pi/agent/sessions", filepath.FromSlash(name))
	threadtest.WriteFile(t, body, path)
	return path
}

// home writes a home directory with threads of every kind.
func home(t testing.TB, dir string) []threadtest.Thread {
	all := trees(t, dir)
	all = append(all, nested(t, dir)...)
	all = append(all, run(t, dir)...)
	all = append(all, inlined(t, dir)...)
	return append(all, hinted(t, dir)...)
}

// trees writes a session with branches, a fork of it, one of version 1, and one with a
// file name that the user chose.
func trees(t testing.TB, dir string) []threadtest.Thread {
	const at = "2026-05-24T23:39:56Z"
	s := begin(treeID, at, nil).add("model_change", obj{"provider": "openai", "modelId": "gpt-5"}).
		user("one").answer("toolUse", "", 100, "read", "grep").result("read", "text", nil).result("grep", "line",
		nil).answer("stop", "First.", 200)
	from := s.last
	s.user("wrong way").answer("stop", "Lost.", 300)
	s.last = from
	s.add("branch_summary", obj{"fromId": "x", "summary": "a way that was wrong"}).user("two")
	s.add("custom_message", obj{"customType": "x", "content": "a hint", "display": true}).add("custom",
		obj{"customType": "y", "data": 1})
	s.add("compaction", obj{"summary": "what was said", "tokensBefore": 5}).answer("stop", "Second. And now?",
		400).add("session_info", obj{"name": "a name"})
	path := put(t, dir, project+named(at, treeID), s.String())

	const later = "2026-05-25T00:39:56Z"
	fork := begin(forkID, later, obj{"parentSession": path})
	fork.at = fork.at.Add(-time.Hour)
	fork.user("one").answer("stop", "First.", 100)
	fork.at = fork.at.Add(time.Hour)
	put(t, dir, project+named(later, forkID),
		fork.user("other").answer("error", "", 0).answer("stop", "Other.", 50).String())

	flat := begin(flatID, "2025-11-01T10:00:00Z", obj{"version": nil, "provider": "openai"})
	flat.flat = true
	put(t, dir, project+named("2025-11-01T10:00:00Z", flatID), flat.user("hello").answer("stop", "world", 1).String())
	put(t, dir, "--home-u-other--/by-hand.jsonl", begin(renamedID, at, nil).user("hi").answer("stop", "Hi.", 1).String())
	put(t, dir, project+"artifacts/0a1b2c3d/exported.jsonl", begin("exported", at, nil).user("no session").String())

	calls := []string{"read: text", "grep: line"}
	retried := took(50, 1)
	retried.Add(thread.Tokens{Output: 2, CacheRead: 10, CacheWrite: 10, Calls: 1, Cost: 0.25})
	return []threadtest.Thread{
		{
			ID: treeID, Status: thread.Completed, Source: thread.Child,
			Messages: []string{"user: one", "assistant: First.", "compaction: a way that was wrong", "user: two", "note: a hint",
				"compaction: what was said", "assistant: Second. And now?"},
			Calls: calls, Usage: took(1000, 4), Complete: thread.LowerBound,
		},
		{
			ID: forkID, Status: thread.Completed, Source: thread.Child,
			Messages: []string{"user: one", "assistant: First.", "user: other", "note: The request failed.",
				"assistant: Other."}, Usage: retried, Complete: thread.Exact,
		},
		{ID: flatID, Status: thread.Completed, Source: thread.Child, Messages: []string{"user: hello", "assistant: world"},
			Usage: took(1, 1), Complete: thread.Exact},
		{ID: renamedID, Status: thread.Completed, Source: thread.Child, Messages: []string{"user: hi", "assistant: Hi."},
			Usage: took(1, 1), Complete: thread.Exact},
	}
}

// nested writes a session with nested subagents in its directory.
func nested(t testing.TB, dir string) []threadtest.Thread {
	const at = "2026-05-26T10:00:00Z"
	name := project + named(at, nestID)
	put(t, dir, name, begin(nestID, at, nil).user("send scouts").answer("stop", "Sent.", 1).String())
	folder := strings.TrimSuffix(name, ".jsonl")
	put(t, dir, folder+"/scout.jsonl", begin(scoutID, at, nil).user("scout").answer("toolUse", "", 1, "ls").String())
	put(t, dir, folder+"/scout/deeper.jsonl", begin(deeperID, at, nil).user("deeper").answer("stop", "Deep.", 1).String())
	return []threadtest.Thread{
		{
			ID: nestID, Status: thread.Completed, Source: thread.Child, Messages: []string{
				"user: send scouts", "assistant: Sent."}, Usage: took(1, 1), Complete: thread.Exact,
			Agents: []threadtest.Agent{{ID: scoutID, Status: thread.Running, Source: thread.Child, Last: "scout"}},
		},
		{
			ID: scoutID, Parent: nestID, Status: thread.Running, Source: thread.Child, Messages: []string{
				"user: scout"}, Calls: []string{"ls: "}, Usage: took(1, 1), Complete: thread.Exact,
			Agents: []threadtest.Agent{{ID: deeperID, Status: thread.Completed, Source: thread.Child, Last: "Deep."}},
		},
		{ID: deeperID, Parent: scoutID, Status: thread.Completed, Source: thread.Child,
			Messages: []string{"user: deeper", "assistant: Deep."}, Usage: took(1, 1), Complete: thread.Exact},
	}
}

// run writes a session that started a subagent as a session beside its own, and one
// without a file.
func run(t testing.TB, dir string) []threadtest.Thread {
	const at = "2026-05-27T10:00:00Z"
	const file, gone = "2026-05-27T10-00-02-000Z_0a1b2c3d-11111111-22222222-3333.jsonl",
		"2026-05-27T10-00-03-000Z_4e5f6a7b-11111111-22222222-4444.jsonl"
	parent := begin(runnerID, at, nil).user("run two").answer("toolUse", "Running.", 1, "subagent").
		result("subagent", "started", obj{"name": "builder", "exitCode": 0, "sessionFile": "/elsewhere/" + file}).
		add("custom_message", obj{"customType": "subagent", "display": false, "content": "failed",
			"details": obj{"name": "tester", "exitCode": 1, "sessionFile": "/elsewhere/" + gone}}).
		answer("stop", "Ran.", 1)
	path := put(t, dir, project+named(at, runnerID), parent.String())
	put(t, dir, project+file, begin(ranID, at, obj{"parentSession": path}).user("build").answer("stop", "Built.",
		1).String())
	return []threadtest.Thread{
		{
			ID: runnerID, Status: thread.Completed, Source: thread.Child, Messages: []string{
				"user: run two", "assistant: Running.", "assistant: Ran."}, Calls: []string{"subagent: started"},
			Usage: took(2, 2), Complete: thread.Exact,
			Agents: []threadtest.Agent{
				{ID: ranID, Status: thread.Completed, Source: thread.Parent, Last: "Built."},
				{ID: "4e5f6a7b-11111111-22222222-4444", Status: thread.Errored, Source: thread.Parent},
			},
		},
		{ID: ranID, Parent: runnerID, Status: thread.Completed, Source: thread.Child,
			Messages: []string{"user: build", "assistant: Built."}, Usage: took(1, 1), Complete: thread.Exact},
	}
}

// inlined writes a session whose calls ran subagents without sessions of their own,
// one of which failed, and one call of another tool that has results, too.
func inlined(t testing.TB, dir string) []threadtest.Thread {
	const at = "2026-05-29T10:00:00Z"
	ms := time.Date(2026, 5, 29, 9, 0, 0, 0, time.UTC).UnixMilli()
	says := func(text, stop string, more ...obj) obj {
		return obj{"role": "assistant", "content": append([]obj{{"type": "text", "text": text}}, more...),
			"provider": "openai", "model": "gpt-5", "stopReason": stop, "timestamp": ms,
			"usage": obj{"input": 5, "output": 2, "cacheRead": 10, "cacheWrite": 10, "totalTokens": 27,
				"cost": obj{"total": 0.25}}}
	}
	results := []obj{
		{"agent": "reviewer", "task": "review", "exitCode": 0, "stopReason": "stop", "usage": obj{"input": 10, "turns": 2},
			"messages": []obj{
				{"role": "user", "content": []obj{{"type": "text", "text": "Task: review"}}, "timestamp": ms},
				says("Reading.", "toolUse", obj{"type": "toolCall", "id": "r", "name": "read", "arguments": obj{}}),
				{"role": "toolResult", "toolCallId": "r", "content": []obj{{"type": "text", "text": "text"}}, "timestamp": ms},
				says("Fine.", "stop"),
			}},
		{"agent": "reviewer", "task": "test", "exitCode": 1, "usage": obj{"turns": 0}, "messages": []obj{}},
	}
	put(t, dir, project+named(at, inlineID),
		begin(inlineID, at, nil).user("review").answer("toolUse", "Asking.", 1, "subagent", "search").
			result("subagent", "Fine.", obj{"mode": "parallel", "results": results}).result("search", "2",
			obj{"results": []obj{{"agent": "x"}, {"url": "y"}}}).answer("stop", "Done.", 1).String())
	return []threadtest.Thread{{
		ID: inlineID, Status: thread.Completed, Source: thread.Child, Messages: []string{
			"user: review", "assistant: Asking.", "assistant: Done."}, Calls: []string{"subagent: Fine.", "search: 2"},
		Usage: took(2, 2), Complete: thread.Exact,
		Agents: []threadtest.Agent{
			{ID: "reviewer", Status: thread.Completed, Source: thread.Parent, Last: "Fine."},
			{ID: "reviewer-2", Status: thread.Errored, Source: thread.Parent},
		},
	}}
}

// hinted writes sessions with relations in their headers, and interrupted ones.
func hinted(t testing.TB, dir string) []threadtest.Thread {
	const at = "2026-05-28T10:00:00Z"
	put(t, dir, project+named(at, hintID), begin(hintID, at, obj{"childSessionIds": []string{hintedID, lostID}}).
		user("go").String())
	put(t, dir, project+named(at, hintedID),
		begin(hintedID, at, obj{"parent_session_id": strings.ToUpper(hintID)}).user("on").answer("stop", "On.", 1).String())
	put(t, dir, project+named(at, abortedID), begin(abortedID, at, nil).user("an essay").add("message", obj{"message": obj{
		"role": "assistant", "content": []obj{{"type": "text", "text": "Once upon"}}, "stopReason": "aborted", "usage": obj{
			"input": 0, "output": 0},
	}}).String())
	put(t, dir, project+named(at, unbegunID), begin(unbegunID, at, nil).add("model_change", obj{"modelId": "x"}).String())
	return []threadtest.Thread{
		{
			ID: hintID, Status: thread.Running, Source: thread.Child, Messages: []string{"user: go"}, Complete: thread.NoUsage,
			Agents: []threadtest.Agent{
				{ID: hintedID, Status: thread.Completed, Source: thread.Child, Last: "On."},
				{ID: lostID, Status: thread.NotFound, Source: thread.Inferred},
			},
		},
		{ID: hintedID, Parent: hintID, Status: thread.Completed, Source: thread.Child,
			Messages: []string{"user: on", "assistant: On."}, Usage: took(1, 1), Complete: thread.Exact},
		{ID: abortedID, Status: thread.Errored, Source: thread.Child,
			Messages: []string{"user: an essay", "assistant: Once upon"}, Complete: thread.NoUsage},
		{ID: unbegunID, Status: thread.PendingInit, Source: thread.Inferred, Complete: thread.NoUsage},
	}
}

// big writes a session of one long thread.
func big(t testing.TB, dir string, size int64) string {
	const at = "2026-05-24T23:39:56Z"
	f, err := os.Create(put(t, dir, project+named(at, treeID), ""))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	words := strings.Repeat("all work and no play makes a long session\n", 100)
	s := begin(treeID, at, nil)
	for n := int64(0); n < size; {
		s.user(words).answer("toolUse", "", 1, "run").result("run", words, nil).answer("stop", words, 1)
		k, err := f.WriteString(s.String())
		if err != nil {
			t.Fatal(err)
		}
		n += int64(k)
		s.lines = nil
	}
	return treeID
}
