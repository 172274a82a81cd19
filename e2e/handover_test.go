package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/e2e/model"
)

// TestHandOver lets Claude Code publish a hand-over, with a tool that it has from the start.
// Codex has it in its first request in another worktree of the branch, and not on another
// branch.
func TestHandOver(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	const title = "The retries are half done"
	publish := claude.tool("artifact_publish",
		map[string]any{"content": "Next: the cap.", "channel": "handoff", "title": title})
	s := h.serve(model.Script{"hand": {{Text: "I publish.", Calls: []model.Call{publish}}, {Text: "Done."}},
		"next": {{Text: "I see."}}})
	for _, c := range []client{claude, codex} {
		h.must(nil, "handoff", "init", "--agent", c.name, "--allow")
		c.configure(h, s.URL)
	}
	h.must(claude.env(s.URL), claude.prompt("[[hand]] Hand over.")...)
	if first := s.Requests()[0]; !slices.Contains(first.Tools, publish.Name) {
		t.Errorf("the first request of Claude Code does not offer %s: %v", publish.Name, first.Tools)
	}
	main := h.work
	for branch, want := range map[string]bool{"main": true, "other": false} {
		dir := filepath.Join(filepath.Dir(main), branch)
		h.work = main
		if branch == "main" {
			h.must(nil, "git", "worktree", "add", "-q", "--force", dir, branch)
		} else {
			h.must(nil, "git", "worktree", "add", "-q", "-b", branch, dir)
		}
		h.work = dir
		before := len(s.Requests())
		h.must(codex.env(s.URL), codex.prompt("[[next]] Go on.")...)
		got := slices.ContainsFunc(s.Requests()[before].Turns, func(turn model.Turn) bool {
			return strings.Contains(turn.Text, title)
		})
		if got != want {
			t.Errorf("on branch %s, the first request of Codex has the hand-over: %v, want %v", branch, got, want)
		}
	}
}
