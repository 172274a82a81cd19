package gemini_test

import (
	"crypto/sha256"
	"encoding/hex"
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
	documentID  = "11111111-0000-4000-8000-000000000001"
	logID       = "22222222-0000-4000-8000-000000000002"
	doneID      = "33333333-0000-4000-8000-000000000003"
	runningID   = "explorer#1" // as the tool names subagents within a turn
	goneID      = "reviewer#2"
	compactID   = "44444444-0000-4000-8000-000000000004"
	cancelledID = "55555555-0000-4000-8000-000000000005"
	failedID    = "66666666-0000-4000-8000-000000000006"
	misnamedID  = "77777777-0000-4000-8000-000000000007"
	childID     = "88888888-0000-4000-8000-000000000008" // names its parent itself
	unbegunID   = "99999999-0000-4000-8000-000000000009"
)

type obj = map[string]any

type tokens struct{ input, output, cached, thoughts, tool int64 }

func (t tokens) obj() obj {
	return obj{"input": t.input, "output": t.output, "cached": t.cached, "thoughts": t.thoughts, "tool": t.tool,
		"total": t.input + t.output + t.thoughts + t.tool}
}

func (t tokens) want(calls int) thread.Tokens {
	return thread.Tokens{Input: t.input - t.cached + t.tool, CacheRead: t.cached, Output: t.output + t.thoughts,
		Reasoning: t.thoughts, Calls: calls}
}

// A script writes a chat, with one operation per second.
type script struct {
	head     obj
	messages []obj
	lines    []string
	at       time.Time
	changed  func() // called after each message, unless it is nil
}

func begin(id string, more obj) *script {
	s := &script{at: time.Date(2026, 6, 12, 10, 0, 0, 0, time.UTC)}
	s.head = obj{"projectHash": hash("/home/u/project"), "startTime": s.stamp(), "lastUpdated": s.stamp(), "kind": "main"}
	for k, v := range more {
		s.head[k] = v
	}
	b, err := json.Marshal(s.head)
	if err != nil {
		panic(err)
	}
	s.lines = append(s.lines, `{"sessionId":"`+id+`",`+string(b[1:]))
	s.head["sessionId"] = id
	return s
}

func (s *script) stamp() string { return s.at.Format("2006-01-02T15:04:05.000Z") }

func (s *script) raw(v obj) *script {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	s.lines = append(s.lines, string(b))
	return s
}

func (s *script) set(v obj) *script { return s.raw(obj{"$set": v}) }

func (s *script) add(m obj) *script {
	s.at = s.at.Add(time.Second)
	m["timestamp"] = s.stamp()
	if last := len(s.messages) - 1; last >= 0 && s.messages[last]["id"] == m["id"] {
		s.messages = s.messages[:last]
	}
	s.messages = append(s.messages, m)
	s.raw(m).set(obj{"lastUpdated": s.stamp()})
	if s.changed != nil {
		s.changed()
	}
	return s
}

func said(id, kind, text string) obj { return obj{"id": id, "type": kind, "content": text} }

func (s *script) user(id, text string) *script {
	return s.add(obj{"id": id, "type": "user", "content": []obj{{"text": text}}})
}

func (s *script) note(id, kind, text string) *script { return s.add(said(id, kind, text)) }

func answer(id, text string, t tokens) obj {
	m := said(id, "gemini", text)
	m["model"], m["thoughts"], m["tokens"] = "gemini-3", []obj{{"subject": "hidden"}}, t.obj()
	return m
}

func (s *script) model(id, text string, t tokens) *script { return s.add(answer(id, text, t)) }

// calls writes an answer, again with its calls, and their results as a message of the
// user, as the tool does.
func (s *script) calls(id, text string, t tokens, calls ...obj) *script {
	s.model(id, text, t)
	m := answer(id, text, t)
	m["toolCalls"] = calls
	s.add(m)
	var parts []any
	for _, c := range calls {
		if result, ok := c["result"].([]obj); ok {
			parts = append(parts, result[0])
		}
	}
	if len(parts) == 0 {
		return s
	}
	return s.add(obj{"id": id + "-results", "type": "user", "content": parts})
}

func call(id, name, status, output string) obj {
	return obj{
		"id": id, "name": name, "status": status, "args": obj{"path": "."}, "resultDisplay": "shown",
		"result": []obj{{"functionResponse": obj{"id": id, "name": name, "response": obj{"output": output}}}},
	}
}

func ran(c obj, agent string) obj {
	c["agentId"] = agent
	return c
}

func (s *script) String() string { return strings.Join(s.lines, "\n") + "\n" }

// document returns the chat in the format before 0.39.
func (s *script) document(last obj) string {
	front, err := json.MarshalIndent(s.head, "", "  ")
	if err != nil {
		panic(err)
	}
	messages, err := json.MarshalIndent(s.messages, "  ", "  ")
	if err != nil {
		panic(err)
	}
	doc := strings.TrimSuffix(string(front), "\n}") + ",\n  \"messages\": " + string(messages)
	for k, v := range last {
		doc += fmt.Sprintf(",\n  %q: %q", k, v)
	}
	return doc + "\n}"
}

func hash(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:])
}

const context = "<session_context>\nThis is the Gemini CLI. We are setting up the context for our " +
	"chat.\n</session_context>"

// home writes a home directory with threads of every kind.
func home(t testing.TB, dir string) []threadtest.Thread {
	project := hash("/home/u/project") + "/chats/"
	all := documents(t, dir, project)
	all = append(all, family(t, dir, project)...)
	return append(all, ends(t, dir, project)...)
}

// documents writes chats in the old format: one in a directory named after a hash, and
// two without their ID in the name, one of which is a subagent of the other.
func documents(t testing.TB, dir, project string) []threadtest.Thread {
	took := tokens{1000, 50, 400, 30, 7}
	put(t, dir, project+"session-2026-01-08T11-55-"+documentID[:8]+".json", begin(documentID, nil).
		note("i", "info", "Update available").user("u1", "list it").
		calls("m1", "Listing.", took, call("c1", "list_directory", "success", "a file")).
		model("m2", "There is one file. \xe2\x80\x9cSee?\xe2\x80\x9d Shall I go on?",
			took).document(obj{"summary": "what was done"}))
	put(t, dir, "../projects.json", `{"projects":{"/home/u":"u","/home/u/project":"project"}}`)
	put(t, dir, "other/.project_root", "/home/u/other\n")
	put(t, dir, "other/chats/session-2026-01-08T11-55-main.json",
		begin(misnamedID, nil).user("u", "hello").model("m", "Hi.", tokens{1, 1, 0, 0, 0}).document(nil))
	put(t, dir, "other/chats/session-2026-01-08T12-12-child.json",
		begin(childID, obj{"parentSessionId": misnamedID}).user("u", "do it").document(nil))
	put(t, dir, "other/chats/session-2026-01-08T12-13-hidden.json",
		begin("hidden", nil).user("u", strings.Repeat("much ", 4000)).document(obj{"kind": "subagent"}))
	put(t, dir, "other/chats/checkpoint-x.json", `[{"role":"user","parts":[{"text":"no chat"}]}]`)
	twice := tokens{2000, 100, 800, 60, 14}.want(2)
	return []threadtest.Thread{
		{
			ID: documentID, Status: thread.Completed, Source: thread.Inferred,
			Messages: []string{"note: Update available", "user: list it", "assistant: Listing.",
				"assistant: There is one file. “See?” Shall I go on?"},
			Calls: []string{"list_directory: a file"}, Usage: twice, Complete: thread.LowerBound,
		},
		{
			ID: misnamedID, Status: thread.Completed, Source: thread.Inferred, Messages: []string{
				"user: hello", "assistant: Hi."},
			Usage: tokens{1, 1, 0, 0, 0}.want(1), Complete: thread.Exact,
			Agents: []threadtest.Agent{{ID: childID, Status: thread.Running, Source: thread.Child, Last: "do it"}},
		},
		{ID: childID, Parent: misnamedID, Status: thread.Running, Source: thread.Child, Messages: []string{"user: do it"},
			Complete: thread.NoUsage},
	}
}

// family writes a log with a rewound part and with subagents: one that the parent does
// not mention, one that has ended for the parent and whose chat continues, and one
// without a chat.
func family(t testing.TB, dir, project string) []threadtest.Thread {
	parent := begin(logID, nil)
	parent.set(obj{
		"messages":    []obj{{"id": "c", "timestamp": parent.stamp(), "type": "user", "content": []obj{{"text": context}}}},
		"lastUpdated": parent.stamp()}).
		user("u1", "one").model("m1", "First.", tokens{100, 10, 0, 0, 0}).
		user("u2", "wrong way").model("m2", "Lost.", tokens{200, 20, 0, 0, 0}).
		raw(obj{"$rewindTo": "u2"})
	parent.set(obj{"messages": []obj{
		{"id": "u1", "type": "user", "content": []obj{{"text": "one"}}},
		{"id": "m1", "type": "gemini", "content": []obj{{"text": "First."}}, "model": "gemini-3",
			"tokens": tokens{100, 10, 0, 0, 0}.obj()},
	}})
	parent.user("u3", "two").
		calls("m3", "", tokens{300, 30, 100, 5, 0}, call("k1", "read_file", "success", "text"),
			ran(call("k2", "explorer", "success", "found"), runningID), ran(call("k3", "reviewer", "cancelled", "no"), goneID)).
		model("m4", "Second.", tokens{400, 40, 0, 0, 0})
	put(t, dir, project+"session-2026-06-12T10-00-"+logID[:8]+".jsonl", parent.String())

	done := begin(doneID, obj{"kind": "subagent"}).user("u", "build").model("m", "Built.", tokens{5, 5, 0, 0, 0})
	put(t, dir, project+logID+"/"+doneID+".jsonl", done.String())
	running := begin(runningID, obj{"kind": "subagent", "startTime": "2026-06-12T10:00:30.000Z"})
	running.at = running.at.Add(time.Hour)
	put(t, dir, project+logID+"/explorer_1.jsonl",
		running.user("u", "explore").calls("m", "", tokens{6, 6, 0, 0, 0}, call("x", "grep", "success", "here")).String())

	return []threadtest.Thread{
		{
			ID: logID, Status: thread.Completed, Source: thread.Inferred,
			Messages: []string{"user: one", "assistant: First.", "user: two", "assistant: Second."},
			Calls:    []string{"read_file: text", "explorer: found", "reviewer: no"},
			Usage:    tokens{1000, 100, 100, 5, 0}.want(4), Complete: thread.Exact,
			Agents: []threadtest.Agent{
				{ID: runningID, Status: thread.Running, Source: thread.Child, Last: "explore"},
				{ID: goneID, Status: thread.Errored, Source: thread.Parent},
				{ID: doneID, Status: thread.Completed, Source: thread.Inferred, Last: "Built."},
			},
		},
		{
			ID: doneID, Parent: logID, Status: thread.Completed, Source: thread.Inferred, Messages: []string{
				"user: build", "assistant: Built."},
			Usage: tokens{5, 5, 0, 0, 0}.want(1), Complete: thread.Exact,
		},
		{
			ID: runningID, Parent: logID, Status: thread.Running, Source: thread.Child, Messages: []string{
				"user: explore"}, Calls: []string{"grep: here"},
			Usage: tokens{6, 6, 0, 0, 0}.want(1), Complete: thread.Exact,
		},
	}
}

// ends writes chats with different ends.
func ends(t testing.TB, dir, project string) []threadtest.Thread {
	log := func(id string, s *script) {
		put(t, dir, project+"session-2026-06-12T11-00-"+id[:8]+".jsonl", s.String())
	}
	compacted := begin(compactID, nil).user("u1", "much").model("m1", "Much was done.", tokens{50, 5, 0, 0, 0})
	log(compactID, compacted.set(obj{"messages": []obj{
		{"id": "c", "type": "user", "content": []obj{{"text": context}}},
		{"id": "s", "type": "user", "content": []obj{
			{"text": "<scratchpad>\nx\n</scratchpad>\n\n<state_snapshot>all of it</state_snapshot>"}}},
		{"id": "a", "type": "gemini", "content": []obj{{"text": "Got it."}}},
	}}).user("u2", "more"))
	log(cancelledID, begin(cancelledID, nil).user("u1", "an essay").note("i", "info", "Request cancelled."))
	log(failedID, begin(failedID, nil).user("u1", "a haiku").note("e", "error", "[API Error: 400]").note("i", "info",
		"This request failed. Press F12 for diagnostics."))
	unbegun := begin(unbegunID, nil)
	log(unbegunID,
		unbegun.set(obj{"messages": []obj{{"id": "c", "type": "user", "content": context}}, "lastUpdated": unbegun.stamp()}))
	return []threadtest.Thread{
		{
			ID: compactID, Status: thread.Running, Source: thread.Child,
			Messages: []string{"compaction: <scratchpad>\nx\n</scratchpad>\n\n<state_snapshot>all of it</state_snapshot>",
				"assistant: Got it.", "user: more"},
			Usage: tokens{50, 5, 0, 0, 0}.want(1), Complete: thread.LowerBound,
		},
		{ID: cancelledID, Status: thread.Errored, Source: thread.Child,
			Messages: []string{"user: an essay", "note: Request cancelled."}, Complete: thread.NoUsage},
		{ID: failedID, Status: thread.Errored, Source: thread.Child,
			Messages: []string{"user: a haiku", "note: [API Error: 400]",
				"note: This request failed. Press F12 for diagnostics."}, Complete: thread.NoUsage},
		{ID: unbegunID, Status: thread.PendingInit, Source: thread.Inferred, Complete: thread.NoUsage},
	}
}

// big writes a log of one long thread.
func big(t testing.TB, dir string, size int64) string {
	path := filepath.Join(dir, ".gemini/tmp/p/chats/session-2026-06-12T10-00-"+logID[:8]+".jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.WriteString(begin(logID, nil).String())
	words := strings.Repeat("all work and no play makes a long chat\n", 100)
	for n, turn := int64(0), 0; n < size; turn++ {
		id := fmt.Sprint(turn)
		s := (&script{}).user("u"+id, words).calls("m"+id, words, tokens{1, 1, 0, 0, 0},
			call("c"+id, "run", "success", words))
		k, err := f.WriteString(s.String())
		if err != nil {
			t.Fatal(err)
		}
		n += int64(k)
	}
	return logID
}
