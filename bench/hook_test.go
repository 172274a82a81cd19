package bench

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/workspace"
)

// BenchmarkHook compares the hooks of an agent program, as complete processes in a
// workspace of 1,000 artifacts, with hello-world. Each event is new and is
// recorded; a start and the end of a turn are answered. On a busy machine, the
// processor time is the better figure.
func BenchmarkHook(b *testing.B) {
	program, hello := programs(b)
	dir := fresh(b)
	w, err := workspace.Open(dir, workspace.Options{Rand: rand.Reader})
	must(b, err)
	as := w.As(workspace.Caller{Dir: dir, Producer: handoff.Producer{Harness: "claude-code", Session: "s1"}})
	for i := range 1000 {
		write(b, filepath.Join(dir, "a.md"), fmt.Sprint(i, "\n"))
		_, err := as.Publish(b.Context(), handoff.Draft{
			Channel: "design", Path: "a.md", Title: fmt.Sprint("Draft ", i)})
		must(b, err)
	}
	must(b, w.Close())
	env := append(os.Environ(), "HOME="+dir)
	pass := func(payload string, n int) (processor time.Duration) {
		c := exec.Command(program, "hook", "claude")
		c.Dir, c.Env = dir, env
		c.Stdin = bytes.NewReader(fmt.Appendf(nil, payload, n, dir))
		if out, err := c.CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		return c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	}
	for name, payload := range map[string]string{
		"start":    `{"hook_event_name":"SessionStart","session_id":"s1","source":"resume","x":%d,"cwd":%q}`,
		"prompt":   `{"hook_event_name":"UserPromptSubmit","session_id":"s1","prompt_id":"p%d","cwd":%q}`,
		"turn":     `{"hook_event_name":"Stop","session_id":"s1","prompt_id":"p%d","cwd":%q}`,
		"subagent": `{"hook_event_name":"SubagentStop","session_id":"s1","agent_id":"a%d","last_assistant_message":"Fine.","cwd":%q}`,
		"other":    `{"hook_event_name":"PreToolUse","session_id":"s1","x":%d,"cwd":%q}`,
	} {
		b.Run(name, func(b *testing.B) {
			n := 0
			var used []time.Duration
			o, h := turns(b, func() { n++; used = append(used, pass(payload, n)) }, func() { run(b, dir, hello) })
			b.ReportMetric(float64(median(used).Microseconds())/1000, "ms-of-processor")
			b.ReportMetric(float64(o.Microseconds())/1000, "ms/hook")
			b.ReportMetric(float64(h.Microseconds())/1000, "ms/hello")
			b.ReportMetric(float64((o-h).Microseconds())/1000, "ms-more")
		})
	}
}
