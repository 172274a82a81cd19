package mcp_test

import (
	"strings"
	"testing"
)

// TestWarnings checks that tools that record, and status, warn about settings of the
// repository that are ignored.
func TestWarnings(t *testing.T) {
	f := newFixture(t)
	f.write(".handoff/config.yaml", "keep_threads: true\n")
	s := f.connect("test", nil)
	const want = "\nwarning: keep_threads in "
	for tool, arguments := range map[string]string{
		"artifact_publish": `{"content":"x","channel":"design"}`, "status": `{}`,
		"write_artifact": `{"name":"a.md","content":"x","run":"r1"}`,
	} {
		got := mustCall(t, s, tool, arguments).text
		if !strings.Contains(got, want) || !strings.Contains(got, "; ask the user to decide it") {
			t.Errorf("%s: %s", tool, got)
		}
	}
	if got := mustCall(t, s, "artifact_list", `{}`).text; strings.Contains(got, "keep_threads") {
		t.Errorf("artifact_list: %s", got)
	}
}
