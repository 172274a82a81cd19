package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/e2e/model"
)

// TestReviewed publishes in each program, and reviews that as another agent while the turn
// goes on: the comment is handed over once, the turn continues with it, and the next
// publication resolves it.
func TestReviewed(t *testing.T) {
	const comment = "Cap the delay at thirty seconds"
	for _, c := range []client{claude, codex, gemini, qwen} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			steps := []model.Step{
				{Text: "I publish.", Calls: []model.Call{
					c.tool("artifact_publish", map[string]any{"path": "README.md", "channel": "design"})}},
				{Text: "I wait for a review.", Calls: []model.Call{c.shell("handoff review design:latest " +
					"--request-changes --lines 1 -m - --agent ann --producer harness=other --session s2 < comment.txt")}},
				{Text: "I am done."},
				{Text: "I publish a revision.", Calls: []model.Call{
					c.tool("artifact_publish", map[string]any{"content": "Retry, with a cap.", "channel": "design",
						"replaces": []string{"design:latest"}, "resolves": []string{"all"}})}},
				{Text: "It is resolved."},
			}
			want := 1
			switch c.name {
			case "claude": // it states the reason of a stop hook twice in the same request
				want = 2
			case "qwen": // it calls its hook for prompts after each tool, too
				steps = slices.Delete(steps, 2, 3)
			}
			s := h.serve(model.Script{"design": steps})
			h.must(nil, "handoff", "init", "--agent", c.name, "--allow")
			c.configure(h, s.URL)
			h.write(filepath.Join(h.work, "comment.txt"), comment)
			h.must(c.env(s.URL), c.prompt("[[design]] Design the retries.")...)

			var page struct{ Artifacts []artifact }
			h.handoff(&page, "list", "--all", "--channel", "design", "--json")
			if len(page.Artifacts) != 2 {
				t.Fatalf("%s left %+v, want a revision of what was reviewed", c.name, page.Artifacts)
			}
			var first struct {
				Discussion []struct{ State, ResolvedBy string }
			}
			h.handoff(&first, "show", page.Artifacts[1].ID, "--json")
			if len(first.Discussion) != 1 || first.Discussion[0].State != "resolved" ||
				first.Discussion[0].ResolvedBy != page.Artifacts[0].ID {
				t.Errorf("%s: comments %+v, want one that the revision resolved", c.name, first.Discussion)
			}
			all := s.Requests()
			n := 0
			for _, turn := range all[len(all)-1].Turns {
				n += strings.Count(turn.Text, comment)
			}
			if n != want {
				t.Errorf("%s: the comment is %d times in the last request, want %d", c.name, n, want)
			}
		})
	}
}
