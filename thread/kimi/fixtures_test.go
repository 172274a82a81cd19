package kimi_test

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/kimi"
)

// A count is what a second decoder finds in a journal.
type count struct {
	usage          thread.Tokens
	prompts, calls int
}

func second(t *testing.T, path string) (c count) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(b) {
		var r struct {
			Type    string
			Event   struct{ Type string }
			Message struct {
				Role   string
				Origin struct{ Kind string }
			}
			Usage struct{ InputOther, Output, InputCacheRead, InputCacheCreation int64 }
		}
		if err := json.Unmarshal(line, &r); err != nil {
			continue // another record has a member of another type
		}
		switch {
		case r.Type == "usage.record":
			u := r.Usage
			c.usage.Add(thread.Tokens{Input: u.InputOther, Output: u.Output, CacheRead: u.InputCacheRead,
				CacheWrite: u.InputCacheCreation, Calls: 1})
		case r.Event.Type == "tool.call":
			c.calls++
		case r.Type == "context.append_message" && r.Message.Role == "user" && r.Message.Origin.Kind != "injection":
			c.prompts++
		}
	}
	return c
}

// TestRealThreads compares usage, prompts and calls with those of a second decoder.
func TestRealThreads(t *testing.T) {
	threads := 0
	for _, dir := range []string{".kimi-code", ".kimi"} {
		for _, home := range threadtest.Homes(t, "kimi", dir) {
			threadtest.CheckUnchanged(t, home)
			p := provider(t, home)
			for th, err := range p.Threads(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				threads++
				threadtest.CheckThread(t, p, th.ID)
				if dir == ".kimi" {
					continue
				}
				agents, err := p.Agents(t.Context(), th)
				if err != nil {
					t.Fatal(err)
				}
				all := []*thread.Thread{th}
				for _, a := range agents {
					if !a.Validated || a.Thread == nil {
						t.Errorf("%s: got agent %+v", th.ID, a)
						continue
					}
					all = append(all, a.Thread)
				}
				for _, th := range all {
					prompts := 0
					err := th.Read(t.Context(), thread.Texts, func(m thread.Message) error {
						if m.Role == thread.User {
							prompts++
						}
						return nil
					})
					want := second(t, th.Source)
					if got := (count{th.Usage.Tokens, prompts, th.ToolCalls}); err != nil || got != want {
						t.Errorf("%s: got %+v, want %+v", th.Source, got, want)
					}
				}
			}
		}
	}
	if threads != 4 {
		t.Errorf("got %d threads, want 4", threads)
	}
}

// TestRealClients compares the thread of a real client with what the server sent.
func TestRealClients(t *testing.T) {
	home, l := threadtest.Client(t, "kimi-2.1.0")
	threadtest.CheckUnchanged(t, home)
	threadtest.CheckLedger(t, provider(t, home), l, "session_c9a35fab-7953-4261-9ed2-e7f532a495e1", thread.Completed,
		[]int{1, 5, 16, 20}, []int{9, 13})
}

func TestRealTruncated(t *testing.T) { threadtest.CheckAllTruncated(t, kimi.Driver(), ".kimi-code") }
