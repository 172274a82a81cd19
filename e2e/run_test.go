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
