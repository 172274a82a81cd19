package codex_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
)

// The IDs of the threads that home writes. They contain the time of the start.
const (
	parentID  = "019c871c-b1f9-7f60-9c4f-000000000001"
	doneID    = "019c871d-0000-7000-8000-000000000002"
	runningID = "019c871d-0000-7000-8000-000000000003"
	silentID  = "019c871d-0000-7000-8000-000000000004" // not mentioned by its parent
	forkID    = "019c8720-0000-7000-8000-000000000005"
	pagedID   = "01a011e2-0000-7000-8000-000000000006"
	basedID   = "01a011e3-0000-7000-8000-000000000007"
	teamID    = "01a011e4-0000-7000-8000-000000000008"
	packedID  = "019b0000-0000-7000-8000-000000000009"
	bareID    = "4a3b2c1d-0000-4000-8000-00000000000a"
	abortedID = "019c8730-0000-7000-8000-00000000000b"
	codeID    = "01a221f2-0000-7000-8000-00000000000c"
	scriptID  = "01a221f2-0000-7000-8000-00000000000d"
)

type obj = map[string]any

// A script writes a rollout, with one record per second.
type script struct {
	lines []string
	at    time.Time
	paged bool
	total [4]int64
}

func start(at string) *script {
	t, err := time.Parse(time.RFC3339, at)
	if err != nil {
		panic(err)
	}
	return &script{at: t}
}

func (s *script) add(kind string, payload obj) *script {
	s.at = s.at.Add(time.Second)
	rec := obj{"timestamp": s.at.Format("2006-01-02T15:04:05.000Z"), "type": kind, "payload": payload}
	if s.paged {
		rec["ordinal"] = len(s.lines)
	}
	return s.raw(rec)
}

func (s *script) raw(v any) *script {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	s.lines = append(s.lines, string(b))
	return s
}

func (s *script) meta(id string, more obj) *script {
	m := obj{"id": id, "cwd": "/home/u/project", "cli_version": "0.130.0", "source": "cli", "model_provider": "openai",
		"base_instructions": obj{"text": strings.Repeat("be good. ", 2000)}}
	for k, v := range more {
		m[k] = v
	}
	return s.add("session_meta", m)
}

func (s *script) event(kind string, more obj) *script {
	p := obj{"type": kind}
	for k, v := range more {
		p[k] = v
	}
	return s.add("event_msg", p)
}

func (s *script) begin(turn string) *script {
	return s.event("task_started", obj{"turn_id": turn}).add("turn_context", obj{"turn_id": turn, "model": "gpt-5"})
}

func (s *script) end(turn, said string) *script {
	return s.event("task_complete", obj{"turn_id": turn, "last_agent_message": said})
}

func (s *script) item(role, text string) *script {
	kind := map[string]string{"user": "input_text", "assistant": "output_text"}[role]
	return s.add("response_item", obj{"type": "message", "role": role, "content": []obj{{"type": kind, "text": text}}})
}

// user and agent write a message twice, as the tool does.
func (s *script) user(text string) *script {
	s.item("user", text)
	if s.paged {
		return s.event("item_completed",
			obj{"item": obj{"type": "UserMessage", "content": []obj{{"type": "text", "text": text}}}})
	}
	return s.event("user_message", obj{"message": text})
}

func (s *script) agent(text string) *script {
	if s.paged {
		s.event("item_completed", obj{"item": obj{"type": "AgentMessage", "content": []obj{{"type": "Text", "text": text}}}})
	} else {
		s.event("agent_message", obj{"message": text})
	}
	return s.item("assistant", text)
}

func (s *script) call(id, name string, args, out any) *script {
	a, _ := json.Marshal(args)
	s.add("response_item", obj{"type": "function_call", "name": name, "call_id": id, "arguments": string(a)})
	if out == nil {
		return s
	}
	text, ok := out.(string)
	if !ok {
		b, _ := json.Marshal(out)
		text = string(b)
	}
	return s.add("response_item", obj{"type": "function_call_output", "call_id": id, "output": text})
}

// count writes the usage of a request, and again as for a new rate limit.
func (s *script) count(input, cached, output, reasoning int64) *script {
	last := [4]int64{input, cached, output, reasoning}
	for i, n := range last {
		s.total[i] += n
	}
	vector := func(v [4]int64) obj {
		return obj{"input_tokens": v[0], "cached_input_tokens": v[1], "output_tokens": v[2], "reasoning_output_tokens": v[3],
			"total_tokens": v[0] + v[2]}
	}
	for range 2 {
		s.event("token_count", obj{"info": obj{"total_token_usage": vector(s.total), "last_token_usage": vector(last)}})
	}
	return s.event("token_count", obj{"info": nil})
}

func (s *script) String() string { return strings.Join(s.lines, "\n") + "\n" }

func put(t testing.TB, home, name, body string) {
	t.Helper()
	if strings.HasSuffix(name, ".zst") {
		enc, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		body = string(enc.EncodeAll([]byte(body), nil))
	}
	threadtest.WriteFile(t, body, home, ".codex", name)
}

func spawned(parent string) obj {
	return obj{"source": obj{"subagent": obj{"thread_spawn": obj{"parent_thread_id": parent, "depth": 1}}},
		"thread_source": "subagent"}
}

func tokens(input, cached, output, reasoning int64, calls int) thread.Tokens {
	return thread.Tokens{Input: input - cached, CacheRead: cached, Output: output, Reasoning: reasoning, Calls: calls}
}

// home writes a home directory with threads of every kind.
func home(t testing.TB, dir string) []threadtest.Thread {
	var all []threadtest.Thread
	all = append(all, family(t, dir)...)
	all = append(all, paged(t, dir)...)
	all = append(all, codeMode(t, dir)...)
	return append(all, oldest(t, dir)...)
}

// family writes a parent with three subagents, and a fork of it.
func family(t testing.TB, dir string) []threadtest.Thread {
	begun := func() *script {
		return start("2026-02-22T20:48:50Z").meta(parentID, nil).
			item("user", "# AGENTS.md instructions for /home/u/project\n\nbe brief").
			item("user", "<environment_context>\n  <cwd>/home/u/project</cwd>\n</environment_context>").
			begin("turn-1").user("look into it").agent("I will ask two others.").
			call("c1", "spawn_agent", obj{"agent_type": "explorer", "message": "explore"},
				obj{"agent_id": doneID, "nickname": "Ada"}).
			call("c2", "spawn_agent", obj{"agent_type": "worker", "message": "work"}, obj{"agent_id": runningID}).
			call("c3", "wait", obj{"ids": []string{doneID, runningID}},
				obj{"status": obj{doneID: obj{"completed": "found it"}, runningID: "running"}, "timed_out": false}).
			count(1000, 400, 50, 10).
			agent("One of them found it.").count(2000, 1500, 70, 0).
			end("turn-1", "One of them found it.")
	}
	put(t, dir, "sessions/2026/02/22/rollout-2026-02-22T20-48-50-"+parentID+".jsonl", begun().String())

	put(t, dir, "sessions/2026/02/22/rollout-2026-02-22T20-49-10-"+doneID+".jsonl", start("2026-02-22T20:48:52Z").
		meta(doneID, spawned(parentID)).begin("t").user("explore").agent("found it").count(10, 0, 5, 0).end("t",
		"found it").String())
	// It was started in a time zone where it was the next day.
	put(t, dir, "sessions/2026/02/23/rollout-2026-02-23T04-49-10-"+runningID+".jsonl", start("2026-02-22T20:49:10Z").
		meta(runningID, spawned(parentID)).begin("t").user("work").call("x", "exec_command", obj{"cmd": "sleep 1000"},
		nil).String())
	put(t, dir, "sessions/2026/02/22/rollout-2026-02-22T20-49-30-"+silentID+".jsonl", start("2026-02-22T20:49:30Z").
		meta(silentID, spawned(parentID)).String())

	fork := begun()
	fork.lines[0] = start("2026-02-22T20:48:50Z").meta(forkID, obj{"forked_from_id": parentID}).lines[0]
	fork.begin("turn-2").user("and now?").agent("Now this.").count(3000, 2000, 30, 3).end("turn-2", "Now this.")
	put(t, dir, "sessions/2026/02/22/rollout-2026-02-22T20-55-00-"+forkID+".jsonl", fork.String())

	said := []string{"user: look into it", "assistant: I will ask two others.", "assistant: One of them found it."}
	calls := []string{
		`spawn_agent: {"agent_id":"` + doneID + `","nickname":"Ada"}`, `spawn_agent: {"agent_id":"` + runningID + `"}`,
		fmt.Sprintf(`wait: {"status":{"%s":{"completed":"found it"},"%s":"running"},"timed_out":false}`, doneID, runningID),
	}
	none := func(id string, status thread.Status, source thread.StatusSource, messages, calls []string) threadtest.Thread {
		return threadtest.Thread{ID: id, Parent: parentID, Status: status, Source: source, Messages: messages, Calls: calls,
			Complete: thread.NoUsage}
	}
	done := none(doneID, thread.Completed, thread.Child, []string{"user: explore", "assistant: found it"}, nil)
	done.Usage, done.Complete = tokens(10, 0, 5, 0, 1), thread.Exact
	return []threadtest.Thread{
		{
			ID: parentID, Status: thread.Completed, Source: thread.Child, Messages: said, Calls: calls,
			Usage: tokens(3000, 1900, 120, 10, 2), Complete: thread.Exact,
			Agents: []threadtest.Agent{
				{ID: doneID, Status: thread.Completed, Source: thread.Parent, Last: "found it"},
				{ID: runningID, Status: thread.Running, Source: thread.Child, Last: "work"},
				{ID: silentID, Status: thread.PendingInit, Source: thread.Inferred},
			},
		},
		done,
		none(runningID, thread.Running, thread.Child, []string{"user: work"}, []string{"exec_command: "}),
		none(silentID, thread.PendingInit, thread.Inferred, nil, nil),
		{
			ID: forkID, Status: thread.Completed, Source: thread.Child, Messages: append(said[:3:3], "user: and now?",
				"assistant: Now this."), Calls: calls,
			Usage: tokens(3000, 2000, 30, 3, 1), Complete: thread.Exact,
		},
	}
}

// paged writes a paginated thread, one that continues it without copying, and a
// subagent with a copy that is known only by its path.
func paged(t testing.TB, dir string) []threadtest.Thread {
	first := start("2026-08-17T22:40:27Z")
	first.paged = true
	first.meta(pagedID, obj{"history_mode": "paginated"}).begin("p1").user("plan it").agent("Planned.").count(100, 0, 10,
		0).end("p1", "Planned.")
	prefix := len(first.String())
	own := len(first.lines)
	first.begin("p2").user("have it done").
		call("s", "spawn_agent", obj{"task_name": "builder", "message": "build"}, obj{"task_name": "/root/builder"}).
		agent("Shall I go on?").count(100, 90, 10, 0).end("p2", "Shall I go on?")
	put(t, dir, "sessions/2026/08/17/rollout-2026-08-17T22-40-27-"+pagedID+".jsonl", first.String())

	based := start("2026-08-17T22:50:27Z")
	based.paged = true
	based.meta(basedID, obj{"forked_from_id": pagedID,
		"history_base": obj{"thread_id": pagedID, "end_ordinal_exclusive": own, "end_byte_offset": prefix}}).
		begin("b1").user("another way").agent("Another way.").count(7, 0, 7, 0).end("b1", "Another way.")
	put(t, dir, "sessions/2026/08/17/rollout-2026-08-17T22-50-27-"+basedID+".jsonl", based.String())

	team := start("2026-08-17T22:41:27Z")
	team.paged = true
	meta := spawned(pagedID)
	meta["source"].(obj)["subagent"].(obj)["thread_spawn"].(obj)["agent_path"] = "/root/builder"
	meta["subagent_history_start_ordinal"] = 5
	team.meta(teamID, meta).begin("p2").user("have it done").begin("k1").agent("Built.").count(9, 0, 9, 0).end("k1",
		"Built.")
	put(t, dir, "sessions/2026/08/17/rollout-2026-08-17T22-41-27-"+teamID+".jsonl", team.String())

	planned := []string{"user: plan it", "assistant: Planned."}
	return []threadtest.Thread{
		{
			ID: pagedID, Status: thread.Completed, Source: thread.Child, Messages: append(planned[:2:2], "user: have it done",
				"assistant: Shall I go on?"),
			Calls: []string{`spawn_agent: {"task_name":"/root/builder"}`}, Usage: tokens(200, 90, 20, 0, 2),
			Complete: thread.Exact,
			Agents:   []threadtest.Agent{{ID: teamID, Status: thread.Completed, Source: thread.Child, Last: "Built."}},
		},
		{
			ID: basedID, Status: thread.Completed, Source: thread.Child, Messages: append(planned[:2:2], "user: another way",
				"assistant: Another way."),
			Usage: tokens(7, 0, 7, 0, 1), Complete: thread.Exact,
		},
		{
			ID: teamID, Parent: pagedID, Status: thread.Completed, Source: thread.Child, Messages: []string{
				"user: have it done", "assistant: Built."},
			Usage: tokens(9, 0, 9, 0, 1), Complete: thread.Exact,
		},
	}
}

// oldest writes a compressed thread that was archived, one without envelopes, and an
// interrupted one.
func oldest(t testing.TB, dir string) []threadtest.Thread {
	put(t, dir, "archived_sessions/rollout-2025-12-08T20-00-00-"+packedID+".jsonl.zst", start("2025-12-08T20:00:00Z").
		meta(packedID, nil).begin("z").user("long ago").add("compacted", obj{"message": "it was long"}).
		event("context_compacted", nil).agent("Yes.").count(5, 0, 5, 5).end("z", "Yes.").String())
	bare := new(script).raw(obj{"id": bareID, "timestamp": "2025-05-01T10:00:00Z", "instructions": nil}).
		raw(obj{"record_type": "state"})
	for _, m := range [][2]string{{"user", "hello"}, {"assistant", "world"}} {
		bare.raw(obj{"type": "message", "role": m[0], "content": []obj{{"type": "output_text", "text": m[1]}}})
	}
	put(t, dir, "sessions/2025/05/01/rollout-2025-05-01T10-00-00-"+bareID+".jsonl", bare.String())
	put(t, dir, "sessions/2026/02/22/rollout-2026-02-22T21-00-00-"+abortedID+".jsonl", start("2026-02-22T21:00:00Z").
		meta(abortedID, nil).begin("a1").user("write an essay").item("user", "<turn_aborted>\nthe user did it").
		event("turn_aborted", obj{"reason": "interrupted"}).
		begin("a2").user("ok?").agent("ok").count(4, 0, 1, 0).event("turn_aborted", obj{"reason": "interrupted"}).String())
	return []threadtest.Thread{
		{
			ID: packedID, Status: thread.Completed, Source: thread.Child, Messages: []string{
				"user: long ago", "compaction: it was long", "assistant: Yes."},
			Usage: tokens(5, 0, 5, 5, 1), Complete: thread.Exact,
		},
		{ID: bareID, Status: thread.Completed, Source: thread.Inferred, Messages: []string{"user: hello", "assistant: world"},
			Complete: thread.NoUsage},
		{
			ID: abortedID, Status: thread.Errored, Source: thread.Child, Messages: []string{
				"user: write an essay", "user: ok?", "assistant: ok"},
			Usage: tokens(4, 0, 1, 0, 1), Complete: thread.LowerBound,
		},
	}
}

// big writes a rollout of one long thread.
func big(t testing.TB, dir string, size int64) string {
	path := filepath.Join(dir, ".codex/sessions/2026/02/22/rollout-2026-02-22T20-48-50-"+parentID+".jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.WriteString(start("2026-02-22T20:48:50Z").meta(parentID, nil).String())
	words := strings.Repeat("all work and no play makes a long transcript\n", 100)
	for n, turn := int64(0), 0; n < size; turn++ {
		id := fmt.Sprint("turn-", turn)
		s := start("2026-02-22T20:48:50Z").begin(id).user(words).call(id, "exec_command", obj{"cmd": words},
			words).agent(words).end(id, words)
		if turn%500 == 0 {
			s.add("compacted", obj{"message": "", "replacement_history": []obj{{"image": strings.Repeat("x", 9<<20)}}})
		}
		k, err := f.WriteString(s.String())
		if err != nil {
			t.Fatal(err)
		}
		n += int64(k)
	}
	return parentID
}
