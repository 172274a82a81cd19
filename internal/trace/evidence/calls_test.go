package evidence

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/codex"
)

// TestLast has a command that failed, and then scripts whose texts have it again: none of
// these calls has a result.
func TestLast(t *testing.T) {
	const id = "019c871c-b1f9-7f60-9c4f-87ed09f13592"
	home := t.TempDir()
	dir := filepath.Join(home, ".codex", "sessions", "2026", "09", "20")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	const js = `tools.exec_command({cmd: 'go test'})`
	text := `{"type":"session_meta","payload":{"id":"` + id + `","cwd":"/w","cli_version":"0.147.0"}}` + "\n"
	for n, call := range [][3]string{
		{"shell", `{\"command\":[\"bash\",\"-lc\",\"go test\"]}`, `Exit code: 1\nOutput:\nFAIL`},
		{"exec", "if (again) " + js, "Script completed"}, {"exec", js, "Script failed"},
	} {
		text += `{"type":"response_item","payload":{"type":"custom_tool_call","name":"` + call[0] + `","call_id":"` +
			strconv.Itoa(n) + `","input":"` + call[1] + `"}}` + "\n" +
			`{"type":"response_item","payload":{"type":"custom_tool_call_output","call_id":"` + strconv.Itoa(n) +
			`","output":"` + call[2] + `"}}` + "\n"
	}
	file := filepath.Join(dir, "rollout-2026-09-20T09-00-00-"+id+".jsonl")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := Calls{Threads: thread.NewSet([]thread.Driver{codex.Driver()}, func(string) string { return "" }, home),
		InRepository: func(string) bool { return true }}
	found, ok, err := c.last(t.Context(), "agents://codex/"+id, "go test")
	if err != nil || !ok || found.status == nil || *found.status != 1 {
		t.Errorf("got %+v, %t, %v, want the command with exit status 1", found, ok, err)
	}
}
