package pipeline_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/pipeline"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
)

func TestBrief(t *testing.T) {
	p := contract.Builtin()
	failing := change(t, good["test"], fail)
	s := read(t, p, done("plan implement debug", "test", failing, "pipeline-trace.json", trace("plan implement test debug")))
	for _, tt := range []struct{ agent, want string }{
		{"jg-worker", "read   .pipeline/42/plan.json  1 files, 1 steps, 1 criteria\nread   .pipeline/42/debug-diagnosis.json  fix_target\nwrite  .pipeline/42/worker-result.json\n"},
		{"jg-debugger", "read   .pipeline/42/plan.json  1 files, 1 steps, 1 criteria\nread   .pipeline/42/test-result.json  FAIL, 1 of 1 checks failed\nwrite  .pipeline/42/debug-diagnosis.json\n"},
		{"jg-git", "write  .pipeline/42/git-result.json\n"},
	} {
		if got, err := pipeline.Brief(p, s, tt.agent, 2000); err != nil || got != tt.want {
			t.Errorf("%s: got %v\n%s\nwant\n%s", tt.agent, err, got, tt.want)
		}
	}
	s.Writes = append(s.Writes, pipeline.Write{Stage: "plan"})
	if got, err := pipeline.Brief(p, s, "jg-reviewer", 2000); err != nil || !strings.Contains(got, "(stale: plan.json changed after it)") {
		t.Errorf("got %s %v, want what is stale", got, err)
	}
	for agent, budget := range map[string]int{"nobody": 2000, "jg-worker": pipeline.MinBrief - 1} {
		if _, err := pipeline.Brief(p, s, agent, budget); !errors.Is(err, handoff.Invalid) {
			t.Errorf("%s in %d bytes: got %v, want a refusal", agent, budget, err)
		}
	}
}

// TestBriefHoldsNoBody holds that a long artifact makes no longer brief.
func TestBriefHoldsNoBody(t *testing.T) {
	p := contract.Builtin()
	long := strings.Repeat("body ", 10_000)
	s := read(t, p, done("plan", "implement", change(t, good["implement"], fmt.Sprintf(`"summary":%q,"blockers":[%q]`, long, long))))
	got, err := pipeline.Brief(p, s, "jg-tester", 300)
	if want := "read   .pipeline/42/worker-result.json  completed, 1 files, 1 blockers\nwrite  .pipeline/42/test-result.json\n"; err != nil || got != want {
		t.Errorf("got %v\n%s\nwant\n%s", err, got, want)
	}
}
