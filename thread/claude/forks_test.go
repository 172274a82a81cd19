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

// TestOtherTools reads transcripts of tools that write the format of Claude Code.
func TestOtherTools(t *testing.T) {
	const id = "019f0000-0000-7000-8000-000000000001"
	line :=
		`{"uuid":"u","sessionId":"ID","timestamp":"2026-01-21T05:56:34.812Z","type":"user","isSidechain":false,"message":{"role":"user","content":"hello"},"cwd":"/home/u/project"}` + "\n"
	for _, f := range []struct {
		driver thread.Driver
		dir    string
		stem   string
	}{{claude.IFlow(), ".iflow", "session-" + id}, {claude.Qoder(), ".qoder", id}} {
		home := t.TempDir()
		threadtest.WriteFile(t, strings.ReplaceAll(line, "ID", f.stem), home, f.dir, "projects/-home-u-project",
			f.stem+".jsonl")
		threadtest.CheckUnchanged(t, home)
		canonical, ok := f.driver.ID(strings.ToUpper(id))
		if !ok || canonical != f.stem {
			t.Errorf("%s: ID = %q, %v, want %q", f.driver.Name, canonical, ok, f.stem)
		}
		p := threadtest.Open(t, f.driver, home)
		th := threadtest.Load(t, p, canonical)
		if th.Provider != f.driver.Name || th.ID != f.stem || th.Cwd != "/home/u/project" ||
			th.State.Status != thread.Running {
			t.Errorf("%s: got %+v", f.driver.Name, th)
		}
		_, err := p.Thread(t.Context(), "x"+canonical)
		if !errors.Is(err, handoff.NotFound) || !strings.Contains(err.Error(), f.driver.Name+"/") {
			t.Errorf("%s: got %v, want not found", f.driver.Name, err)
		}
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
