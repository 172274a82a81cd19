//go:build unix

package bench

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// BenchmarkThreadCodex compares processes: `handoff thread` and `wc -l` of the same
// file. Its rollouts have the size and the mix of records of those
// of Codex.
func BenchmarkThreadCodex(b *testing.B) {
	program, _ := programs(b)
	b.Run("60MB", func(b *testing.B) {
		home := fresh(b)
		path := rollout(b, home, 0, 60<<20, nil)
		o, p := turns(b, quiet(b, home, program, "thread", "codex/"+threadID(0)), quiet(b, home, "wc", "-l", path))
		b.ReportMetric(ms(o), "ms/thread")
		b.ReportMetric(ms(p), "ms/wc")
		b.ReportMetric(float64(o)/float64(p), "times-wc")
	})
	size := int64(256 << 20)
	if os.Getenv("HANDOFF_LONG") != "" {
		size = 2 << 30
	}
	b.Run(fmt.Sprintf("memory/%dMB", size>>20), func(b *testing.B) {
		home, bin := fresh(b), fresh(b)
		peak := filepath.Join(bin, "peak")
		write(b, peak+".go", peakText)
		build(b, peak, peak+".go")
		rollout(b, home, 0, size, nil)
		most := int64(0)
		for b.Loop() {
			for _, flag := range []string{"--full", "--tools", "--json"} {
				most = max(most, memory(b, home, peak, program, "thread", flag, "codex/"+threadID(0)))
			}
		}
		b.ReportMetric(float64(most)/(1<<20), "MB-at-most")
	})
}

// peakText is a program that runs another one and prints its peak memory use. It
// is small, because a new process counts the memory of its parent.
const peakText = `package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

func main() {
	c := exec.Command(os.Args[1], os.Args[2:]...)
	if err := c.Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
}
`

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// quiet returns a function that runs a program and ignores its output.
func quiet(b *testing.B, home, name string, args ...string) func() {
	return func() {
		c := exec.Command(name, args...)
		c.Dir, c.Env = home, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
		if err := c.Run(); err != nil {
			b.Fatalf("%s %q: %v", name, args, err)
		}
	}
}

// memory runs a program and returns its peak memory use in bytes.
func memory(b *testing.B, home, peak string, args ...string) int64 {
	c := exec.Command(peak, args...)
	c.Dir, c.Env = home, []string{"HOME=" + home}
	out, err := c.Output()
	must(b, err)
	n, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	must(b, err)
	if runtime.GOOS == "darwin" {
		return n
	}
	return n << 10
}

const children = 12

// rollouts writes 2,000 rollouts into the folders of a hundred days, 20 in each.
// The first is the parent of the next twelve. It returns two IDs from the middle:
// one that contains the time of its folder, and one that contains no time.
func rollouts(b *testing.B, home string) (known, unknown string) {
	const all, size = 2000, 200 << 10
	var kids []string
	for i := range children {
		kids = append(kids, threadID(i+1))
	}
	rollout(b, home, 0, size, kids)
	for i := 1; i < all; i++ {
		rollout(b, home, i, size, nil)
	}
	return threadID(all / 2), threadID(all/2 + 1)
}

// started returns when thread i started. Each started before the preceding one.
func started(i int) time.Time {
	return time.Date(2026, 2, 20, 12, 0, 0, 0, time.UTC).Add(-time.Duration(i) * 72 * time.Minute)
}

// threadID returns a UUID: of version 7 for even threads, of no version for odd
// ones.
func threadID(i int) string {
	t := fmt.Sprintf("%012x", started(i).UnixMilli())
	if i%2 == 1 {
		return fmt.Sprintf("%08x-0000-4000-8000-%012x", i*2654435761%(1<<32), i)
	}
	return fmt.Sprintf("%s-%s-7000-8000-%012x", t[:8], t[8:], i)
}

// rollout writes the rollout of thread i and returns its path.
func rollout(b *testing.B, home string, i int, size int64, kids []string) string {
	at := started(i)
	dir := filepath.Join(home, ".codex", "sessions", at.Format("2006/01/02"))
	must(b, os.MkdirAll(dir, 0o755))
	path := filepath.Join(dir, "rollout-"+at.Format("2006-01-02T15-04-05")+"-"+threadID(i)+".jsonl")
	f, err := os.Create(path)
	must(b, err)
	defer f.Close()
	w := &recorder{w: bufio.NewWriterSize(f, 1<<20), at: at}
	source := `"cli"`
	if i > 0 && i <= children {
		source = `{"subagent":{"thread_spawn":{"parent_thread_id":"` + threadID(0) + `","depth":1}}}`
	}
	w.add("session_meta",
		`{"id":%q,"cwd":"/home/u/project","cli_version":"0.130.0","source":%s,"base_instructions":{"text":%q}}`, threadID(i),
		source, prose(2200))
	w.add("event_msg", `{"type":"task_started","turn_id":"t"}`)
	w.message("user", prose(40))
	for n, kid := range kids {
		w.called(fmt.Sprint("spawn", n), "spawn_agent", `{"message":"go"}`, `{"agent_id":"`+kid+`"}`)
		w.called(fmt.Sprint("wait", n), "wait", `{"ids":["`+kid+`"]}`, `{"status":{"`+kid+`":{"completed":"done"}}}`)
	}
	for n := 1; w.size < size-4<<10; n++ {
		w.add("turn_context", `{"turn_id":"t%d","approval_policy":"never","model":"gpt-5","user_instructions":%q}`, n,
			prose(60))
		w.add("response_item", `{"type":"reasoning","summary":[{"type":"summary_text","text":%q}],"encrypted_content":%q}`,
			prose(40), strings.Repeat("0f", 256))
		w.called(fmt.Sprint("call", n), "exec_command", `{"cmd":"rg -n things"}`,
			strings.ReplaceAll(prose(240+n%240), " the ", "\n"))
		w.add("event_msg",
			`{"type":"token_count","info":{"total_token_usage":{"input_tokens":%d,"output_tokens":%d},"last_token_usage":{"input_tokens":1200,"cached_input_tokens":600,"output_tokens":90}}}`, n*1200, n*90)
		if n%4 == 0 {
			w.message("assistant", prose(80))
		}
	}
	w.message("assistant", "Done.")
	w.add("event_msg", `{"type":"task_complete","turn_id":"t","last_agent_message":"Done."}`)
	must(b, w.w.Flush())
	return path
}

// A recorder writes records in sequence.
type recorder struct {
	w    *bufio.Writer
	at   time.Time
	size int64
}

func (r *recorder) add(kind, payload string, args ...any) {
	r.at = r.at.Add(700 * time.Millisecond)
	n, _ := fmt.Fprintf(r.w, `{"timestamp":"%s","type":"%s","payload":%s}`+"\n", r.at.Format("2006-01-02T15:04:05.000Z"),
		kind, fmt.Sprintf(payload, args...))
	r.size += int64(n)
}

// message writes a message twice, as Codex does.
func (r *recorder) message(role, text string) {
	kind := map[string]string{"user": "user_message", "assistant": "agent_message"}[role]
	r.add("response_item", `{"type":"message","role":%q,"content":[{"type":"text","text":%q}]}`, role, text)
	r.add("event_msg", `{"type":%q,"message":%q}`, kind, text)
}

func (r *recorder) called(id, name, input, output string) {
	r.add("response_item", `{"type":"function_call","name":%q,"call_id":%q,"arguments":%q}`, name, id, input)
	r.add("response_item", `{"type":"function_call_output","call_id":%q,"output":%q}`, id, output)
}

// prose returns about n words.
func prose(n int) string {
	const some = "what the agent said about the file that the tests read before the next step was taken "
	return strings.Repeat(some, n/17+1)[:n*5]
}
