package web_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/session"
)

// TestLongMemory serves pages and streams to four readers for ten minutes while
// artifacts are published, and checks that memory does not grow. HANDOFF_LONG can be
// another duration.
func TestLongMemory(t *testing.T) {
	long := os.Getenv("HANDOFF_LONG")
	if long == "" {
		t.Skip("takes a while; HANDOFF_LONG=1 runs it")
	}
	length := 10 * time.Minute
	if d, err := time.ParseDuration(long); err == nil {
		length = d
	}
	s := newConversation(t, "", func(x *transcript) {
		for i := range 200 {
			x.user(fmt.Sprintf("question %d", i))
			x.answer(said("An answer about the cart."))
		}
	})
	var ids, opened []string
	for i := range 30 {
		o, err := s.ws.Sessions().Open(t.Context(),
			session.OpenOptions{Agent: handoff.SessionAgent{Name: "casey"},
				Workflow: handoff.SessionWorkflow{Name: "deep-dive"}, Expected: []string{"plan.md"}})
		must(t, err)
		opened = append(opened, o.ID)
		for j := range 10 {
			ids = append(ids,
				s.publish(handoff.Draft{Body: strings.NewReader(strings.Repeat(fmt.Sprintln("# Part", i, j), 500)),
					Channel: "design", Title: fmt.Sprint("Part ", j), MediaType: "text/markdown"}).ID)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	var busy sync.WaitGroup
	var pages, published int
	var mu sync.Mutex
	for reader := range 4 {
		busy.Go(func() {
			for n := reader; ctx.Err() == nil; n++ {
				for _, path := range []string{"/", "/sessions", "/sessions/" + opened[n%len(opened)],
					"/artifacts/" + ids[n%len(ids)], "/channels", "/channels/design", "/graph", "/threads",
					"/threads/claude/" + threadID, fmt.Sprintf("/search?q=part+%d", n), "/pipelines", "/missing"} {
					s.h.ServeHTTP(httptest.NewRecorder(), request("GET", path))
					time.Sleep(20 * time.Millisecond)
				}
				stream, end := context.WithTimeout(ctx, 300*time.Millisecond)
				s.h.ServeHTTP(httptest.NewRecorder(), request("GET", "/events").WithContext(stream))
				end()
				mu.Lock()
				pages += 12
				mu.Unlock()
			}
		})
	}
	busy.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			s.publish(handoff.Draft{Body: strings.NewReader(fmt.Sprint("body ", n)), Channel: "design",
				Title: "Published meanwhile"})
			published++
			time.Sleep(100 * time.Millisecond)
		}
	})
	const samples = 20
	var heap [samples]uint64 // in use after a collection
	for i := range heap {
		time.Sleep(length / (samples + 1))
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		heap[i] = m.HeapAlloc
	}
	cancel()
	busy.Wait()
	mean := func(list []uint64) (sum uint64) {
		for _, n := range list {
			sum += n
		}
		return sum / uint64(len(list))
	}
	before, after := mean(heap[samples/4:samples/2]), mean(heap[3*samples/4:])
	t.Logf("%d pages, %d publishes in %v: heap %d KB in the second quarter, %d KB in the last: %v", pages, published,
		length, before>>10, after>>10, heap)
	if after > before+before/4+2<<20 {
		t.Errorf("the heap grew from %d KB to %d KB", before>>10, after>>10)
	}
}
