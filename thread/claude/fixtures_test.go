package claude_test

import (
	"encoding/json"
	"errors"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/claude"
)

// figures are the reference values of one transcript, from an independent program.
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

// TestRealThreads checks that each ID resolves, that subagents are validated and
// not listed, and that usage equals the reference values.
func TestRealThreads(t *testing.T) {
	threadtest.EachReal(t, claude.Driver(), ".claude", func(t *testing.T, r threadtest.Real) {
		id, agent := strings.CutPrefix(strings.TrimSuffix(filepath.Base(r.Path), ".jsonl"), "agent-")
		th := threadtest.Load(t, r.Provider, id)
		if th.Source != r.Source || r.Sessions[id] == agent || (th.Parent != "") != agent {
			t.Errorf("got %s, listed %v, parent %q", th.Source, r.Sessions[id], th.Parent)
		}
		check(t, th, threadtest.Figures[figures](t, r.Figures))
		if !agent {
			return
		}
		// The parent may have been removed.
		_, err := r.Provider.Thread(t.Context(), th.Parent)
		if gone := new(handoff.Error); errors.As(err, &gone) && gone.Kind == handoff.Unavailable &&
			strings.Contains(gone.Hint.String(), id) {
			return
		}
		threadtest.CheckChild(t, r.Provider, th.Parent, id)
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
	want := thread.Tokens{Input: f.Input, CacheRead: f.CacheRead, CacheWrite: f.CacheWrite, Output: f.Output,
		Calls: f.Messages - f.Models["<synthetic>"]}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestRealFormats reads transcripts outside a home directory: changed schemas, and
// other tools that write this format.
func TestRealFormats(t *testing.T) {
	threadtest.EachOutside(t, "claude", ".claude", func(t *testing.T, path, body string, b json.RawMessage) {
		f := threadtest.Figures[figures](t, b)
		if f.Kind != "claude" {
			t.Skip("records of another format")
		}
		home := t.TempDir()
		put(t, home, ".claude", project+mainID+".jsonl", body)
		p := threadtest.Open(t, claude.Driver(), home)
		threadtest.CheckThread(t, p, mainID)
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
			t.Errorf("got output %d with subagents in the file, want %d", got, f.Output)
		}
	})
}

// TestRealStatuses compares the recorded phases. A call is recorded when permission
// is granted, so waiting for permission is not visible.
func TestRealStatuses(t *testing.T) {
	want := map[string]int{
		"1-1_session-start":            2, // a turn without an assertion
		"2-10_mid-turn-message-queued": 2, // the queued message's own turn
		"2-14_turn-aborted-by-error":   2, // a second turn that failed, without an assertion
		"3-2_background-subagent":      1, // the turn that notifications start, in which the recording ends
		"3-5_workflow-fanout":          2, // the turn that a notification starts
	}
	if got := threadtest.CheckPhases(t, claude.Driver(),
		map[string]int{"2-19_tool-gate-permission-prompt": 1}); !maps.Equal(got, want) {
		t.Errorf("got unexpected phases %v, want %v", got, want)
	}
}

// intended are the differences from xurl, which docs/threads.md explains.
var intended = map[string]string{
	"status_source":                            "xurl infers every status; transcripts record them",
	"lifecycle":                                "finding a file is not an event",
	"real-claude-head last_update":             "invalid times are left out",
	"claude-read messages":                     "a compaction is shown once, with its summary",
	"claude-detail-prefix uri":                 "an agent has one canonical ID",
	"claude-detail-prefix agent_id":            "an agent has one canonical ID",
	"claude-detail-prefix subagent_uri":        "an agent has one canonical ID",
	"real-claude-detail child_last_updated_at": "invalid times are left out",
	"real-claude-read-empty":                   "a transcript without records is an empty thread, with a warning",
}

func TestXurl(t *testing.T) { threadtest.Xurl(t, claude.Driver(), "CLAUDE_CONFIG_DIR", intended) }

func TestRealTruncated(t *testing.T) { threadtest.CheckAllTruncated(t, claude.Driver(), ".claude") }
