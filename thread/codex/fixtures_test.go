package codex_test

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"testing"

	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/codex"
	"github.com/agent-handoff/handoff/threadtest"
)

// figures are what the independent program found in one rollout.
type figures struct {
	ID     string           `json:"id"`
	Parent string           `json:"parent"`
	Forked string           `json:"forked_from"`
	Models map[string]int   `json:"models"`
	Bad    int              `json:"bad"`
	Usage  map[string]int64 `json:"usage_sum_of_last_when_total_changed"`
	Events map[string]int   `json:"events"`
	Tools  map[string]int   `json:"tools"`
}

// TestRealThreads: each id resolves, subagents are children of their parents and
// no sessions, usage is what the independent program found.
func TestRealThreads(t *testing.T) {
	threadtest.EachReal(t, codex.Driver(), ".codex", func(t *testing.T, r threadtest.Real) {
		f := threadtest.Figures[figures](t, r.Figures)
		th := threadtest.Load(t, r.Provider, f.ID)
		usage(t, th, f)
		if th.Parent != f.Parent || r.Sessions[th.ID] != (f.Parent == "") || th.BadLines != f.Bad {
			t.Errorf("got parent %q, session %v, %d bad lines, want %q and %d", th.Parent, r.Sessions[th.ID], th.BadLines, f.Parent, f.Bad)
		}
		if f.Parent != "" {
			threadtest.Child(t, r.Provider, f.Parent, th.ID)
		}
	})
}

// usage compares what was spent. The independent program takes a fork's replay
// of its parent for the fork's own; we count it apart, so it is added here.
func usage(t *testing.T, th *thread.Thread, f figures) {
	t.Helper()
	got := th.Usage.Tokens
	got.Add(th.Inherited)
	want := thread.Tokens{
		Input:     f.Usage["input_tokens"] - f.Usage["cached_input_tokens"] - f.Usage["cache_write_input_tokens"],
		CacheRead: f.Usage["cached_input_tokens"], CacheWrite: f.Usage["cache_write_input_tokens"],
		Output: f.Usage["output_tokens"], Reasoning: f.Usage["reasoning_output_tokens"], Calls: got.Calls,
	}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for _, m := range th.Usage.Models {
		if _, known := f.Models[m.Model]; !known && m.Model != "" {
			t.Errorf("model %q was not used", m.Model)
		}
	}
}

// TestRealForks holds what forks spent against what the fixtures' publisher
// says was copied.
func TestRealForks(t *testing.T) {
	dir := threadtest.Shared(t, "fixtures/transcripts/codex/steipete+CodexBar")
	for _, tt := range []struct {
		family, id string
		inherited  int
		complete   thread.Completeness
	}{
		{"archived-fork-33ce-3869", "child-session", 135, thread.Exact},
		{"live-fork-4d90-52bf", "child-session", 180, thread.Exact},
		{"harness-smoke", "child-session", 1, thread.Exact},
		{"missing-parent-siblings", "sibling-a-session", 0, thread.SessionTotal},
	} {
		th := threadtest.Load(t, threadtest.Open(t, codex.Driver(), filepath.Join(dir, tt.family)), tt.id)
		// Events that repeat a total are no requests.
		if got := th.Inherited.Calls; got > tt.inherited || got < tt.inherited*95/100 || th.Usage.Completeness != tt.complete || th.Usage.Calls == 0 {
			t.Errorf("%s: got %d requests inherited, %d own, %s, want %d, some, %s", tt.family, got, th.Usage.Calls, th.Usage.Completeness, tt.inherited, tt.complete)
		}
	}
}

// TestRealFormats reads rollouts that lie outside a home: old versions, drifted
// schemas, and a fork of the tool.
func TestRealFormats(t *testing.T) {
	fork := codex.Fork{Name: "fork", Env: "FORK_HOME", Dir: ".fork"}
	threadtest.EachStray(t, "codex", ".codex", func(t *testing.T, _, body string, b json.RawMessage) {
		home := t.TempDir()
		threadtest.Put(t, body, home, ".fork/sessions/2026/02/22/rollout-2026-02-22T20-48-50-"+parentID+".jsonl")
		p := threadtest.Open(t, fork.Driver(), home)
		threadtest.Sound(t, p, parentID)
		f, th := threadtest.Figures[figures](t, b), threadtest.Load(t, p, parentID)
		usage(t, th, f)
		if th.BadLines != f.Bad {
			t.Errorf("got %d bad lines, want %d", th.BadLines, f.Bad)
		}
	})
}

// TestRealStatuses: what a rollout does not say is whether a call that is open
// waits for approval.
func TestRealStatuses(t *testing.T) {
	want := map[string]int{
		"1-1_session-start":                2, // a turn that was not asserted
		"1-6_checkpoint-rewind":            4, // two turns that the fork, which was put behind it in one file, repeats
		"2-19_tool-gate-permission-prompt": 2, // a call that needed no approval passes for one that waits
		"fork-conversation":                6, // the same, and a turn that was not asserted
	}
	if got := threadtest.Statuses(t, codex.Driver(), nil); !maps.Equal(got, want) {
		t.Errorf("beyond what was expected were seen %v, want %v", got, want)
	}
}

// intended are the cases in which we answer otherwise than xurl, and why.
// docs/threads.md has them in words.
var intended = map[string]string{
	"codex-read-dup-compact messages":         "a message and a compaction are each shown once; injected context is no message",
	"codex-sqlite-read":                       "the rollout's name and content tell no id: only a cache, which is not read, knows it",
	"last_update":                             "an agent's last update is its own last word, not the parent's about it; what is no time is not shown as one",
	"real-codex-head status":                  "xurl looks for the state of an agent in the wrong place",
	"real-codex-read status":                  "xurl looks for the state of an agent in the wrong place",
	"real-codex-detail status":                "xurl looks for the state of an agent in the wrong place",
	"real-codex-detail child_last_updated_at": "what is no time is not shown as one",
}

func TestXurl(t *testing.T) { threadtest.Xurl(t, codex.Driver(), "CODEX_HOME", intended) }
