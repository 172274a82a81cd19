package cursor_test

import (
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
)

// TestCallsWithoutResults has calls whose results are not recorded, as in newer versions.
func TestCallsWithoutResults(t *testing.T) {
	call := line("user", text("go")) + line("assistant", text("[REDACTED]"), use("Shell"))
	ended := func(status string) string { return encode(obj{"type": "turn_ended", "status": status}) + "\n" }
	for name, tt := range map[string]struct {
		more              string
		pending, inferred bool
	}{
		"the newest":              {"", true, false},
		"before an answer":        {line("assistant", text("Done.")), false, true},
		"before the end":          {ended("success"), false, true},
		"before the end by abort": {ended("aborted"), true, false},
	} {
		home := t.TempDir()
		threadtest.WriteFile(t, call+tt.more, home, ".cursor/projects/p/agent-transcripts", doneID+".jsonl")
		calls := threadtest.Calls(t, provider(t, home), doneID)
		if len(calls) != 1 || calls[0].Pending != tt.pending || calls[0].Inferred != tt.inferred {
			t.Errorf("%s: got %+v, want pending %v and inferred %v", name, calls, tt.pending, tt.inferred)
		}
	}
}
