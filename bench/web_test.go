package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/internal/log/filelog"
	"github.com/agent-handoff/handoff/internal/log/localstate"
	"github.com/agent-handoff/handoff/workspace"
)

// BenchmarkViewer measures how long the viewer takes to the first byte of each page over HTTP,
// with 16,700 sessions and 200,000 records. Four readers ask for pages while ten artifacts a
// second are published. The page of a check is left out: it reads the log.
func BenchmarkViewer(b *testing.B) {
	dir := fresh(b)
	ids, sessions := manySessions(b, dir, 16_700)
	program, _ := programs(b)
	run(b, dir, program, "list") // creates the index
	base, _ := serveViewer(b, dir, program)
	agent := func(n int) string { return []string{"alex", "casey", "sam"}[n%3] }
	id := func(n int) string { return ids[n%len(ids)] }
	pages := map[string]func(n int) string{
		"home":            func(int) string { return "/" },
		"board":           func(int) string { return "/?board=session&since=24h" },
		"sessions":        func(int) string { return "/sessions" },
		"sessions-agent":  func(n int) string { return "/sessions?agent=" + agent(n) },
		"session":         func(n int) string { return "/sessions/" + sessions[n%len(sessions)] },
		"artifact":        func(n int) string { return "/artifacts/" + id(n) },
		"artifacts":       func(int) string { return "/artifacts" },
		"artifacts-agent": func(n int) string { return "/artifacts?agent=" + agent(n) },
		"channels":        func(int) string { return "/channels" },
		"channel":         func(n int) string { return "/channels/" + []string{"analysis", "design", "patch"}[n%3] },
		"search":          func(n int) string { return "/search?q=" + sessions[n%len(sessions)][:8] },
		"graph":           func(n int) string { return "/graph?focus=" + id(n) },
		"compare":         func(int) string { return "/compare" },
		"pipelines":       func(int) string { return "/pipelines" },
		"threads":         func(int) string { return "/threads" },
		"cost":            func(int) string { return "/cost" },
		"cost-agent":      func(int) string { return "/cost?by=agent&since=7d" },
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

// BenchmarkViewerCheck measures the memory that the viewer has used at most before and after the page of a
// check: of 200,000 records that are complete, and of as many without checksums and links, each of which
// has a finding.
func BenchmarkViewerCheck(b *testing.B) {
	program, _ := programs(b)
	for _, name := range []string{"complete", "damaged"} {
		b.Run(name, func(b *testing.B) {
			dir := fresh(b)
			manySessions(b, dir, 16_700)
			if name == "complete" {
				complete(b, dir)
			}
			run(b, dir, program, "list") // creates the index
			base, viewer := serveViewer(b, dir, program)
			firstByte(b, base+"/")
			before := peak(b, viewer)
			for b.Loop() {
				firstByte(b, base+"/check")
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(before, "before-MB")
			b.ReportMetric(peak(b, viewer), "viewer-MB")
		})
	}
}

// complete gives the records of a log their checksums, and the artifacts their links.
func complete(b *testing.B, dir string) {
	runtime := filepath.Join(dir, ".handoff")
	files, err := filepath.Glob(filepath.Join(runtime, "log", "*", "*.json"))
	must(b, err)
	log := filelog.Open(runtime, nil)
	for i, name := range files {
		text, err := os.ReadFile(name)
		must(b, err)
		r, err := handoff.ParseRecord(text)
		must(b, err)
		text = text[:bytes.LastIndexByte(text, '}')]
		sum := crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli))
		must(b, os.Remove(name)) // it is read-only
		must(b, os.WriteFile(name, fmt.Appendf(text, `,"crc32c":"%08x"}`, sum), 0o444))
		if handoff.IsArtifactID(r.ID) {
			r.Seq = handoff.Seq(i + 1)
			must(b, os.MkdirAll(filepath.Dir(log.File(r)), 0o700))
			must(b, os.Link(name, log.File(r)))
		}
	}
}

// peak returns the most memory that a process has used, in megabytes.
func peak(b *testing.B, p *os.Process) float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Pid))
	must(b, err)
	_, text, _ := strings.Cut(string(status), "VmHWM:")
	var kilobytes float64
	_, err = fmt.Sscan(text, &kilobytes)
	must(b, err)
	return kilobytes / 1024
}

// serveViewer starts the viewer in a directory and returns its address and process.
func serveViewer(b *testing.B, dir, program string) (string, *os.Process) {
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
			return strings.TrimSuffix(url, "/"), c.Process
		}
	}
	b.Fatal("the viewer did not start")
	return "", nil
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

// manySessions writes a log of sessions that ends now, and returns the IDs of their artifacts
// and of them.
func manySessions(b *testing.B, dir string, sessions int) (ids, opened []string) {
	runtime, n := filepath.Join(dir, ".handoff"), 0
	must(b, localstate.NewDir(runtime, nil).Create(b.Context()))
	must(b, filelog.Open(runtime, rand.NewChaCha8([32]byte{5})).Create())
	start := time.Now().Add(-time.Duration(sessions) * logtest.SessionTime)
	for r := range logtest.Sessions(b, start, sessions) {
		n++
		must(b, store(runtime, n, r))
		switch f := r.Fact.(type) {
		case *handoff.SessionOpened:
			opened = append(opened, f.SessionID)
		case *handoff.ArtifactPublished:
			ids = append(ids, r.ID)
		}
	}
	return ids, opened
}
