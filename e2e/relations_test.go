package e2e

import (
	"testing"

	"github.com/agent-handoff/handoff/e2e/model"
)

// TestRelations lets a subagent review what the main agent published, and the main agent what
// the subagent published. The first never counts. docs/reviews.md has the table.
func TestRelations(t *testing.T) {
	for _, c := range []client{claude, codex, gemini, opencode, qwen} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			review := func(ref string) []model.Call {
				return []model.Call{c.tool("artifact_review", map[string]any{"ref": ref, "decision": "approved"})}
			}
			main := []model.Step{{Text: "I publish.", Calls: []model.Call{
				c.tool("artifact_publish", map[string]any{"path": "README.md", "channel": "design"})}}}
			main = append(main, c.spawn("[[review]] Review the design.")...)
			main = append(main, model.Step{Text: "I review.", Calls: review("patch:latest")}, model.Step{Text: "Done."})
			s := h.serve(model.Script{"design": main, "review": {
				{Text: "I approve.", Calls: review("design:latest")},
				{Text: "I publish.", Calls: []model.Call{
					c.tool("artifact_publish", map[string]any{"content": "Retry thrice.", "channel": "patch"})}},
				{Text: "It is done.", Calls: c.finish},
			}})
			h.must(nil, "handoff", "init", "--agent", c.name, "--allow")
			c.configure(h, s.URL)
			h.must(c.env(s.URL), c.prompt("[[design]] Design the retries.")...)

			want := map[string]string{"design": "self", "patch": "lead"}
			if c.subagentIsMain || c.subagentToolIsMain {
				want["patch"] = "self"
			}
			for channel, relation := range want {
				var a struct {
					Reviews []struct {
						By struct{ Relation, Thread string }
					}
				}
				h.handoff(&a, "show", channel+":latest", "--json")
				if len(a.Reviews) != 1 || a.Reviews[0].By.Relation != relation {
					t.Errorf("%s: reviews of %s: %+v, want one by %s", c.name, channel, a.Reviews, relation)
				}
			}
		})
	}
}
