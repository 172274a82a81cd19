package codex_test

import (
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread/codex"
)

func TestRealResume(t *testing.T) { threadtest.CheckAllResume(t, codex.Driver(), ".codex") }

// TestResume reads a thread in code mode from each of its marks.
func TestResume(t *testing.T) {
	home := t.TempDir()
	codeMode(t, home)
	if n := threadtest.CheckResume(t, threadtest.Open(t, codex.Driver(), home), codeID); n == 0 {
		t.Error("got no marks")
	}
}
