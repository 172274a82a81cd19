package mcp_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/pipelines"
)

// TestOwnPipelineByTools drives a run of an own pipeline by tools: files of a pattern, an
// outcome, an artifact that violates its contract, and the schema of the run.
func TestOwnPipelineByTools(t *testing.T) {
	f := newFixture(t)
	must(t, os.WriteFile(filepath.Join(f.dir, "handoff.pipeline.yaml"), []byte(`stages:
  - {id: notes, by: a, writes: "notes/*.md"}
  - {id: text, by: b, needs: [notes], writes: text.md, format: {headings: [Goal]}, on: {redo: notes}}
  - {id: data, by: b, needs: [text], writes: data.json, format: {schema: {type: object, required: [n]}}}
`), 0o666))
	must(t, os.MkdirAll(filepath.Join(f.dir, "found"), 0o777))
	must(t, os.WriteFile(filepath.Join(f.dir, "found", "a.md"), []byte("a"), 0o666))
	w, err := workspace.Open(f.dir, workspace.Options{})
	must(t, err)
	t.Cleanup(func() { w.Close() })
	_, err = w.Pipelines().Init(t.Context(), "1", pipelines.InitOptions{})
	must(t, err)
	must(t, os.Remove(filepath.Join(f.dir, "handoff.pipeline.yaml")))
	s := f.connect("test", nil)
	next := func(want string) {
		t.Helper()
		if got := mustCall(t, s, "stage_next", `{"issue":"1"}`); got.str("stage") != want {
			t.Errorf("stage_next: %s, want %s", got.text, want)
		}
	}
	mustCall(t, s, "stage_put", `{"issue":"1","stage":"notes","agent":"a","path":"found"}`)
	next("text")
	if got := call(t, s, "stage_put", `{"issue":"1","stage":"text","agent":"b","content":"# Aim"}`); !got.isErr ||
		!strings.Contains(got.text, `has no heading "Goal"`) {
		t.Errorf("stage_put: %s, want the missing heading", got.text)
	}
	mustCall(t, s, "stage_put", `{"issue":"1","stage":"text","agent":"b","content":"# Goal","outcome":"redo"}`)
	next("notes")
	mustCall(t, s, "stage_put", `{"issue":"1","stage":"notes","agent":"a","path":"found"}`)
	mustCall(t, s, "stage_put", `{"issue":"1","stage":"text","agent":"b","content":"# Goal"}`)
	next("data")
	got := mustCall(t, s, "stage_schema", `{"stage":"data","issue":"1"}`)
	if !strings.Contains(got.text, `"n"`) {
		t.Errorf("stage_schema: %s, want that of the run", got.text)
	}
	got = mustCall(t, s, "stage_put", `{"issue":"1","stage":"data","agent":"b","content":"{}","lenient":true}`)
	if !strings.Contains(got.text, "/n: is missing") {
		t.Errorf("stage_put: %s, want a warning", got.text)
	}
	next("")
	got = mustCall(t, s, "stage_schema", `{}`)
	if !strings.Contains(got.text, "handoff.pipeline.yaml") {
		t.Errorf("stage_schema: %s, want that of a definition", got.text)
	}
}

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
