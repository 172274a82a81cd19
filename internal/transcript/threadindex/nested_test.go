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
		text := ""
		for _, record := range []object{
			{"type": "session_meta", "payload": meta},
			{"type": "response_item", "payload": object{
				"type": "message", "role": "user", "content": []object{{"type": "input_text", "text": "go"}}}},
			{"type": "response_item", "payload": object{"type": "custom_tool_call", "name": "apply_patch", "call_id": tr.id(),
				"input": "*** Begin Patch\n*** Update File: " + file + "\n+x\n*** End Patch"}},
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
