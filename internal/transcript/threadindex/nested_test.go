package threadindex_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/internal/transcript/threadindex"
	"github.com/agent-handoff/handoff/transcript"
)

// TestNestedAgents has a subagent that started another one, which wrote in another
// directory. Both belong to the thread of the user.
func TestNestedAgents(t *testing.T) {
	tr := newTree(t, 1)
	main, child, inner := tr.id(), tr.id(), tr.id()
	rollout := func(id, parent, cwd, file string) {
		meta := object{"id": id, "cwd": cwd, "cli_version": "0.130.0", "source": "cli"}
		if parent != "" {
			meta["source"] = object{"subagent": object{
				"thread_spawn": object{"parent_thread_id": parent, "agent_role": "reviewer"}}}
		}
		text, call := "", tr.id()
		for _, record := range []object{
			{"type": "session_meta", "payload": meta},
			{"type": "response_item", "payload": object{
				"type": "message", "role": "user", "content": []object{{"type": "input_text", "text": "go"}}}},
			{"type": "response_item", "payload": object{
				"type": "custom_tool_call", "name": "apply_patch", "call_id": call,
				"input": "*** Begin Patch\n*** Update File: " + file + "\n+x\n*** End Patch"}},
			{"type": "response_item", "payload": object{
				"type": "custom_tool_call_output", "call_id": call, "output": "ok"}},
		} {
			record["timestamp"] = "2026-02-03T04:00:00Z"
			text += line(record)
		}
		tr.write(filepath.Join(tr.home, ".codex", "sessions", "2026", "02", "03", "rollout-2026-02-03T04-00-00-"+id+".jsonl"),
			text)
	}
	rollout(main, "", "/work/1", "main.go")
	rollout(child, main, "/work/1", "child.go")
	rollout(inner, child, "/elsewhere", "inner.go")

	ctx, q := t.Context(), threadindex.Query{In: threadindex.In("/work/1")}
	files := threadindex.NewFiles(tr.set())
	file := filepath.Join(t.TempDir(), "threads.db")
	index := threadindex.NewIndex(files, file, time.Now, nil)
	alone := threadindex.NewIndex(files, file+".alone", time.Now, nil)
	_, err := index.Search(ctx, threadindex.Search{Text: "absent"}) // which makes the index
	must(t, err)
	for _, archive := range []interface {
		Active(context.Context, threadindex.Query) ([]transcript.Active, []string, error)
		EachUsage(context.Context, threadindex.Query, func(threadindex.ThreadUsage) error) ([]string, error)
	}{files, index, alone} {
		active, _, err := archive.Active(ctx, q)
		must(t, err)
		got := map[string]string{}
		for _, a := range active {
			for _, w := range a.Writes {
				uri := w.URI
				uri.From, uri.To = 0, 0
				got[w.Path] = uri.String()
			}
		}
		tr.same("writes", got, map[string]string{
			"/work/1/main.go": "agents://codex/" + main, "/work/1/child.go": "agents://codex/" + main + "/" + child,
			"/elsewhere/inner.go": "agents://codex/" + child + "/" + inner})

		mains := map[string]string{}
		_, err = archive.EachUsage(ctx, q, func(u threadindex.ThreadUsage) error {
			mains[u.URI] = u.Main
			return nil
		})
		must(t, err)
		tr.same("mains", mains, map[string]string{"agents://codex/" + main: "",
			"agents://codex/" + main + "/" + child:  "agents://codex/" + main,
			"agents://codex/" + child + "/" + inner: "agents://codex/" + main})
	}
}

// TestNestedTranscripts has a subagent of Claude Code that started another one: the transcripts
// of both belong to the thread of the user, so none is missing.
func TestNestedTranscripts(t *testing.T) {
	tr := newTree(t, 1)
	const main = "0c4f3c1e-7b1a-4d59-9d0e-000000000001"
	record := func(kind, agent string, message, result object) string {
		o := object{"type": kind, "uuid": tr.id(), "sessionId": main, "version": "2.1.140", "cwd": "/work/1",
			"timestamp": "2026-02-03T04:00:00Z", "message": message}
		if agent != "" {
			o["agentId"], o["isSidechain"] = agent, true
		}
		if result != nil {
			o["toolUseResult"] = result
		}
		return line(o)
	}
	spawning := func(agent, child string) string {
		text := record("user", agent, object{"role": "user", "content": "go"}, nil)
		text += record("assistant", agent, object{"id": tr.id(), "role": "assistant", "model": "claude-opus-4-8",
			"content": []object{{"type": "tool_use", "id": "t" + child, "name": "Agent", "input": object{"prompt": "go"}}},
			"usage":   object{"input_tokens": 1, "output_tokens": 2}}, nil)
		return text + record("user", agent, object{"role": "user",
			"content": []object{{"type": "tool_result", "tool_use_id": "t" + child, "content": "done"}}},
			object{"status": "completed", "agentId": child})
	}
	project := filepath.Join(tr.home, ".claude", "projects", "-work-1")
	tr.write(filepath.Join(project, main+".jsonl"), spawning("", "a111"))
	tr.write(filepath.Join(project, main, "subagents", "agent-a111.jsonl"), spawning("a111", "a222"))
	tr.write(filepath.Join(project, main, "subagents", "agent-a222.jsonl"), spawning("a222", "a333"))

	files := threadindex.NewFiles(tr.set())
	for name, archive := range map[string]interface {
		EachUsage(context.Context, threadindex.Query, func(threadindex.ThreadUsage) error) ([]string, error)
	}{"files": files, "index": threadindex.NewIndex(files, filepath.Join(t.TempDir(), "threads.db"), time.Now, nil)} {
		missing := map[string]string{}
		_, err := archive.EachUsage(t.Context(), threadindex.Query{}, func(u threadindex.ThreadUsage) error {
			if u.Missing {
				missing[u.Self] = u.By
			}
			return nil
		})
		must(t, err)
		tr.same(name, missing, map[string]string{"agents://claude/a333": "agents://claude/a222"})
	}
}
