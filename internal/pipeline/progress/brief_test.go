package progress_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
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
		if got, err := progress.Brief(p, s, tt.agent, 2000, nil); err != nil || got != tt.want {
			t.Errorf("%s: got %v\n%s\nwant\n%s", tt.agent, err, got, tt.want)
		}
	}
	s.Attempts = append(s.Attempts, progress.Attempt{Stage: "plan"})
	if got, err := progress.Brief(p, s, "jg-reviewer", 2000, nil); err != nil ||
		!strings.Contains(got, "(stale: plan.json changed since)") {
		t.Errorf("got %s %v, want the stale artifact", got, err)
	}
	for agent, budget := range map[string]int{"nobody": 2000, "jg-worker": progress.MinBrief - 1} {
		if _, err := progress.Brief(p, s, agent, budget, nil); !errors.Is(err, handoff.Invalid) {
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
	got, err := progress.Brief(p, s, "jg-reviewer", 300, nil)
	if want := "read   .pipeline/42/plan.json  1 file, 1 step, 1 criterion\nread   .pipeline/42/worker-result.json  " +
		"completed, 1 file, 1 blocker\nwrite  .pipeline/42/review-result.json\n"; err != nil || got != want {
		t.Errorf("got %v\n%s\nwant\n%s", err, got, want)
	}
}

// TestBriefKeepsPaths shortens briefs whose paths have blanks: every path is whole, or
// counted among those that are left out.
func TestBriefKeepsPaths(t *testing.T) {
	p := builtin()
	s := read(t, p, done("plan implement test"))
	s.Base = "/home/a b/" + strings.Repeat("my projects ", 6) + "/x"
	whole, err := progress.Brief(p, s, "jg-planner", 10_000, nil)
	must(t, err)
	var paths []string
	for line := range strings.Lines(whole) {
		path, _, _ := strings.Cut(line[len("write  "):], "  ")
		paths = append(paths, strings.TrimSpace(path))
	}
	for budget := progress.MinBrief; budget < 800; budget += 7 {
		got, err := progress.Brief(p, s, "jg-planner", budget, nil)
		must(t, err)
		lines := strings.Split(strings.TrimSpace(got), "\n")
		shown := 0
		for _, line := range lines {
			var more int
			if _, err := fmt.Sscanf(line, "and %d more", &more); err == nil {
				shown += more
				continue
			}
			if shown >= len(paths) || !strings.HasPrefix(line[min(len(line), len("write  ")):], paths[shown]) {
				t.Errorf("%d bytes: %q does not have the next path", budget, line)
			}
			shown++
		}
		if len(got) > budget || shown != len(paths) {
			t.Errorf("%d bytes: got %d:\n%s", budget, len(got), got)
		}
	}
}

// TestBriefPrompt checks the prompt of a step of an own pipeline, also of one that can be
// done at the same time: who does what and why, what to verify, and how to submit it.
func TestBriefPrompt(t *testing.T) {
	all, err := contract.Parse("p.yaml", []byte(`stages:
- {id: web, by: searcher, writes: "web/*.md", purpose: what pages say, on: {none: human}}
- {id: code, by: reader, writes: code.md, format: {headings: [Calls]}, gate: {verified: [{command: [go, vet], dir: api}]}}
- {id: data, by: writer, writes: d.json, format: {schema: {type: object}}, on: {FAIL: web}}
`), nil)
	must(t, err)
	p := all[""]
	s := progress.State{Issue: "7", Folder: ".pipeline/7"}
	word := func(h handoff.Hint) string { return h.Text + ": " + fmt.Sprint(h.Action, " ", h.Args) }
	for agent, want := range map[string]string{
		"searcher": "You are searcher. Do the stage web of run 7: web/*.md does not exist yet.\nThe result is what pages say.\n" +
			"write  .pipeline/7/web/*.md\nticket T\nSubmit it: submit stage as [7 web DIRECTORY searcher TICKET]\n" +
			"Submit it with the outcome none, which leads to human: submit with outcome " +
			"[7 web DIRECTORY searcher TICKET none]\n",
		"reader": "You are reader. Do the stage code of run 7: code.md does not exist yet.\nwrite  .pipeline/7/code.md\nticket T\n" +
			"The file has the headings Calls.\nVerify it before you submit it, in api: attest [go vet]\n" +
			"Submit it: submit stage as [7 code FILE reader TICKET]\n",
		"writer": "You are writer. Do the stage data of run 7: d.json does not exist yet.\nwrite  .pipeline/7/d.json\nticket T\n" +
			"See the schema of the file: print run stage schema [data 7]\n" +
			"Submit it: submit stage as [7 data FILE writer TICKET]\nThe outcome FAIL leads to web.\n",
	} {
		got, err := progress.Brief(p, s, agent, 2000, word)
		got = regexp.MustCompile(`t1\.\S+`).ReplaceAllString(got, "T")
		if err != nil || got != want {
			t.Errorf("%s: got %v\n%s\nwant\n%s", agent, err, got, want)
		}
	}
}
