package bench

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/filelog"
	"github.com/agent-handoff/handoff/workspace"
)

// BenchmarkViewer measures how long the viewer takes to the first byte of each page
// that comes from the index, with 16,700 sessions and 200,000 records. Four
// readers ask for pages while ten artifacts a second are published.
func BenchmarkViewer(b *testing.B) {
	dir := fresh(b)
	ids, sessions := manySessions(b, dir, 16_700, 10)
	program, _ := programs(b)
	run(b, dir, program, "list") // creates the index
	base := serveViewer(b, dir, program)
	pages := map[string]func(n int) string{
		"now":      func(int) string { return "/" },
		"sessions": func(n int) string { return "/sessions?agent=" + []string{"alex", "casey", "sam"}[n%3] },
		"session":  func(n int) string { return "/sessions/" + sessions[n%len(sessions)] },
		"artifact": func(n int) string { return "/artifacts/" + ids[n%len(ids)] },
		"filtered": func(n int) string { return "/artifacts?agent=" + []string{"alex", "casey", "sam"}[n%3] },
		"channels": func(int) string { return "/channels" },
		"channel":  func(n int) string { return "/channels/" + []string{"analysis", "design", "patch"}[n%3] },
	}
	for _, page := range pages { // warm
		firstByte(b, base+page(1))
	}
	times := map[string][]time.Duration{}
	for b.Loop() {
		stop := publishing(b, dir)
		var mu sync.Mutex
		var readers sync.WaitGroup
		for reader := range 4 {
			readers.Go(func() {
				r := rand.New(rand.NewPCG(7, uint64(reader)))
				for range 25 {
					for name, page := range pages {
						took := firstByte(b, base+page(r.IntN(1<<20)))
						mu.Lock()
						times[name] = append(times[name], took)
						mu.Unlock()
					}
				}
			})
		}
		readers.Wait()
		stop()
	}
	b.ReportMetric(0, "ns/op")
	for name, list := range times {
		slices.Sort(list)
		b.ReportMetric(float64(list[len(list)*95/100].Microseconds())/1000, name+"-p95-ms")
	}
}

// publishing publishes ten artifacts a second until the returned function is
// called.
func publishing(b *testing.B, dir string) (stop func()) {
	w, err := workspace.Open(dir, workspace.Options{})
	must(b, err)
	done := make(chan bool)
	var publisher sync.WaitGroup
	publisher.Go(func() {
		every := time.NewTicker(100 * time.Millisecond)
		defer every.Stop()
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			case <-every.C:
				_, err := w.Publish(b.Context(), handoff.Draft{Body: strings.NewReader(fmt.Sprint("body ", n)),
					Channel: "design", Title: "Published meanwhile"})
				must(b, err)
			}
		}
	})
	return func() {
		close(done)
		publisher.Wait()
		must(b, w.Close())
	}
}

// serveViewer starts the viewer in a directory and returns its address.
func serveViewer(b *testing.B, dir, program string) string {
	c := exec.Command(program, "serve", "--no-token", "--listen", "127.0.0.1:0")
	c.Dir, c.Env = dir, []string{"HOME=" + dir}
	out, err := c.StderrPipe()
	must(b, err)
	must(b, c.Start())
	b.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		_ = c.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if url, ok := strings.CutPrefix(lines.Text(), "viewer: "); ok {
			go io.Copy(io.Discard, out)
			return strings.TrimSuffix(url, "/")
		}
	}
	b.Fatal("the viewer did not start")
	return ""
}

// firstByte returns how long a page takes to its first byte. It reads all of it.
func firstByte(b *testing.B, url string) time.Duration {
	r, err := http.NewRequest("GET", url, nil)
	must(b, err)
	var first time.Time
	r = r.WithContext(httptrace.WithClientTrace(r.Context(),
		&httptrace.ClientTrace{GotFirstResponseByte: func() { first = time.Now() }}))
	start := time.Now()
	answer, err := http.DefaultTransport.RoundTrip(r)
	must(b, err)
	defer answer.Body.Close()
	page, err := io.ReadAll(answer.Body)
	must(b, err)
	if answer.StatusCode != http.StatusOK {
		b.Fatalf("GET %s: status %d\n%s", url, answer.StatusCode, page)
	}
	return first.Sub(start)
}

// manySessions writes a log of sessions with some artifacts each and returns the
// IDs of both.
func manySessions(b *testing.B, dir string, sessions, artifacts int) (ids, opened []string) {
	runtime := filepath.Join(dir, ".handoff")
	random := rand.NewChaCha8([32]byte{5})
	must(b, filelog.Open(runtime, random).Create())
	start, n := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), 0
	add := func(id, agent string, f handoff.Fact) string {
		n++
		r, err := handoff.NewRecord(start.Add(time.Duration(n)*time.Second), random,
			handoff.Producer{Harness: "codex", Agent: agent, Session: id, WorkID: id, Source: handoff.FromFlag}, f)
		must(b, err)
		must(b, store(runtime, n, r))
		return r.ID
	}
	for i := range sessions {
		id := fmt.Sprintf("%08x-0000-4000-8000-000000000000", i)
		agent := []string{"alex", "casey", "sam"}[i%3]
		add(id, agent, &handoff.SessionOpened{SessionID: id, Folder: "docs/agent-outputs/" + id, User: "pat",
			Agent: handoff.SessionAgent{Name: agent}, Workflow: handoff.SessionWorkflow{Name: fmt.Sprintf("intake-%d", i%40)}})
		opened = append(opened, id)
		for j := range artifacts {
			size := int64(1000)
			p := &handoff.ArtifactPublished{Channel: []string{"analysis", "design", "patch", "verification"}[j%4],
				Kind: "document", Path: fmt.Sprintf("docs/agent-outputs/%s/%d.md", id, j),
				TargetType: "file", Title: "An analysis of what is asked for", Summary: strings.Repeat("word ", 20),
				MediaType: "text/markdown", SizeBytes: &size}
			if j%4 == 3 {
				p.Replaces = ids[len(ids)-3 : len(ids)-2]
			}
			if j%2 == 1 {
				p.Parents = ids[len(ids)-1:]
			}
			ids = append(ids, add(id, agent, p))
		}
		if i < sessions-20 {
			add(id, agent, &handoff.SessionClosed{SessionID: id, Status: "completed"})
		}
	}
	return ids, opened
}
