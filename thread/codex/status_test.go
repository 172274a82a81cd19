package codex_test

import (
	"fmt"
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread/codex"
)

// TestExitStatus checks which exit status of a command is known: only what the
// tool reports, never what the command printed.
func TestExitStatus(t *testing.T) {
	for name, tt := range map[string]struct {
		output any
		want   string
	}{
		"metadata":            {obj{"output": "FAIL\n", "metadata": obj{"exit_code": 2}}, "2"},
		"metadata and output": {obj{"output": "Exit code: 0\nOutput:\n", "metadata": obj{"exit_code": 2}}, "2"},
		"a shell command":     {"Exit code: 1\nWall time: 0.2 seconds\nOutput:\nFAIL\n", "1"},
		"a unified command": {"Chunk ID: ab\nWall time: 0.0 seconds\nProcess exited with code 0\nOriginal token " +
			"count: 3\nOutput:\nProcess exited with code 3\n", "0"},
		"a command that goes on": {
			"Chunk ID: ab\nWall time: 10 seconds\nProcess running with session ID 7\nOutput:\nExit code: 0\n", "unknown"},
		"output without a header": {"Process exited with code 0\n", "unknown"},
		"not a number":            {"Exit code: none\nOutput:\n", "unknown"},
	} {
		home := t.TempDir()
		put(t, home, rolloutFile, start("2026-02-22T20:48:50Z").meta(parentID, nil).begin("t1").user("go").call("c", "shell",
			obj{"command": []string{"x"}}, tt.output).String())
		got := "unknown"
		if c := threadtest.Calls(t, threadtest.Open(t, codex.Driver(), home), parentID)[0]; c.Exit != nil {
			got = fmt.Sprint(*c.Exit)
		}
		if got != tt.want {
			t.Errorf("%s: got %s, want %s", name, got, tt.want)
		}
	}
}
