package codex_test

import (
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
)

// exec writes a call of a script without its result.
func (s *script) exec(id, js string) *script {
	return s.add("response_item", obj{"type": "custom_tool_call", "call_id": id, "name": "exec", "input": js})
}

// printed writes the result of a script.
func (s *script) printed(id, status, output string) *script {
	return s.add("response_item", obj{"type": "custom_tool_call_output", "call_id": id, "output": []obj{
		{"type": "input_text", "text": status + "\nWall time 0.1 seconds\nOutput:\n"},
		{"type": "input_text", "text": output}}})
}

// completed writes a record of a call that a script made, or of something else.
func (s *script) completed(item obj) *script {
	ms := s.at.UnixMilli()
	return s.event("item_completed", obj{"item": item, "started_at_ms": ms, "completed_at_ms": ms + 20})
}

// record writes the usage of a request in a record of its own.
func (s *script) record(response string, input, cached, output int64) *script {
	last := [3]int64{input, cached, output}
	for i, n := range last {
		s.total[i] += n
	}
	vector := func(input, cached, output int64) obj {
		return obj{"input_tokens": input, "cached_input_tokens": cached, "cache_write_input_tokens": 0,
			"output_tokens": output, "reasoning_output_tokens": 0, "total_tokens": input + output}
	}
	return s.add("token_usage_record", obj{"response_id": response, "usage": vector(input, cached, output),
		"thread_token_usage": vector(s.total[0], s.total[1], s.total[2])})
}

// again writes the usage of the last request as a token_count.
func (s *script) again(input, cached, output int64) *script {
	s.total[0] -= input
	s.total[1] -= cached
	s.total[2] -= output
	return s.count(input, cached, output, 0)
}

// codeMode writes a thread whose scripts have records of their calls, in the priority
// tier and with a compaction, and one of whose calls only the scripts show.
func codeMode(t testing.TB, dir string) []threadtest.Thread {
	s := start("2026-11-28T11:37:43Z")
	s.paged = true
	const root = "file:///home/u/project"
	s.meta(codeID, obj{"history_mode": "paginated"}).begin("x1").
		event("thread_settings_applied", obj{"thread_settings": obj{"model": "gpt-5", "service_tier": "priority"}}).
		user("write it").agent("I write it.").
		exec("e1", "const p = '*** Begin Patch'; text(await tools.apply_patch(p + more))").record("r1", 100, 10, 5).
		completed(obj{"type": "FileChange", "id": "exec-1", "status": "completed", "stdout": "Success.\n", "changes": obj{
			"/home/u/project/a.go": obj{"type": "add", "content": "package a\n"},
			"/home/u/project/b.go": obj{"type": "update", "move_path": "/home/u/project/c.go",
				"unified_diff": "@@ -1,2 +1,2 @@\n package b\n-x\n+y\n\\ No newline at end of file\n"},
			"/home/u/project/d.go": obj{"type": "delete", "content": "x\n"}}}).
		printed("e1", "Script completed", "{}").again(100, 10, 5).
		exec("e2", "await Promise.all([...])").record("r2", 110, 100, 6).
		completed(obj{"type": "CommandExecution", "id": "exec-2", "command": []string{"/bin/bash", "-lc", "go test; exit 3"},
			"cwd": root, "status": "failed", "exit_code": 3, "aggregated_output": "FAIL\n"}).
		completed(obj{"type": "McpToolCall", "id": "exec-3", "server": "agent-handoff", "tool": "artifact_list",
			"arguments": obj{"channel": "design"}, "status": "completed",
			"result": obj{"content": []obj{{"type": "text", "text": "none"}}}}).
		printed("e2", "Script failed", "Script error: no").again(110, 100, 6)
	s.agent("Done.").record("r3", 120, 110, 7).again(120, 110, 7).end("x1", "Done.").
		begin("x2").agent("It was about code.").record("r4", 3, 0, 2).again(3, 0, 2).
		add("compacted", obj{"message": "It was about code."}).completed(obj{"type": "ContextCompaction", "id": "c"}).
		user("and now?").agent("Nothing.").record("r5", 50, 0, 5).again(50, 0, 5).end("x2", "Nothing.")
	put(t, dir, "sessions/2026/11/28/rollout-2026-11-28T11-37-43-"+codeID+".jsonl", s.String())

	old := start("2026-11-28T11:40:00Z").meta(scriptID, nil).begin("y1").user("go").agent("I go.").
		exec("o1", "const r = await tools.exec_command({cmd: 'ls', workdir: 'sub'}); text(r.output); tools.x(r)").
		record("q1", 10, 0, 1).printed("o1", "Script completed", "a.go").
		agent("Done.").record("q2", 20, 10, 2).end("y1", "Done.")
	put(t, dir, "sessions/2026/11/28/rollout-2026-11-28T11-40-00-"+scriptID+".jsonl", old.String())
	const header = "\nWall time 0.1 seconds\nOutput:\n\n"
	return []threadtest.Thread{
		{ID: codeID, Status: thread.Completed, Source: thread.Child,
			Messages: []string{"user: write it", "assistant: I write it.", "assistant: Done.", "assistant: It was about code.",
				"compaction: It was about code.", "user: and now?", "assistant: Nothing."},
			Calls: []string{"exec: Script completed" + header + "{}", "apply_patch: Success.\n",
				"exec: Script failed" + header + "Script error: no", "exec_command: FAIL\n",
				"mcp__agent_handoff__artifact_list: none"},
			Usage: tokens(383, 220, 25, 0, 5), Complete: thread.Exact},
		{ID: scriptID, Status: thread.Completed, Source: thread.Child,
			Messages: []string{"user: go", "assistant: I go.", "assistant: Done."},
			Calls:    []string{"exec: Script completed" + header + "a.go", "exec_command: ", "x: "},
			Usage:    tokens(30, 10, 3, 0, 2), Complete: thread.Exact},
	}
}
