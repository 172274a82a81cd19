//go:build unix

package bench

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// BenchmarkThreadsMemory measures the memory of processes that index and search 1.15
// million messages in 3,500 threads, with HANDOFF_LONG, otherwise a hundredth of
// them. Each message has 30 of 20,000 words, the first of them often, and the word
// agent; one has the word needle.
func BenchmarkThreadsMemory(b *testing.B) {
	program, _ := programs(b)
	peak := filepath.Join(fresh(b), "peak")
	write(b, peak+".go", peakText)
	build(b, peak, peak+".go")
	home := fresh(b)
	files := 35
	if os.Getenv("HANDOFF_LONG") != "" {
		files *= 100
	}
	const messages = 330
	r := rand.New(rand.NewPCG(1, 1))
	for i := range files {
		conversation(b, home, i, messages, r)
	}
	time.Sleep(2 * time.Second) // a file that has just changed is read again
	run := func(name string, args ...string) {
		b.Run(name, func(b *testing.B) {
			most := int64(0)
			for b.Loop() {
				most = max(most, memory(b, home, peak,
					append([]string{program, "search", "--in", "threads", "--everywhere"}, args...)...))
			}
			b.ReportMetric(float64(most)/(1<<20), "MB-at-most")
		})
	}
	b.Logf("%d messages", files*messages)
	run("index", "quokkazebra")
	run("absent", "quokkazebra")
	run("rare", "needle")
	run("common", "agent")
	run("common/newest", "--newest", "agent")
	run("common/all-matches", "--limit", "0", "--json", "agent")
	run("common-words", "agent "+word(0)+" "+word(1))
	run("common-phrase", `"agent `+word(0)+`"`)
	run("rare-phrase", `"`+word(0)+" "+word(1)+" "+word(2)+" "+word(3)+`"`)
	run("prefix", "k*")
	run("prefix/of-half-of-the-words", "1*")
}

// word is a word of the threads of BenchmarkThreadsMemory.
func word(i int) string { return strconv.FormatInt(int64(i+1)*2654435761%(1<<32), 36) }

// thread writes a thread of Claude.
func conversation(b *testing.B, home string, i, messages int, r *rand.Rand) {
	id := fmt.Sprintf("%08x-0000-4000-8000-%012x", i*2654435761%(1<<32), i)
	dir := filepath.Join(home, ".claude", "projects", fmt.Sprintf("-home-u-project%d", i%20))
	must(b, os.MkdirAll(dir, 0o755))
	f, err := os.Create(filepath.Join(dir, id+".jsonl"))
	must(b, err)
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	for n := range messages {
		text := ""
		if i == 7 && n == 0 {
			text = "needle "
		}
		for k := range 30 {
			if k == 10 {
				text += "agent "
			}
			text += word(int(20000*r.Float64()*r.Float64()*r.Float64())) + " "
		}
		fmt.Fprintf(w,
			`{"uuid":"%08x-%s","sessionId":%q,"timestamp":"2026-02-20T12:%02d:%02dZ","version":"2.1.140","cwd":"/home/u/project","gitBranch":"main",`, n, id[9:], id, n/60%60, n%60)
		if n%2 == 0 {
			fmt.Fprintf(w, `"type":"user","message":{"role":"user","content":%q}}`+"\n", text)
			continue
		}
		fmt.Fprintf(w,
			`"type":"assistant","message":{"id":"msg_%d","role":"assistant","model":"claude-opus-4","content":[{"type":"text","text":%q}],"stop_reason":"end_turn","usage":{"input_tokens":12,"output_tokens":90}}}`+"\n", n, text)
	}
	must(b, w.Flush())
}
