package web_test

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
)

// measure reports the 95th percentile of the time until a page is complete, which is
// when its first byte is sent, and the mean processor time.
func (s *site) measure(b *testing.B, path string) {
	b.Helper()
	times := make([]time.Duration, 0, 1024)
	size := 0
	used := processorTime()
	for b.Loop() {
		if s.before != nil {
			s.before()
		}
		start := time.Now()
		w := httptest.NewRecorder()
		s.h.ServeHTTP(w, request("GET", path))
		times = append(times, time.Since(start))
		if w.Code != 200 {
			b.Fatalf("GET %s: got %d", path, w.Code)
		}
		size = w.Body.Len()
	}
	b.ReportMetric(float64((processorTime()-used).Microseconds())/1000/float64(len(times)), "cpu-ms")
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)*95/100].Microseconds())/1000, "p95-ms")
	b.ReportMetric(float64(size)/1024, "KB")
}

// processorTime returns what this process has used.
func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkLog100MB(b *testing.B) {
	s := newSite(b)
	line := strings.Repeat("2026-01-02T10:00:00Z \x1b[32minfo\x1b[0m request handled in 12 ms, 4096 bytes\n", 1<<14)
	name := filepath.Join(s.ws.Root(), "build.log")
	f, err := os.Create(name)
	must(b, err)
	for range 100 << 20 / len(line) {
		_, err = f.WriteString(line)
		must(b, err)
	}
	must(b, f.Close())
	id := s.publish(handoff.Draft{Path: name, Channel: "log"}).ID
	for _, c := range []struct{ name, query string }{{"first", ""}, {"middle", "?offset=50000000"}} {
		b.Run(c.name, func(b *testing.B) { s.measure(b, "/artifacts/"+id+c.query) })
	}
}

// The graph has rows of artifacts, each made from two of the row before.
func BenchmarkGraph(b *testing.B) {
	s := newSite(b)
	const width = 20
	var ids []string
	for i := range 2000 {
		p := handoff.Draft{Body: strings.NewReader(fmt.Sprint(i)), Channel: "design",
			Title: fmt.Sprint("Artifact ", i)}
		if row := i / width * width; row > 0 {
			p.Parents = []string{ids[row-width+i%width], ids[row-width+(i+1)%width]}
		}
		ids = append(ids, s.publish(p).ID)
	}
	for _, c := range []struct {
		name string
		hops int
	}{{"2hops", 2}, {"2000nodes", 2000}} {
		b.Run(c.name, func(b *testing.B) { s.measure(b, fmt.Sprintf("/graph?focus=%s&hops=%d", ids[1000], c.hops)) })
	}
}

func BenchmarkThread(b *testing.B) {
	s := newConversation(b, "", func(x *transcript) {
		output := strings.Repeat("a line of the output of a tool\n", 200)
		for i := range 1000 {
			x.user(fmt.Sprintf("Question %d about the *cart*.", i))
			x.answer(said("An answer with `code` and a [link](https://example.org)."),
				map[string]any{"type": "tool_use", "id": fmt.Sprint("t", i), "name": "Bash",
					"input": map[string]any{"command": "go test ./..."}})
			x.add("user", map[string]any{"role": "user",
				"content": []any{map[string]any{"type": "tool_result", "tool_use_id": fmt.Sprint("t", i), "content": output}}}, nil)
		}
	})
	for _, c := range []struct{ name, query string }{{"first", ""}, {"last", "?from=1900"}} {
		b.Run(c.name, func(b *testing.B) { s.measure(b, "/threads/claude/"+threadID+c.query) })
	}
}
