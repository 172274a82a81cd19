package threadindex_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/internal/transcript/threadindex"
	"github.com/agent-handoff/handoff/transcript"
)

// TestInferred has two threads with the same calls: ones that did not change a file, as far as
// that is known, are in no collision, and one of a script that failed is inferred.
func TestInferred(t *testing.T) {
	tr := newTree(t, 1)
	patch := func(file string) string { return "*** Begin Patch\n*** Add File: " + file + "\n+x\n*** End Patch" }
	rollout := func() {
		id, text := tr.id(), ""
		add := func(kind string, payload object) {
			text += line(object{"timestamp": "2026-02-03T04:00:00Z", "type": kind, "payload": payload})
		}
		call := func(name, id, input string) {
			add("response_item", object{"type": "custom_tool_call", "name": name, "call_id": id, "input": input})
		}
		result := func(id, output string) {
			add("response_item", object{"type": "custom_tool_call_output", "call_id": id, "output": output})
		}
		changed := func(status, file string) {
			add("event_msg", object{"type": "item_completed", "item": object{"type": "FileChange", "id": "exec-" + file,
				"status": status, "changes": object{"/work/1/" + file: object{"type": "add", "content": "x\n"}}}})
		}
		add("session_meta", object{"id": id, "cwd": "/work/1", "cli_version": "0.171.0", "source": "cli"})
		add("response_item", object{"type": "message", "role": "user", "content": []object{
			{"type": "input_text", "text": "go"}}})
		call("exec", "a", "await tools.apply_patch(`"+patch("maybe.go")+"`)")
		result("a", "Script failed")
		call("exec", "b", "")
		for status, file := range map[string]string{"failed": "failed.go", "declined": "declined.go",
			"inProgress": "pending.go", "new": "unknown.go", "completed": "done.go"} {
			changed(status, file)
		}
		result("b", "Script completed")
		call("apply_patch", "c", patch("open.go"))
		dir := filepath.Join(tr.home, ".codex", "sessions", "2026", "02", "03")
		tr.write(filepath.Join(dir, "rollout-2026-02-03T04-00-00-"+id+".jsonl"), text)
	}
	rollout()
	rollout()

	files := threadindex.NewFiles(tr.set())
	for name, archive := range map[string]interface {
		Collisions(context.Context, threadindex.Query) (transcript.Collisions, error)
		Search(context.Context, threadindex.Search) (transcript.Matches, error)
	}{"files": files, "index": threadindex.NewIndex(files, filepath.Join(t.TempDir(), "threads.db"), time.Now, nil)} {
		_, err := archive.Search(t.Context(), threadindex.Search{Text: "absent"}) // which makes the index
		must(t, err)
		c, err := archive.Collisions(t.Context(), threadindex.Query{})
		must(t, err)
		got := map[string]bool{}
		for _, on := range c.Collisions {
			got[on.Path] = on.First.Inferred && on.Second.Inferred
		}
		tr.same(name, got, map[string]bool{"/work/1/maybe.go": true, "/work/1/done.go": false})
		for text, want := range map[string]bool{"maybe.go": true, "done.go": false} {
			found, err := archive.Search(t.Context(), threadindex.Search{Text: text, From: "tool"})
			must(t, err)
			if len(found.Matches) != 2 || len(found.Matches[0].Snippets) != 1 ||
				found.Matches[0].Snippets[0].Inferred != want {
				t.Errorf("%s: search %q: got %+v, want 2 threads with a snippet, inferred %t", name, text,
					found.Matches, want)
			}
		}
	}
}
