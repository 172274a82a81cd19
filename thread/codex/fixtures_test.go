package codex_test

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/codex"
)

// figures are the reference values of one rollout, from an independent program.
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

// TestRealThreads checks that each ID resolves, that subagents are validated and
// not listed, and that usage equals the reference values.
func TestRealThreads(t *testing.T) {
	threadtest.EachReal(t, codex.Driver(), ".codex", func(t *testing.T, r threadtest.Real) {
		f := threadtest.Figures[figures](t, r.Figures)
		th := threadtest.Load(t, r.Provider, f.ID)
		usage(t, th, f)
		if th.Parent != f.Parent || r.Sessions[th.ID] != (f.Parent == "") || th.BadLines != f.Bad {
			t.Errorf("got parent %q, session %v, %d bad lines, want %q and %d", th.Parent, r.Sessions[th.ID], th.BadLines,
				f.Parent, f.Bad)
		}
		if f.Parent != "" {
			threadtest.CheckChild(t, r.Provider, f.Parent, th.ID)
		}
	})
}

// usage compares token usage. The reference values include what a fork copied
// from its parent.
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
		if _, known := f.Models[m.Model]; !known && m.Model != thread.UnknownModel {
			t.Errorf("model %q was not used", m.Model)
		}
	}
}

// TestRealForks compares the inherited usage of forks with the counts that the
// publisher of the fixtures documents.
func TestRealForks(t *testing.T) {
	dir := threadtest.Transcripts(t, "codex/steipete+CodexBar")
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
		// Events that repeat a total are not requests.
		if got := th.Inherited.Calls; got > tt.inherited || got < tt.inherited*95/100 ||
			th.Usage.Completeness != tt.complete || th.Usage.Calls == 0 {
			t.Errorf("%s: got %d requests inherited, %d own, %s, want %d, some, %s", tt.family, got, th.Usage.Calls,
				th.Usage.Completeness, tt.inherited, tt.complete)
		}
	}
}

// TestRealFormats reads rollouts outside a home directory: old versions, changed
// schemas, and other tools that write this format.
func TestRealFormats(t *testing.T) {
	threadtest.EachOutside(t, "codex", ".codex", func(t *testing.T, _, body string, b json.RawMessage) {
		home := t.TempDir()
		threadtest.WriteFile(t, body, home, ".codex/sessions/2026/02/22/rollout-2026-02-22T20-48-50-"+parentID+".jsonl")
		p := threadtest.Open(t, codex.Driver(), home)
		threadtest.CheckThread(t, p, parentID)
		f, th := threadtest.Figures[figures](t, b), threadtest.Load(t, p, parentID)
		usage(t, th, f)
		if th.BadLines != f.Bad {
			t.Errorf("got %d bad lines, want %d", th.BadLines, f.Bad)
		}
	})
}

// TestRealStatuses compares the recorded phases. A rollout does not show whether
// an open call waits for approval.
func TestRealStatuses(t *testing.T) {
	want := map[string]int{
		"1-1_session-start":                2, // a turn without an assertion
		"1-6_checkpoint-rewind":            4, // two turns that are repeated by the fork in the same file
		"2-19_tool-gate-permission-prompt": 2, // a call that needs no approval looks like one that waits
		"fork-conversation":                6, // the same, and a turn without an assertion
	}
	if got := threadtest.CheckPhases(t, codex.Driver(), nil); !maps.Equal(got, want) {
		t.Errorf("got unexpected phases %v, want %v", got, want)
	}
}

// intended are the differences from xurl, which docs/threads.md explains.
var intended = map[string]string{
	"codex-read-dup-compact messages": "messages and compactions are shown once; injected context is left out",
	"codex-sub-detail lifecycle":      "a status has the time of the result that contains it, not of the call",
	"codex-sqlite-read": "neither the name nor the content of the rollout has the ID; only a " +
		"cache has, which is not read",
	"last_update": "the last update of an agent is its own last record; invalid times are " +
		"left out",
	"real-codex-head status":                  "xurl reads the state of an agent from the wrong field",
	"real-codex-read status":                  "xurl reads the state of an agent from the wrong field",
	"real-codex-detail status":                "xurl reads the state of an agent from the wrong field",
	"real-codex-detail child_last_updated_at": "invalid times are left out",
}

func TestXurl(t *testing.T) { threadtest.Xurl(t, codex.Driver(), "CODEX_HOME", intended) }

func TestRealTruncated(t *testing.T) { threadtest.CheckAllTruncated(t, codex.Driver(), ".codex") }
