package claude_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/claude"
)

// TestIFlow reads a transcript of iFlow CLI.
func TestIFlow(t *testing.T) {
	const uuid = "019f0000-0000-7000-8000-000000000001"
	const id = "session-" + uuid
	line := `{"uuid":"u","sessionId":"` + id + `","timestamp":"2026-01-21T05:56:34.812Z","type":"user",` +
		`"isSidechain":false,"message":{"role":"user","content":"hello"},"cwd":"/home/u/project"}` + "\n"
	home := t.TempDir()
	threadtest.WriteFile(t, line, home, ".iflow", "projects/-home-u-project", id+".jsonl")
	threadtest.CheckUnchanged(t, home)
	driver := claude.IFlow()
	if canonical, ok := driver.ID(strings.ToUpper(uuid)); !ok || canonical != id {
		t.Errorf("ID = %q, %v, want %q", canonical, ok, id)
	}
	p := threadtest.Open(t, driver, home)
	th := threadtest.Load(t, p, id)
	if th.Provider != "iflow" || th.ID != id || th.Cwd != "/home/u/project" || th.State.Status != thread.Running {
		t.Errorf("got %+v", th)
	}
	_, err := p.Thread(t.Context(), "x"+id)
	if !errors.Is(err, handoff.NotFound) || !strings.Contains(err.Error(), "iflow/") {
		t.Errorf("got %v, want not found", err)
	}
}

// TestRealIFlow compares the published session of iFlow CLI with the reference values.
func TestRealIFlow(t *testing.T) {
	home := threadtest.Transcripts(t, "iflow", "kenn-io+agentsview")
	threadtest.CheckUnchanged(t, home)
	p := threadtest.Open(t, claude.IFlow(), home)
	const id = "session-5de701fc-7454-4858-a249-95cac4fd3b51"
	threadtest.CheckThread(t, p, id)
	for path, b := range threadtest.Expected(t, "iflow") {
		f := threadtest.Figures[struct {
			Lines    int
			Messages int
			Calls    int `json:"tool_calls"`
		}](t, b)
		if th := threadtest.Load(t, p, id); th.Lines != f.Lines || th.ToolCalls != f.Calls || th.Usage.Calls != f.Messages {
			t.Errorf("%s: got %+v, want %+v", path, th.Facts, f)
		}
	}
}
