package claude_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/claude"
)

// TestExitStatus checks which exit status of a command is known: only what the
// tool reports, never what the command printed.
func TestExitStatus(t *testing.T) {
	result := func(text string, failed bool, more any) obj {
		return obj{
			"message": obj{"role": "user", "content": []obj{
				{"type": "tool_result", "tool_use_id": "t", "content": text, "is_error": failed}}}, "toolUseResult": more}
	}
	for name, tt := range map[string]struct {
		tool, text string
		failed     bool
		more       any
		want       string
	}{
		"success":                 {"Bash", "ok", false, obj{"stdout": "ok", "interrupted": false}, "0"},
		"failure":                 {"Bash", "Exit code 2\nFAIL", true, "Error: Exit code 2\nFAIL", "2"},
		"output like a status":    {"Bash", "Exit code 2", false, obj{"stdout": "Exit code 2"}, "0"},
		"failure without status":  {"Bash", "Command timed out", true, "Error: Command timed out", "unknown"},
		"in the background":       {"Bash", "running", false, obj{"backgroundTaskId": "b1"}, "unknown"},
		"interrupted":             {"Bash", "", false, obj{"interrupted": true}, "unknown"},
		"a status of its own use": {"Bash", "", false, obj{"returnCodeInterpretation": "No matches found"}, "unknown"},
		"not a command":           {"Read", "text", false, nil, "unknown"},
	} {
		home := t.TempDir()
		put(t, home, ".claude", project+mainID+".jsonl", start(mainID, "", "2.1.140", 0).user("go").
			call("m", "t", tt.tool, obj{"command": "x"}, used(1, 0, 0, 0, 1)).add("user", result(tt.text, tt.failed, tt.more)).
			String())
		if got := status(threadtest.Calls(t, threadtest.Open(t, claude.Driver(), home), mainID)[0]); got != tt.want {
			t.Errorf("%s: got %s, want %s", name, got, tt.want)
		}
	}
}

// TestOutputDigest checks that the digest of a long output is that of all of it.
func TestOutputDigest(t *testing.T) {
	digest := func(end string) string {
		home := t.TempDir()
		put(t, home, ".claude", project+mainID+".jsonl", start(mainID, "", "2.1.140", 0).user("go").
			call("m", "t", "Bash", obj{"command": "x"}, used(1, 0, 0, 0, 1)).result("t", strings.Repeat("x", thread.MaxCall)+end,
			nil).String())
		return threadtest.Calls(t, threadtest.Open(t, claude.Driver(), home), mainID)[0].OutputDigest()
	}
	if a, b := digest("ok 1"), digest("ok 2"); a == b || len(a) != 64 {
		t.Errorf("got %s and %s, want two digests", a, b)
	}
}

func status(c thread.Call) string {
	if c.Exit == nil {
		return "unknown"
	}
	return fmt.Sprint(*c.Exit)
}
