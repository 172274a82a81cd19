package threadindex_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/internal/transcript/threadindex"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/transcript"
)

// claims are threads by the ones that they state to continue.
type claims map[string]string

func (c claims) Item(_ context.Context, u thread.URI) (i transcript.Item, err error) {
	to, ok := c[u.Thread]
	if !ok {
		return i, errors.New("no such thread")
	}
	i.URI, i.Thread = u, &thread.Thread{}
	if to != "" {
		i.Continues = thread.URI{Provider: "codex", Thread: to}
	}
	return i, nil
}

func TestBefore(t *testing.T) {
	long := claims{}
	for n := range threadindex.MaxChain + 2 {
		long[fmt.Sprint(n)] = fmt.Sprint(n + 1)
	}
	all := claims{"new": "middle", "middle": "old", "old": "", "of": "gone", "a": "b", "b": "a", "self": "self",
		"x": "y", "y": "z", "z": "y", "into": "a"}
	for name, want := range map[string]string{"old": "", "middle": "old", "new": "middle old", "of": "/gone",
		"a": "", "b": "", "self": "", "x": "y", "y": "", "z": "", "into": "a"} {
		i, _ := all.Item(t.Context(), thread.URI{Provider: "codex", Thread: name})
		list, rest, err := threadindex.Before(t.Context(), all, i)
		var got []string
		for _, b := range list {
			got = append(got, b.URI.Thread)
		}
		text := strings.Join(got, " ")
		if rest.Thread != "" {
			text += "/" + rest.Thread
		}
		if text != want || err != nil {
			t.Errorf("%s: got %q, %v, want %q", name, text, err, want)
		}
		chain, err := threadindex.ChainOf(t.Context(), all, i)
		missing := strings.HasPrefix(want, "/")
		if chain.ContinuesMissing != missing || (chain.Continues.Thread != "") != (want != "") || err != nil {
			t.Errorf("%s: got the chain %+v, %v, want %q", name, chain, err, want)
		}
	}
	i, _ := long.Item(t.Context(), thread.URI{Provider: "codex", Thread: "0"})
	list, rest, err := threadindex.Before(t.Context(), long, i)
	if len(list) != threadindex.MaxChain || rest.Thread != fmt.Sprint(threadindex.MaxChain+1) || err != nil {
		t.Errorf("a long chain: got %d threads, the rest %v, %v", len(list), rest, err)
	}
}

// starts are threads that all state to continue "one", by their starts.
type starts map[string]time.Time

func (s starts) Item(_ context.Context, u thread.URI) (transcript.Item, error) {
	i := transcript.Item{URI: u, Thread: &thread.Thread{Started: s[u.Thread]}}
	if u.Thread != "one" {
		i.Continues = thread.URI{Provider: "codex", Thread: "one"}
	}
	return i, nil
}

// TestBeforeStarted has claims of threads that started before the one that they name: these do not count.
func TestBeforeStarted(t *testing.T) {
	at := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	all := starts{"one": at, "earlier": at.Add(-time.Second), "same": at, "later": at.Add(time.Second), "unknown": {}}
	for name, want := range map[string]bool{"earlier": false, "same": true, "later": true, "unknown": true} {
		i, _ := all.Item(t.Context(), thread.URI{Provider: "codex", Thread: name})
		chain, err := threadindex.ChainOf(t.Context(), all, i)
		if got := chain.Continues.Thread == "one"; got != want || chain.ContinuesMissing || err != nil {
			t.Errorf("%s: got %+v, %v, want that it counts: %t", name, chain, err, want)
		}
	}
}
