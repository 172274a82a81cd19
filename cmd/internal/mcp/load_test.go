package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"

	"github.com/agent-handoff/handoff/workspace"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// heap returns the memory in use and the number of goroutines.
func heap() (bytes uint64, goroutines int) {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc, runtime.NumGoroutine()
}

// TestLargeBody reads a body of 50 MB in pages, from its beginning, middle and end.
// In between, the server never holds a considerable part of it.
func TestLargeBody(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // memory is measured
	f := newFixture(t)
	s := f.connect("test", nil)
	line := strings.Repeat("x", 99) + "\n"
	f.write("large.txt", strings.Repeat(line, 500_000))
	f.write("one-line.txt", strings.Repeat("x", 50_000_000))
	ids := map[string]string{}
	for _, name := range []string{"large.txt", "one-line.txt"} {
		ids[name] = mustCall(t, s, "artifact_publish", `{"path":"`+name+`","channel":"x","keep":"always"}`).str("id")
		must(t, os.Remove(filepath.Join(f.dir, name)))
	}
	heap()
	stop, peak := make(chan bool), make(chan uint64)
	go func() {
		var most uint64
		var m runtime.MemStats
		for {
			select {
			case <-stop:
				peak <- most
				return
			case <-time.After(5 * time.Millisecond):
				runtime.ReadMemStats(&m)
				most = max(most, m.HeapAlloc)
			}
		}
	}()
	for _, offset := range []int{0, 250_000, 499_900} {
		page := mustCall(t, s, "read_artifact", fmt.Sprintf(`{"ref":%q,"offset":%d}`, ids["large.txt"], offset))
		if got := page.str("content"); !strings.HasPrefix(got, line) || len(got) > 64<<10 || page.data["total"] != 500_000.0 {
			t.Errorf("offset %d: %d bytes of content, total %v", offset, len(got), page.data["total"])
		}
	}
	page := mustCall(t, s, "read_artifact", `{"ref":"`+ids["one-line.txt"]+`","bytes":true,"offset":49999000}`)
	if got := page.str("content"); len(got) != 1000 || page.data["total"] != 50_000_000.0 {
		t.Errorf("the last bytes: %d, total %v", len(got), page.data["total"])
	}
	call(t, s, "read_artifact", `{"ref":"`+ids["one-line.txt"]+`"}`) // whose first line is too long
	for _, id := range ids {
		if _, err := s.ReadResource(t.Context(),
			&sdk.ReadResourceParams{URI: "handoff://artifacts/" + id + "/body"}); err == nil {
			t.Error("50 MB are a resource")
		}
	}
	close(stop)
	if most := <-peak; most > 40<<20 {
		t.Errorf("the heap grows to %d MB", most>>20)
	}
}

// TestLoad runs clients of every kind that come, work and go, for ten minutes with
// HANDOFF_LONG. Afterwards no goroutine is left, and memory is as before.
func TestLoad(t *testing.T) {
	duration := 500 * time.Millisecond
	if os.Getenv("HANDOFF_LONG") != "" {
		duration = 10 * time.Minute
	}
	f, server := serveHTTP(t)
	load := func(duration time.Duration) {
		ctx, cancel := context.WithTimeout(t.Context(), duration)
		defer cancel()
		var all sync.WaitGroup
		for n := range 8 {
			all.Go(func() {
				for ctx.Err() == nil {
					visit(t, server.URL, []string{"2025-11-25", "2026-07-28"}[n%2])
				}
			})
		}
		all.Wait()
		server.CloseClientConnections()
		// A log that somebody waited for waits itself, once, for its next record.
		w, err := workspace.Open(f.dir, workspace.Options{})
		must(t, err)
		_, err = w.Publish(t.Context(), handoff.Draft{Body: strings.NewReader("the last"), Channel: "x"})
		must(t, err)
		must(t, w.Close())
	}
	load(duration / 4) // until pools and caches have their size
	before, goroutines := settled(0)
	load(duration)
	after, left := settled(goroutines)
	t.Logf("heap %d KB before and %d KB after, goroutines %d and %d", before>>10, after>>10, goroutines, left)
	if left > goroutines {
		buf := make([]byte, 1<<20)
		t.Errorf("%d goroutines, %d before:\n%s", left, goroutines, buf[:runtime.Stack(buf, true)])
	}
	if after > before+before/4+8<<20 {
		t.Errorf("heap %d KB, %d KB before", after>>10, before>>10)
	}
	mustCall(t, f.connect("test", nil), "artifact_list", `{}`)
}

// settled returns the memory in use when at most limit goroutines are left, or none
// ends any more.
func settled(limit int) (bytes uint64, goroutines int) {
	bytes, goroutines = heap()
	for range 50 {
		time.Sleep(100 * time.Millisecond)
		before := goroutines
		if bytes, goroutines = heap(); goroutines <= limit || limit == 0 && goroutines == before {
			break
		}
	}
	return bytes, goroutines
}

// visit connects a client, calls tools in a random order, and disconnects.
func visit(t *testing.T, url, version string) {
	c := sdk.NewClient(&sdk.Implementation{Name: "codex-mcp-client", Version: "1"}, nil)
	s, err := c.Connect(context.Background(), &sdk.StreamableClientTransport{Endpoint: url, HTTPClient: clientWithToken()},
		&sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Error(err)
		return
	}
	defer s.Close()
	tools := []sdk.CallToolParams{
		{Name: "artifact_publish", Arguments: json.RawMessage(`{"content":"a body","channel":"x","title":"Load"}`)},
		{Name: "write_artifact", Arguments: json.RawMessage(`{"name":"context.md","content":"a body","run":"r1"}`)},
		{Name: "artifact_list", Arguments: json.RawMessage(`{"limit":50}`)},
		{Name: "artifact_search", Arguments: json.RawMessage(`{"query":"load"}`)},
		{Name: "artifact_get", Arguments: json.RawMessage(`{"ref":"x:latest"}`)},
		{Name: "read_artifact", Arguments: json.RawMessage(`{"ref":"x:latest"}`)},
		{Name: "artifact_wait", Arguments: json.RawMessage(`{"channel":"never","seconds":1}`)},
		{Name: "session_find", Arguments: json.RawMessage(`{}`)},
		{Name: "artifact_get", Arguments: json.RawMessage(`{"ref":"../x"}`)},
	}
	for range 10 {
		if _, err := s.CallTool(context.Background(), &tools[rand.IntN(len(tools))]); err != nil {
			t.Error(err)
			return
		}
	}
}
