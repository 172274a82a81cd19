//go:build unix

package bench

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// BenchmarkThreads compares processes: searches of 345 MB of threads in 3,500
// files, which are 2,000 sessions of Claude, 1,000 subagents of them and 500 rollouts
// of Codex, and hello-world, or ripgrep of the same files if it is installed, otherwise
// grep.
func BenchmarkThreads(b *testing.B) {
	program, hello := programs(b)
	peak := filepath.Join(fresh(b), "peak")
	write(b, peak+".go", peakText)
	build(b, peak, peak+".go")
	home := fresh(b)
	last := archive(b, home)
	search := func(args ...string) []string {
		return append([]string{"search", "--in", "threads", "--everywhere"}, args...)
	}
	finder := []string{"grep", "-rlwi"}
	if rg, err := exec.LookPath("rg"); err == nil {
		finder = []string{rg, "-lwi", "--no-ignore", "--hidden"}
	}
	b.Run("search/absent/no-index", func(b *testing.B) {
		o, p := turns(b, quiet(b, home, program, search("quokkazebra", "--no-index")...), func() {
			c := exec.Command(finder[0], append(finder[1:], "quokkazebra", ".codex", ".claude")...)
			c.Dir, c.Env = home, []string{"LC_ALL=C", "PATH=" + os.Getenv("PATH")}
			c.Run() // exits 1: there is no match
		})
		b.ReportMetric(ms(o), "ms/search")
		b.ReportMetric(ms(p), "ms/"+filepath.Base(finder[0]))
		b.ReportMetric(float64(o)/float64(p), "times")
	})
	b.Run("index/cold", func(b *testing.B) {
		most := int64(0)
		for b.Loop() {
			must(b, os.RemoveAll(filepath.Join(home, ".cache")))
			most = max(most, memory(b, home, peak, append([]string{program}, search("quokkazebra")...)...))
		}
		b.ReportMetric(float64(most)/(1<<20), "MB-at-most")
	})
	b.Run("search/absent", func(b *testing.B) { against(b, hello, home, program, search("quokkazebra")...) })
	b.Run("search/rare", func(b *testing.B) { against(b, hello, home, program, search("needle")...) })
	b.Run("search/common", func(b *testing.B) { against(b, hello, home, program, search("agent")...) })
	b.Run("search/line-added", func(b *testing.B) {
		again := quiet(b, home, program, search("quokkazebra")...)
		o, p := turns(b, func() { appendLine(b, last); again() }, again)
		b.ReportMetric(ms(o-p), "ms-more")
	})
}

// BenchmarkThreadsList lists the newest of 22,600 threads.
func BenchmarkThreadsList(b *testing.B) {
	const all, size = 22600, 6 << 10
	program, hello := programs(b)
	home := fresh(b)
	for i := range all {
		rollout(b, home, i, size, nil)
	}
	against(b, hello, home, program, "threads", "--everywhere", "--limit", "5")
}

// archive writes the threads of BenchmarkThreads and returns the path of a
// rollout. One of them has the word needle.
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
