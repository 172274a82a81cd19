package bench

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// BenchmarkThreadGemini measures whole processes that read one of 400 chats of
// 225 KB each, in 20 projects and in one, against a program that says hello.
func BenchmarkThreadGemini(b *testing.B) {
	program, hello := programs(b)
	words := strings.Repeat("lorem ipsum dolor sit amet consectetur adipiscing elit ", 33)
	var body bytes.Buffer
	for n := range 120 {
		kind := [...]string{"user", "gemini"}[n%2]
		fmt.Fprintf(&body, ",{\"id\":\"%d\",\"timestamp\":\"2026-01-08T12:00:00.000Z\",\"type\":%q,\"content\":%q}", n, kind, words)
	}
	for _, projects := range []int{20, 1} {
		for _, ext := range []string{".json", ".jsonl"} {
			home := fresh(b)
			for i := range 400 {
				id := chatID(i)
				begun := time.Date(2026, 1, 8, 0, i, 0, 0, time.UTC)
				head := fmt.Sprintf(`{"sessionId":%q,"projectHash":"h","startTime":%q,"lastUpdated":%q`, id, begun.Format(time.RFC3339), begun.Format(time.RFC3339))
				text := head + `,"messages":[` + strings.TrimPrefix(body.String(), ",") + `]}`
				if ext == ".jsonl" {
					text = head + `}` + strings.ReplaceAll(body.String(), ",{\"id\"", "\n{\"id\"") + "\n"
				}
				write(b, filepath.Join(home, ".gemini/tmp", fmt.Sprint("project", i%projects), "chats", "session-"+begun.Format("2006-01-02T15-04")+"-"+id[:8]+ext), text)
			}
			for name, args := range map[string][]string{"read": nil, "head": {"-I"}} {
				b.Run(fmt.Sprintf("%s/%dprojects/%s", ext[1:], projects, name), func(b *testing.B) {
					against(b, hello, home, program, append([]string{"thread", "gemini/" + chatID(200)}, args...)...)
				})
			}
		}
	}
}

func chatID(i int) string { return fmt.Sprintf("%08x-0000-4000-8000-%012x", 0x51a30000+i*977, i) }

// BenchmarkThreadPi reads one of 1,000 sessions of 60 KB.
func BenchmarkThreadPi(b *testing.B) {
	program, hello := programs(b)
	home := fresh(b)
	words := strings.Repeat("lorem ipsum dolor sit amet consectetur adipiscing elit ", 18)
	for i := range 1000 {
		var s strings.Builder
		fmt.Fprintf(&s, "{\"type\":\"session\",\"version\":3,\"id\":%q,\"timestamp\":\"2026-02-23T13:00:12.780Z\",\"cwd\":\"/home/u/p\"}\n", chatID(i))
		parent := "null"
		for n := range 55 {
			id := fmt.Sprintf(`"%08x"`, n)
			fmt.Fprintf(&s, "{\"type\":\"message\",\"id\":%s,\"parentId\":%s,\"message\":{\"role\":%q,\"content\":[{\"type\":\"text\",\"text\":%q}]}}\n", id, parent, [...]string{"user", "assistant"}[n%2], words)
			parent = id
		}
		write(b, filepath.Join(home, ".pi/agent/sessions", fmt.Sprintf("--home-u-p%d--", i%30), "2026-02-23T13-00-12-780Z_"+chatID(i)+".jsonl"), s.String())
	}
	for name, args := range map[string][]string{"read": nil, "head": {"-I"}} {
		b.Run(name, func(b *testing.B) {
			against(b, hello, home, program, append([]string{"thread", "pi/" + chatID(500)}, args...)...)
		})
	}
}

// against measures a program in a home against one that says hello.
func against(b *testing.B, hello, home, program string, args ...string) {
	run := func(name string, args ...string) func() {
		return func() {
			c := exec.Command(name, args...)
			c.Dir, c.Env = home, []string{"HOME=" + home}
			if out, err := c.CombinedOutput(); err != nil {
				b.Fatalf("%s: %v\n%s", name, err, out)
			}
		}
	}
	o, q := turns(b, run(program, args...), run(hello))
	b.ReportMetric(float64(o.Microseconds())/1000, "ms/thread")
	b.ReportMetric(float64(q.Microseconds())/1000, "ms/hello")
	b.ReportMetric(float64((o-q).Microseconds())/1000, "ms-more")
}
