package mcp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/pipelines"
)

// TestDecideByTools has two testers submit different results: stage_next answers with both
// and how to withdraw one, and then goes on with the other.
func TestDecideByTools(t *testing.T) {
	f := newFixture(t)
	w, err := workspace.Open(f.dir, workspace.Options{})
	must(t, err)
	t.Cleanup(func() { w.Close() })
	put := func(session, agent, stage, artifact string) {
		_, err := w.As(workspace.Caller{Dir: f.dir, Producer: handoff.Producer{Session: session, Agent: agent}}).Pipelines().
			Put(t.Context(), pipelines.Submission{Issue: "1", Stage: stage, Body: strings.NewReader(artifact)})
		must(t, err)
	}
	put("", "jg-subplanner", "plan",
		`{"affected_files":["a"],"steps":[{"order":1,"file":"a"}],"acceptance_mapping":{"AC1":"t"}}`)
	put("", "jg-worker", "implement", `{"status":"completed","files_changed":["a"],"blockers":[],"summary":"s"}`)
	put("a", "jg-tester", "test", `{"verdict":"FAIL","phase_1":{"u":{"result":"FAIL"}}}`)
	put("b", "jg-tester", "test", `{"verdict":"PASS","phase_1":{"u":{"result":"PASS"}}}`)
	s := f.connect("test", nil)
	got := mustCall(t, s, "stage_next", `{"issue":"1"}`)
	decide, _ := got.data["decide"].([]any)
	if len(decide) != 2 || got.str("agent") != "human" || strings.Count(got.text, "\ndecide  1/test-result.json@v") != 2 {
		t.Fatalf("stage_next: %s %v, want to decide between two", got.text, got.data)
	}
	for _, want := range []string{"reject the FAIL", "reject the PASS"} {
		if !strings.Contains(got.text, want) {
			t.Errorf("stage_next: %s, want it to %s", got.text, want)
		}
	}
	pass, _ := decide[1].(map[string]any)
	_, err = w.Withdraw(t.Context(), fmt.Sprint(pass["id"]), "")
	must(t, err)
	started, err := w.As(workspace.Caller{Dir: f.dir, Producer: handoff.Producer{Agent: "jg-debugger"}}).Pipelines().
		Start(t.Context(), "1", "debug", pipelines.StartOptions{})
	must(t, err)
	got = mustCall(t, s, "stage_next", `{"issue":"1"}`)
	if open, _ := got.data["open"].([]any); got.str("stage") != "debug" || len(open) != 1 ||
		!strings.Contains(got.text, started.Open[0].ID) {
		t.Errorf("stage_next: %s %v, want the open work on debug", got.text, got.data)
	}
}
