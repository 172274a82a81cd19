package progress_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/pipeline/progress"
)

func TestBrief(t *testing.T) {
	p := builtin()
	failing := change(t, valid["test"], fail)
	s := read(t, p, done("plan implement debug", "test", failing, "pipeline-trace.json",
		trace("plan implement test debug")))
	for _, tt := range []struct{ agent, want string }{
		{"jg-worker", "read   .pipeline/42/plan.json  1 file, 1 step, 1 criterion\nread   " +
			".pipeline/42/debug-diagnosis.json  fix_target\nwrite  .pipeline/42/worker-result.json\n"},
		{"jg-debugger", "read   .pipeline/42/plan.json  1 file, 1 step, 1 criterion\nread   .pipeline/42/test-result.json  " +
			"FAIL, 1 of 1 check failed\nwrite  .pipeline/42/debug-diagnosis.json\n"},
		{"jg-git", "write  .pipeline/42/git-result.json\n"},
	} {
		if step := progress.Next(p, s); step.Agent == tt.agent {
			tt.want += "ticket " + step.Ticket + "\n"
		}
		if got, err := progress.Brief(p, s, tt.agent, 2000); err != nil || got != tt.want {
			t.Errorf("%s: got %v\n%s\nwant\n%s", tt.agent, err, got, tt.want)
		}
	}
	s.Attempts = append(s.Attempts, progress.Attempt{Stage: "plan"})
	if got, err := progress.Brief(p, s, "jg-reviewer", 2000); err != nil ||
		!strings.Contains(got, "(stale: plan.json changed since)") {
		t.Errorf("got %s %v, want the stale artifact", got, err)
	}
	for agent, budget := range map[string]int{"nobody": 2000, "jg-worker": progress.MinBrief - 1} {
		if _, err := progress.Brief(p, s, agent, budget); !errors.Is(err, handoff.Invalid) {
			t.Errorf("%s in %d bytes: got %v, want Invalid", agent, budget, err)
		}
	}
}

// TestBriefHasNoBody checks that a brief does not contain text of an artifact.
func TestBriefHasNoBody(t *testing.T) {
	p := builtin()
	long := strings.Repeat("body ", 10_000)
	s := read(t, p, done("plan", "implement",
		change(t, valid["implement"], fmt.Sprintf(`"summary":%q,"blockers":[%q]`, long, long))))
	got, err := progress.Brief(p, s, "jg-reviewer", 300)
	if want := "read   .pipeline/42/plan.json  1 file, 1 step, 1 criterion\nread   .pipeline/42/worker-result.json  " +
		"completed, 1 file, 1 blocker\nwrite  .pipeline/42/review-result.json\n"; err != nil || got != want {
		t.Errorf("got %v\n%s\nwant\n%s", err, got, want)
	}
}

// TestBriefKeepsPaths shortens briefs whose paths have blanks: every path is whole, or
// counted as one more.
func TestBriefKeepsPaths(t *testing.T) {
	p := builtin()
	s := read(t, p, done("plan implement test"))
	s.Base = "/home/a b/" + strings.Repeat("my projects ", 6) + "/x"
	whole, err := progress.Brief(p, s, "jg-planner", 10_000)
	must(t, err)
	var paths []string
	for line := range strings.Lines(whole) {
		path, _, _ := strings.Cut(line[len("write  "):], "  ")
		paths = append(paths, strings.TrimSpace(path))
	}
	for budget := progress.MinBrief; budget < 800; budget += 7 {
		got, err := progress.Brief(p, s, "jg-planner", budget)
		must(t, err)
		lines := strings.Split(strings.TrimSpace(got), "\n")
		for i, line := range lines {
			if !strings.HasPrefix(line, "and ") && !strings.HasPrefix(line[min(len(line), len("write  ")):], paths[i]) {
				t.Errorf("%d bytes: %q does not have the path %q", budget, line, paths[i])
			}
		}
		if len(got) > budget || len(lines) < len(paths) && !strings.HasPrefix(lines[len(lines)-1], "and ") {
			t.Errorf("%d bytes: got %d:\n%s", budget, len(got), got)
		}
	}
}
