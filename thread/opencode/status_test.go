package opencode_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
)

// TestExitStatus checks which exit status of a command is known: only what the
// tool records beside the output.
func TestExitStatus(t *testing.T) {
	for name, tt := range map[string]struct {
		metadata obj
		want     string
	}{
		"success": {obj{"exit": 0}, "0"},
		"failure": {obj{"exit": 2}, "2"},
		"unknown": {obj{"exit": nil}, "unknown"},
		"nothing": {nil, "unknown"},
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "opencode.db"), false,
			session(parentID, "", 0).user("one").step("stop", one, used("bash", "completed", "exit status 1", tt.metadata)))
		got := "unknown"
		if c := threadtest.Calls(t, provider(t, dir), parentID)[0]; c.Exit != nil {
			got = fmt.Sprint(*c.Exit)
		}
		if got != tt.want {
			t.Errorf("%s: got %s, want %s", name, got, tt.want)
		}
	}
}
