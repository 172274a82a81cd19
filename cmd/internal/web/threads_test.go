package web_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/cmd/internal/web"
	listed "github.com/agent-handoff/handoff/transcript"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/threads"
)

// slowThreads are threads of which a list of all waits until they have been read.
type slowThreads struct {
	web.Conversations
	until <-chan struct{}
}

func (c slowThreads) List(ctx context.Context, o threads.ListOptions) (listed.Page, error) {
	if o.All {
		select {
		case <-c.until:
		case <-ctx.Done():
		}
	}
	return c.Conversations.List(ctx, o)
}

// TestListOfAllThreads lists threads by words of their titles: the first list creates the index of threads, and
// as long as that takes, the page has no rows and shows why. A list of the newest creates none.
func TestListOfAllThreads(t *testing.T) {
	s, urls := newThreads(t, "A cart for the shop", "Something else")
	cache := t.TempDir()
	ws, err := workspace.Open(s.ws.Root(), workspace.Options{Getenv: func(name string) string {
		return map[string]string{"XDG_CACHE_HOME": cache}[name]
	}})
	must(t, err)
	t.Cleanup(func() { ws.Close() })
	source := web.NewSource(ws, s.o.Source.Threads)
	until := make(chan struct{})
	source.Conversations = slowThreads{source.Conversations, until}
	s.o.Source = source
	server, err := web.New(s.o)
	must(t, err)
	t.Cleanup(server.Close)
	s.h = server.Handler()
	indexes := func() int {
		found, err := filepath.Glob(filepath.Join(cache, "*", "threads", "threads-*.db"))
		must(t, err)
		return len(found)
	}
	if page := s.get("/threads"); !strings.Contains(page, urls[1]) || indexes() != 0 {
		t.Errorf("the list of the newest has no thread, or created %d indexes\n%s", indexes(), page)
	}
	const list = "/threads?text=CART"
	if page := s.get(list); !strings.Contains(page, "are being read") || strings.Contains(page, "<tr data-row>") {
		t.Errorf("the page does not show that threads are being read\n%s", page)
	}
	close(until)
	page := s.eventually(list, urls[0])
	if strings.Contains(page, urls[1]) || strings.Contains(page, "are being read") || indexes() != 1 {
		t.Errorf("got another list, or %d indexes\n%s", indexes(), page)
	}
}
