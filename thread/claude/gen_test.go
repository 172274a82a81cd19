package claude_test

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"maps"
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
	mainID    = "0c4f3c1e-7b1a-4d59-9d0e-000000000001"
	flatID    = "0c4f3c1e-7b1a-4d59-9d0e-000000000002"
	forkID    = "0c4f3c1e-7b1a-4d59-9d0e-000000000003"
	copyID    = "0c4f3c1e-7b1a-4d59-9d0e-000000000004"
	resumedID = "0c4f3c1e-7b1a-4d59-9d0e-000000000005"
	askingID  = "0c4f3c1e-7b1a-4d59-9d0e-000000000006"
	cutID     = "0c4f3c1e-7b1a-4d59-9d0e-000000000007"
	emptyID   = "0c4f3c1e-7b1a-4d59-9d0e-000000000008"
	firstID   = "0c4f3c1e-7b1a-4d59-9d0e-00000000000a"
	branchID  = "0c4f3c1e-7b1a-4d59-9d0e-00000000000b"
	twigID    = "0c4f3c1e-7b1a-4d59-9d0e-00000000000c"
	sweptID   = "0c4f3c1e-7b1a-4d59-9d0e-000000000009"
	insideID  = "0c4f3c1e-7b1a-4d59-9d0e-00000000a001"

	project = "projects/-home-u-project/"
)

type obj = map[string]any

// A script writes a transcript, with one record per second.
type script struct {
	lines  []string
	at     time.Time
	salt   uint32 // of uuids, which no two sessions share
	common obj
	parent any
}

// start starts the transcript of a session, or of a subagent of it.
func start(session, agent, version string, at int) *script {
	s := &script{at: time.Date(2026, 6, 1, 12, 0, at, 0, time.UTC), salt: crc32.ChecksumIEEE([]byte(session + agent)),
		common: obj{"sessionId": session, "version": version, "cwd": "/home/u/project", "gitBranch": "main",
			"isSidechain": agent != ""}}
	if agent != "" {
		s.common["agentId"] = agent
	}
	return s
}

// add writes a record whose parent is the one before.
func (s *script) add(kind string, more obj) *script {
	s.at = s.at.Add(time.Second)
	r := maps.Clone(s.common)
	id := fmt.Sprintf("%08x-0000-4000-8000-%012x", s.salt, len(s.lines)+1)
	r["type"], r["timestamp"], r["parentUuid"], r["uuid"] = kind, s.at.Format("2006-01-02T15:04:05.000Z"), s.parent, id
	maps.Copy(r, more)
	s.parent = r["uuid"]
	return s.raw(r)
}

func (s *script) raw(v any) *script {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return s.text(string(b))
}

func (s *script) text(line string) *script {
	s.lines = append(s.lines, line)
	return s
}

func (s *script) user(text string) *script {
	return s.add("user", obj{"message": obj{"role": "user", "content": text}})
}

// block writes one block of an answer, with the usage of the request so far.
func (s *script) block(id string, block obj, used obj, stop any) *script {
	return s.add("assistant", obj{"requestId": "req_" + id,
		"message": obj{"id": id, "role": "assistant", "model": "claude-opus-4-8", "content": []obj{block}, "usage": used,
			"stop_reason": stop}})
}

func (s *script) say(id, text string, used obj, stop any) *script {
	return s.block(id, obj{"type": "text", "text": text}, used, stop)
}

func (s *script) call(id, tool, name string, input, used obj) *script {
	return s.block(id, obj{"type": "tool_use", "id": tool, "name": name, "input": input}, used, "tool_use")
}

func (s *script) result(tool, text string, more any) *script {
	return s.add("user",
		obj{
			"message": obj{"role": "user", "content": []obj{
				{"type": "tool_result", "tool_use_id": tool, "content": []obj{{"type": "text", "text": text}}}}},
			"toolUseResult": more})
}

func (s *script) system(subtype string) *script { return s.add("system", obj{"subtype": subtype}) }

// fork starts the transcript of a session with a copy of all records, like
// --fork-session and moving to the background.
func (s *script) fork(session string) *script {
	c := *s
	c.lines, c.common, c.salt = nil, maps.Clone(s.common), crc32.ChecksumIEEE([]byte(session))
	for _, line := range s.lines {
		c.lines = append(c.lines, strings.ReplaceAll(line, s.common["sessionId"].(string), session))
	}
	c.common["sessionId"] = session
	return &c
}

func (s *script) String() string {
	if len(s.lines) == 0 {
		return ""
	}
	return strings.Join(s.lines, "\n") + "\n"
}

func used(input, read, write5m, write1h, output int) obj {
	return obj{"input_tokens": input, "cache_read_input_tokens": read, "cache_creation_input_tokens": write5m + write1h,
		"output_tokens":  output,
		"cache_creation": obj{"ephemeral_5m_input_tokens": write5m, "ephemeral_1h_input_tokens": write1h},
		"iterations":     []obj{{"input_tokens": input, "output_tokens": output}}}
}

func notified(agent, status string) string {
	return "<task-notification>\n<task-id>" + agent + "</task-id>\n<status>" + status + "</status>\n<summary>Agent " +
		agent + " " + status + "</summary>\n</task-notification>"
}

func put(t testing.TB, home, dir, name, body string) {
	t.Helper()
	threadtest.WriteFile(t, body, home, dir, name)
}

// home writes a home directory with threads of every kind.
func home(t testing.TB, dir string) []threadtest.Thread {
	all := newest(t, dir)
	all = append(all, oldest(t, dir)...)
	return append(all, copies(t, dir)...)
}

// newest writes a session with subagents in its directory: one in the foreground, two
// in the background, one of a subagent, one of a workflow, and a compaction.
func newest(t testing.TB, dir string) []threadtest.Thread {
	write := func(name string, s *script) { put(t, dir, ".claude", project+name, s.String()) }
	const sub = mainID + "/subagents/"
	write(mainID+".jsonl", start(mainID, "", "2.1.140", 0).
		raw(obj{"type": "ai-title", "aiTitle": "Look into it", "sessionId": mainID}).
		add("attachment", obj{"attachment": obj{"type": "skill_listing", "content": "many"}}).
		user("look into it").
		block("m1", obj{"type": "thinking", "thinking": "who?"}, used(3, 100, 20, 10, 2), nil).
		say("m1", "I will ask some.", used(3, 100, 20, 10, 8), nil).
		call("m1", "t1", "Agent", obj{"description": "explore", "prompt": "explore it", "subagent_type": "Explore"},
			used(3, 100, 20, 10, 40)).
		add("progress", obj{"parentToolUseID": "t1",
			"data": obj{"type": "agent_progress", "agentId": "done1",
				"message": obj{"type": "assistant", "message": obj{"id": "c1", "usage": used(9, 9, 9, 9, 9)}}}}).
		result("t1", "explored\nagentId: done1",
			obj{"status": "completed", "agentId": "done1", "totalTokens": 7, "usage": used(5, 5, 5, 5, 5)}).
		call("m2", "t2", "Agent", obj{"description": "work", "prompt": "work on it", "run_in_background": true},
			used(1, 200, 0, 0, 9)).
		result("t2", "Async agent launched successfully.",
			obj{"isAsync": true, "status": "async_launched", "agentId": "back1"}).
		call("m2", "t3", "Agent", obj{"description": "stop", "prompt": "never end"}, used(1, 200, 0, 0, 9)).
		result("t3", "Async agent launched successfully.\nagentId: kill1 (internal)", nil).
		call("m2", "t4", "Bash", obj{"command": "sleep 9", "run_in_background": true}, used(1, 200, 0, 0, 30)).
		result("t4", "running", obj{"backgroundTaskId": "bash1"}).
		say("m3", "They are at work.", used(1, 300, 0, 0, 5), "end_turn").
		system("turn_duration").
		raw(obj{"type": "queue-operation", "operation": "enqueue", "content": notified("kill1", "killed"),
			"sessionId": mainID, "timestamp": "2026-06-01T12:05:00.000Z"}).
		add("user", obj{"timestamp": "2026-06-01T12:05:01.000Z", "origin": obj{"kind": "task-notification"},
			"message": obj{"role": "user", "content": notified("kill1", "killed")}}).
		add("user", obj{"timestamp": "2026-06-01T12:05:02.000Z",
			"message": obj{"role": "user", "content": notified("bash1", "completed")}}).
		add("assistant", obj{"timestamp": "2026-06-01T12:05:03.000Z",
			"message": obj{"id": "m4", "model": "claude-opus-4-8",
				"content": []obj{{"type": "text", "text": "One was stopped."}}, "usage": used(1, 400, 0, 0, 6),
				"stop_reason": "end_turn"}}))

	write(sub+"agent-done1.jsonl", start(mainID, "done1", "2.1.140", 7).user("explore it").
		call("d1", "u1", "Agent", obj{"description": "deeper", "prompt": "go deeper"}, used(2, 0, 0, 0, 3)).
		result("u1", "depth", obj{"status": "completed", "agentId": "deep1"}).
		say("d2", "explored", used(2, 0, 0, 0, 4), "end_turn"))
	put(t, dir, ".claude", project+sub+"agent-done1.meta.json", `{"agentType":"Explore","spawnDepth":1}`)
	write(sub+"agent-deep1.jsonl", start(mainID, "deep1", "2.1.140", 8).user("go deeper").say("e1", "depth",
		used(1, 1, 0, 0, 1), "end_turn"))
	put(t, dir, ".claude", project+sub+"agent-deep1.meta.json", `{"agentType":"Explore","spawnDepth":2}`)
	write(sub+"agent-back1.jsonl", start(mainID, "back1", "2.1.140", 10).user("work on it").call("b1", "v1", "Bash",
		obj{"command": "sleep 1000"}, used(1, 0, 0, 0, 1)))
	write(sub+"agent-kill1.jsonl", start(mainID, "kill1", "2.1.140", 12).user("never end"))
	write(sub+"agent-acompact-1f.jsonl", start(mainID, "acompact-1f", "2.1.140", 60).user("sum it up").say("a1",
		"<summary>", used(50, 0, 0, 0, 20), "end_turn"))
	write(sub+"workflows/wf_1/agent-flow1.jsonl",
		start("agent-flow1", "flow1", "2.1.165", 70).user("one part").say("w1", "done", used(1, 0, 0, 0, 1), "end_turn"))
	put(t, dir, ".claude", project+sub+"workflows/wf_1/journal.jsonl", `{"type":"started","agentId":"flow1"}`+"\n")
	put(t, dir, ".claude", project+mainID+"/tool-results/x.txt", "much")

	child := func(id, parent string, status thread.Status, tokens thread.Tokens, said ...string) threadtest.Thread {
		w := threadtest.Thread{ID: id, Parent: parent, Status: status, Source: thread.Child, Messages: said, Usage: tokens,
			Complete: thread.LowerBound}
		if tokens.Calls == 0 {
			w.Complete = thread.NoUsage
		}
		return w
	}
	done := child("done1", mainID, thread.Completed, thread.Tokens{Input: 4, Output: 7, Calls: 2}, "user: explore it",
		"assistant: explored")
	done.Calls = []string{"Agent: depth"}
	done.Agents = []threadtest.Agent{{ID: "deep1", Status: thread.Completed, Source: thread.Parent, Last: "depth"}}
	back := child("back1", mainID, thread.Running, thread.Tokens{Input: 1, Output: 1, Calls: 1}, "user: work on it")
	back.Calls = []string{"Bash: "}
	return []threadtest.Thread{
		{
			ID: mainID, Status: thread.Completed, Source: thread.Child, Complete: thread.LowerBound,
			Usage: thread.Tokens{Input: 6, CacheRead: 1000, CacheWrite: 30, CacheWrite1h: 10, Output: 81, Calls: 4},
			Messages: []string{"user: look into it", "assistant: I will ask some.", "assistant: They are at work.",
				"note: Agent kill1 killed", "note: Agent bash1 completed", "assistant: One was stopped."},
			Calls: []string{"Agent: explored\nagentId: done1", "Agent: Async agent launched successfully.",
				"Agent: Async agent launched successfully.\nagentId: kill1 (internal)", "Bash: running"},
			Agents: []threadtest.Agent{
				{ID: "done1", Status: thread.Completed, Source: thread.Parent, Last: "explored"},
				{ID: "back1", Status: thread.Running, Source: thread.Child, Last: "work on it"},
				{ID: "deep1", Status: thread.Completed, Source: thread.Parent, Last: "depth"},
				{ID: "kill1", Status: thread.Shutdown, Source: thread.Parent, Last: "never end"},
				{ID: "acompact-1f", Status: thread.Completed, Source: thread.Child, Last: "<summary>"},
				{ID: "flow1", Status: thread.Completed, Source: thread.Child, Last: "done", Inferred: true},
			},
		},
		done, back,
		child("deep1", "done1", thread.Completed, thread.Tokens{Input: 1, CacheRead: 1, Output: 1, Calls: 1},
			"user: go deeper", "assistant: depth"),
		child("kill1", mainID, thread.Running, thread.Tokens{}, "user: never end"),
		child("acompact-1f", mainID, thread.Completed, thread.Tokens{Input: 50, Output: 20, Calls: 1}, "user: sum it up",
			"assistant: <summary>"),
		child("flow1", mainID, thread.Completed, thread.Tokens{Input: 1, Output: 1, Calls: 1}, "user: one part",
			"assistant: done"),
	}
}

// oldest writes a session with a subagent beside it and another in its file, in another
// home directory, and the remains of a removed session.
func oldest(t testing.TB, dir string) []threadtest.Thread {
	write := func(name string, s *script) { put(t, dir, ".config/claude", project+name, s.String()) }
	main := start(flatID, "", "2.0.72", 0).user("old").
		call("o1", "t1", "Task", obj{"description": "beside", "prompt": "beside it"}, used(1, 0, 0, 0, 1)).result("t1",
		"found", obj{"status": "completed", "agentId": "a4f21c7"}).
		call("o2", "t2", "Task", obj{"description": "inside", "prompt": "inside it"}, used(1, 0, 0, 0, 1))
	main.common["isSidechain"] = true
	before := main.parent
	main.parent = nil
	main.add("user", obj{"uuid": insideID, "message": obj{"role": "user", "content": "inside it"}}).say("s1",
		"I am inside", used(7, 0, 0, 0, 7), nil)
	main.common["isSidechain"], main.parent = false, before
	main.result("t2", "I am inside", obj{"totalTokens": 1}).say("o3", "Done?", used(1, 0, 0, 0, 1), nil)
	write(flatID+".jsonl", main)
	write("agent-a4f21c7.jsonl", start(flatID, "a4f21c7", "2.0.72", 2).user("beside it").say("x1", "found",
		used(1, 0, 0, 0, 2), nil))
	write(emptyID+".jsonl", new(script))
	write(sweptID+"/subagents/agent-left1.jsonl", start(sweptID, "left1", "2.1.39", 0).user("still here"))
	return []threadtest.Thread{
		{
			ID: flatID, Status: thread.Completed, Source: thread.Inferred, Messages: []string{"user: old", "assistant: Done?"},
			Calls: []string{"Task: found", "Task: I am inside"},
			Usage: thread.Tokens{Input: 3, Output: 3, Calls: 3}, Complete: thread.LowerBound,
			Agents: []threadtest.Agent{
				{ID: "a4f21c7", Status: thread.Completed, Source: thread.Parent, Last: "found"},
				{ID: insideID, Status: thread.Completed, Source: thread.Parent, Last: "I am inside"},
			},
		},
		{ID: "a4f21c7", Parent: flatID, Status: thread.Completed, Source: thread.Inferred,
			Messages: []string{"user: beside it", "assistant: found"}, Usage: thread.Tokens{Input: 1, Output: 2, Calls: 1},
			Complete: thread.LowerBound},
		{ID: emptyID, Status: thread.PendingInit, Source: thread.Inferred, Complete: thread.NoUsage},
		{ID: "left1", Parent: sweptID, Status: thread.Running, Source: thread.Child, Messages: []string{"user: still here"},
			Complete: thread.NoUsage},
	}
}

// copies writes sessions that start with the records of another one, or with their own
// records again, and some with other ends.
func copies(t testing.TB, dir string) []threadtest.Thread {
	write := func(name string, s *script) { put(t, dir, ".claude", project+name, s.String()) }
	fork := start(forkID, "", "2.1.140", 0)
	fork.common["forkedFrom"] = obj{"sessionId": mainID, "messageUuid": "x"}
	fork.user("look into it").say("m1", "I will ask some.", used(3, 100, 20, 10, 40), "end_turn")
	delete(fork.common, "forkedFrom")
	write(forkID+".jsonl", fork.user("and now?").say("f1", "Now this.", used(1, 150, 0, 0, 4),
		"end_turn").system("stop_hook_summary"))

	older := start(flatID, "", "2.1.20", 0).user("old").say("o9", "Old.", used(5, 0, 0, 0, 5), nil)
	older.common["sessionId"] = copyID
	write(copyID+".jsonl", older.user("new").say("n1", "New.", used(2, 0, 0, 0, 2), nil).system("turn_duration"))

	resumed := start(resumedID, "", "2.1.140", 0).user("first").say("r1", "One.", used(1, 0, 0, 0, 1),
		"end_turn").system("turn_duration")
	resumed.lines = append(resumed.lines, resumed.lines...)
	asked := resumed.parent
	resumed.user("second").say("r2", "Two.", used(1, 0, 0, 0, 1), "end_turn").system("compact_boundary").
		add("user", obj{"isCompactSummary": true, "message": obj{"role": "user", "content": "In short: two."}}).
		add("user", obj{"isMeta": true, "message": obj{"role": "user", "content": "Caveat: not the user."}}).
		user(
			"<command-name>/model</command-name>\n<command-message>model</command-message>\n<command-args>opus</command-args>").
		user("<local-command-stdout>Set model</local-command-stdout>")
	resumed.parent = asked
	resumed.user("second, better").add("system", obj{"subtype": "api_error"}).
		add("assistant", obj{"isApiErrorMessage": true,
			"message": obj{"id": "e", "model": "<synthetic>",
				"content": []obj{{"type": "text", "text": "API Error: overloaded"}}, "usage": used(0, 0, 0, 0, 0),
				"stop_reason": "stop_sequence"}}).
		system("turn_duration")
	write(resumedID+".jsonl", resumed)

	write(askingID+".jsonl", start(askingID, "", "2.1.140", 0).user("plan it").call("q1", "t1", "AskUserQuestion",
		obj{"questions": []obj{{"question": "which?"}}}, used(1, 0, 0, 0, 9)))
	write(cutID+".jsonl", start(cutID, "", "2.1.12", 0).user("an essay").say("k1", strings.Repeat("Coffee is old. ", 60),
		used(1, 0, 0, 0, 1), nil).
		add("user",
			obj{"message": obj{"role": "user", "content": []obj{{"type": "text", "text": "[Request interrupted by user]"}}}}))
	return []threadtest.Thread{
		{
			ID: forkID, Status: thread.Completed, Source: thread.Child, Complete: thread.LowerBound, Usage: thread.Tokens{
				Input: 1, CacheRead: 150, Output: 4, Calls: 1},
			Messages: []string{"user: look into it", "assistant: I will ask some.", "user: and now?", "assistant: Now this."},
		},
		{
			ID: copyID, Status: thread.Completed, Source: thread.Child, Complete: thread.LowerBound, Usage: thread.Tokens{
				Input: 2, Output: 2, Calls: 1},
			Messages: []string{"user: old", "assistant: Old.", "user: new", "assistant: New."},
		},
		{
			ID: resumedID, Status: thread.Errored, Source: thread.Child, Complete: thread.LowerBound, Usage: thread.Tokens{
				Input: 2, Output: 2, Calls: 2},
			Messages: []string{"user: first", "assistant: One.", "user: second", "assistant: Two.", "compaction: In short: two.",
				"user: /model opus",
				"note: The thread was rewound to before message 3.", "user: second, better", "note: API Error: overloaded"},
		},
		{
			ID: askingID, Status: thread.Running, Source: thread.Child, Complete: thread.LowerBound, Usage: thread.Tokens{
				Input: 1, Output: 9, Calls: 1},
			Messages: []string{"user: plan it"}, Calls: []string{"AskUserQuestion: "},
		},
		{
			ID: cutID, Status: thread.Errored, Source: thread.Child, Complete: thread.LowerBound, Usage: thread.Tokens{
				Input: 1, Output: 1, Calls: 1},
			Messages: []string{"user: an essay", "assistant: " + strings.TrimSpace(strings.Repeat("Coffee is old. ", 60)),
				"note: [Request interrupted by user]"},
		},
	}
}

// big writes a transcript of one long thread.
func big(t testing.TB, dir string, size int64) string {
	put(t, dir, ".claude", project+mainID+".jsonl", "")
	f, err := os.Create(filepath.Join(dir, ".claude", project, mainID+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	words := strings.Repeat("all work and no play makes a long transcript\n", 100)
	for n, turn := int64(0), 0; n < size; turn++ {
		id := fmt.Sprint("m", turn)
		s := start(mainID, "", "2.1.140", turn*10).user(words).call(id, "t"+id, "Bash", obj{"command": words},
			used(1, 2, 3, 4, 5)).result("t"+id, words, obj{"stdout": words}).say(id, words, used(1, 2, 3, 4, 9), "end_turn")
		if turn%500 == 0 {
			s.add("user",
				obj{"isMeta": true, "message": obj{"content": []obj{{"type": "image", "source": strings.Repeat("x", 9<<20)}}}})
		}
		k, err := f.WriteString(s.String())
		if err != nil {
			t.Fatal(err)
		}
		n += int64(k)
	}
	return mainID
}
