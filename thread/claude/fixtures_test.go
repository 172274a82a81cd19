package claude_test

import (
	"encoding/json"
	"errors"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/claude"
	"github.com/agent-handoff/handoff/threadtest"
)

// figures are what the independent program found in one transcript.
type figures struct {
	Sessions   map[string]int `json:"sessions"`
	Models     map[string]int `json:"models"`
	Messages   int            `json:"messages"`
	Bad        int            `json:"bad"`
	Input      int64          `json:"input"`
	Output     int64          `json:"output"`
	CacheRead  int64          `json:"cache_read"`
	CacheWrite int64          `json:"cache_write"`
	ToolCalls  int            `json:"tool_calls"`
	Kind       string         `json:"kind"`
}

// TestRealThreads: each id resolves, subagents are children of their parents and
// no sessions, usage is what the independent program found.
func TestRealThreads(t *testing.T) {
	threadtest.EachReal(t, claude.Driver(), ".claude", func(t *testing.T, r threadtest.Real) {
		id, agent := strings.CutPrefix(strings.TrimSuffix(filepath.Base(r.Path), ".jsonl"), "agent-")
		th := threadtest.Load(t, r.Provider, id)
		if th.Source != r.Source || r.Sessions[id] == agent || (th.Parent != "") != agent {
			t.Errorf("got %s, session %v below %q", th.Source, r.Sessions[id], th.Parent)
		}
		check(t, th, threadtest.Figures[figures](t, r.Figures))
		if !agent {
			return
		}
		// A session that was removed must be told from one that never was.
		_, err := r.Provider.Thread(t.Context(), th.Parent)
		if gone := new(handoff.Error); errors.As(err, &gone) && gone.Kind == handoff.Unavailable && strings.Contains(gone.Hint.String(), id) {
			return
		}
		threadtest.Child(t, r.Provider, th.Parent, id)
	})
}

func check(t *testing.T, th *thread.Thread, f figures) {
	t.Helper()
	if th.ToolCalls != f.ToolCalls {
		t.Errorf("got %d calls, want %d", th.ToolCalls, f.ToolCalls)
	}
	usage(t, th.Usage, th.Inherited, f)
	for _, m := range th.Usage.Models {
		if m.Calls != f.Models[m.Model] {
			t.Errorf("got %d calls of %q, want %d", m.Calls, m.Model, f.Models[m.Model])
		}
	}
	if th.BadLines != f.Bad && th.BadLines+1 != f.Bad {
		t.Errorf("got %d bad lines, want %d", th.BadLines, f.Bad)
	}
}

func usage(t *testing.T, u thread.Usage, inherited thread.Tokens, f figures) {
	t.Helper()
	got := u.Tokens
	got.Add(inherited)
	got.CacheWrite1h, got.Reasoning = 0, 0
	want := thread.Tokens{Input: f.Input, CacheRead: f.CacheRead, CacheWrite: f.CacheWrite, Output: f.Output, Calls: f.Messages - f.Models["<synthetic>"]}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestRealFormats reads transcripts that lie outside a home: drifted schemas,
// and a fork of the tool.
func TestRealFormats(t *testing.T) {
	fork := claude.Fork{Name: "fork", Env: "FORK_HOME", Dirs: []string{".fork"}}
	threadtest.EachStray(t, "claude", ".claude", func(t *testing.T, path, body string, b json.RawMessage) {
		f := threadtest.Figures[figures](t, b)
		if f.Kind != "claude" {
			t.Skip("its records are of another format")
		}
		home := t.TempDir()
		put(t, home, ".fork", project+mainID+".jsonl", body)
		p := threadtest.Open(t, fork.Driver(), home)
		threadtest.Sound(t, p, mainID)
		th := threadtest.Load(t, p, mainID)
		agents, err := p.Agents(t.Context(), th)
		if err != nil {
			t.Error(err)
		}
		sum := th.Inherited
		for _, a := range agents {
			if a.Thread != nil && a.Thread.Source == th.Source {
				if err := a.Thread.Load(t.Context()); err != nil {
					t.Error(err)
				}
				sum.Add(a.Thread.Usage.Tokens)
			}
		}
		if sum == (thread.Tokens{}) {
			usage(t, th.Usage, sum, f)
		} else if got := sum.Output + th.Usage.Output; got != f.Output {
			t.Errorf("got output %d with what is inside it, want %d", got, f.Output)
		}
	})
}

// TestRealStatuses: a call that waits for permission is written once it is
// granted, so that one waits can't be seen.
func TestRealStatuses(t *testing.T) {
	want := map[string]int{
		"1-1_session-start":            2, // a turn that was not asserted
		"2-10_mid-turn-message-queued": 2, // the queued message's own turn
		"2-14_turn-aborted-by-error":   2, // a second turn that failed, and was not asserted
		"3-2_background-subagent":      1, // the turn that notifications begin, in which the recording ends
		"3-5_workflow-fanout":          2, // the turn that a notification begins
	}
	if got := threadtest.Statuses(t, claude.Driver(), map[string]int{"2-19_tool-gate-permission-prompt": 1}); !maps.Equal(got, want) {
		t.Errorf("beyond what was expected were seen %v, want %v", got, want)
	}
}

// intended are the cases in which we answer otherwise than xurl, and why.
// docs/threads.md has them in words.
var intended = map[string]string{
	"status_source":                            "xurl infers every status; transcripts say them",
	"lifecycle":                                "that a file was found is no event",
	"real-claude-head last_update":             "what is no time is not shown as one",
	"claude-read messages":                     "a compaction is shown once, with its summary",
	"claude-detail-prefix uri":                 "an agent has one spelling",
	"claude-detail-prefix agent_id":            "an agent has one spelling",
	"claude-detail-prefix subagent_uri":        "an agent has one spelling",
	"real-claude-detail child_last_updated_at": "what is no time is not shown as one",
	"real-claude-read-empty":                   "a transcript without records is an empty thread, with a warning",
}

func TestXurl(t *testing.T) { threadtest.Xurl(t, claude.Driver(), "CLAUDE_CONFIG_DIR", intended) }
