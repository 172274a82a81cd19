//go:build unix

package bench

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// archive writes 345 MB of threads in 3,500 files, which are 2,000 sessions of Claude,
// 1,000 subagents of them and 500 rollouts of Codex, and returns the path of a rollout. One of
// them has the word needle.
func archive(b *testing.B, home string) (path string) {
	const sessions, agents, rollouts, size = 2000, 1000, 500, 100 << 10
	for i := range rollouts {
		path = rollout(b, home, i, size, nil)
	}
	for i := range sessions {
		id := fmt.Sprintf("%08x-0000-4000-8000-%012x", i*2654435761%(1<<32), i)
		dir := filepath.Join(home, ".claude", "projects", fmt.Sprintf("-home-u-project%d", i%20))
		write(b, filepath.Join(dir, id+".jsonl"), session(id, "", size))
		if i < agents {
			agent := fmt.Sprintf("a%07x", i)
			write(b, filepath.Join(dir, id, "subagents", "agent-"+agent+".jsonl"), session(id, agent, size))
		}
	}
	appendLine(b, path)
	return path
}

// session returns the transcript of a session of Claude, or of a subagent of it.
func session(id, agent string, size int) string {
	var out bytes.Buffer
	for n := 0; out.Len() < size; n++ {
		head := fmt.Sprintf(
			`{"uuid":"%08x-%s","sessionId":%q,"agentId":%q,"isSidechain":%t,"timestamp":"2026-02-20T12:%02d:%02dZ","version":"2.1.140","cwd":"/home/u/project","gitBranch":"main",`,
			n, id[9:], id, agent, agent != "", n/60%60, n%60)
		call := fmt.Sprintf("toolu_%s%d", id[:8], n/3)
		switch n % 3 {
		case 0:
			fmt.Fprintf(&out, head+`"type":"user","message":{"role":"user","content":%q}}`+"\n", prose(40))
		case 1:
			fmt.Fprintf(&out,
				head+
					`"type":"assistant","message":{"id":"msg_%d","role":"assistant","model":"claude-opus-4","content":[{"type":"text","text":%q},{"type":"tool_use","id":%q,"name":"Bash","input":{"command":"go test ./..."}}],"stop_reason":"tool_use","usage":{"input_tokens":12,"cache_read_input_tokens":3400,"output_tokens":90}}}`+"\n", n, prose(60), call)
		default:
			fmt.Fprintf(&out,
				head+`"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":%q}]}}`+
					"\n", call, prose(150))
		}
	}
	return out.String()
}

// appendLine appends a message to a rollout.
func appendLine(tb testing.TB, path string) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	must(tb, err)
	_, err = f.WriteString(
		`{"timestamp":"2026-02-21T00:00:00Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"a needle"}]}}` + "\n")
	must(tb, err)
	must(tb, f.Close())
}
