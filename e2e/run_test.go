package e2e

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/e2e/model"
)

// TestRun runs each program with handoff run, without hooks: the thread is
// linked to the session, and the receipt has the usage of the ledger.
func TestRun(t *testing.T) {
	for _, c := range []client{claude, codex, gemini, opencode, pi} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			script := model.Script{"run": {
				{Text: "I list.", Calls: []model.Call{c.shell("ls")}, Usage: model.Usage{Input: 120, CacheRead: 2000, Output: 40}},
				{Text: "Done.", Usage: model.Usage{Input: 30, CacheRead: 2100, Output: 12}},
			}}
			s := h.serve(script)
			h.write(filepath.Join(h.dir, ".codex/config.toml"), "")
			c.configure(h, s.URL)
			out := h.must(c.env(s.URL), append([]string{"handoff", "run", "--agent", "ada", "--json", "--"},
				c.prompt("[[run]] Run.")...)...)
			var receipt struct {
				Work struct {
					Tasks []struct{ Thread, Agent, Status string }
					Usage struct {
						Completeness string
						TotalTokens  int64
					}
				}
			}
			if err := json.Unmarshal([]byte(out), &receipt); err != nil {
				t.Fatal(err)
			}
			var want int64
			for _, e := range s.Ledger() {
				if e.Mark == "run" {
					want += int64(e.Usage.Input + e.Usage.CacheRead + e.Usage.CacheWrite + e.Usage.Output)
				}
			}
			w := receipt.Work
			if len(w.Tasks) != 1 || !strings.HasPrefix(w.Tasks[0].Thread, "agents://"+c.provider+"/") ||
				w.Tasks[0].Agent != "ada" || w.Tasks[0].Status != "completed" {
				t.Fatalf("the receipt has %+v, want one thread of %s", w.Tasks, c.provider)
			}
			if w.Usage.TotalTokens != want {
				t.Errorf("the receipt has %d tokens, want the %d of the ledger", w.Usage.TotalTokens, want)
			}
			h.handoff(&struct{}{}, "thread", w.Tasks[0].Thread, "--json")
		})
	}
}

// TestRunTools runs each program in a session with another directory for the log. A shell and
// a tool publish: both are in the session and in that log, with the agent of the run, and what
// the tool wrote is the output that the session should leave.
func TestRunTools(t *testing.T) {
	for _, c := range hooked {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			s := h.serve(model.Script{"run": {
				{Text: "I write.", Calls: []model.Call{
					c.tool("write_artifact", map[string]any{"name": "context.md", "content": "Retry thrice."})}},
				{Text: "I publish.", Calls: []model.Call{c.shell("handoff publish README.md --channel design")}},
				{Text: "Done."},
			}})
			h.must(nil, "handoff", "init", "--agent", c.name, "--allow")
			c.configure(h, s.URL)
			env := append(c.env(s.URL), "HANDOFF_DIR="+filepath.Join(h.dir, "elsewhere"))
			out := h.must(env, append([]string{"handoff", "run", "--agent", "ada", "--expect", "context.md", "--json", "--"},
				c.prompt("[[run]] Run.")...)...)
			var receipt struct{ ID string }
			if err := json.Unmarshal([]byte(out), &receipt); err != nil {
				t.Fatal(err)
			}
			var page struct{ Artifacts []artifact }
			list := h.must(env, "handoff", "list", "--json", "--session", receipt.ID)
			if err := json.Unmarshal([]byte(list), &page); err != nil {
				t.Fatal(err)
			}
			if len(page.Artifacts) != 2 {
				t.Fatalf("the session %s has %+v, want what the tool and the shell published", receipt.ID, page.Artifacts)
			}
			for _, a := range page.Artifacts {
				if a.Producer.Agent != "ada" || a.Producer.Harness != c.harness {
					t.Errorf("%s: published by %+v, want ada in %s", a.Channel, a.Producer, c.harness)
				}
			}
		})
	}
}
