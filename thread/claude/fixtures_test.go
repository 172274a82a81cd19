package claude_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
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

func parse(t *testing.T, b json.RawMessage) (f figures) {
	t.Helper()
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatal(err)
	}
	return f
}

func open(t *testing.T, d thread.Driver, roots ...string) thread.Provider {
	t.Helper()
	p, err := d.Open(roots)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestRealThreads reads every real transcript that lies in a home: each id
// resolves, subagents are children of their parents and no sessions, usage is
// what the independent program found.
func TestRealThreads(t *testing.T) {
	base := threadtest.Shared(t, "fixtures/transcripts")
	want := threadtest.Expected(t, "claude")
	read, subs := 0, 0
	for _, home := range threadtest.Homes(t, "claude", ".claude") {
		threadtest.Untouched(t, home)
		p := open(t, claude.Driver(), filepath.Join(home, ".claude"))
		sessions := map[string]bool{}
		for th, err := range p.Threads(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			sessions[th.ID] = true
		}
		for path, b := range want {
			if !strings.HasPrefix(filepath.Join(base, path), filepath.Join(home, ".claude")) {
				continue
			}
			id, agent := strings.CutPrefix(strings.TrimSuffix(filepath.Base(path), ".jsonl"), "agent-")
			th, err := p.Thread(t.Context(), id)
			if err != nil || th.Source != filepath.Join(base, path) {
				t.Errorf("%s: %v", path, err)
				continue
			}
			read++
			check(t, path, th, parse(t, b))
			if sessions[id] == agent || (th.Parent != "") != agent {
				t.Errorf("%s: got session %v below %q", path, sessions[id], th.Parent)
			}
			if agent {
				subs++
				checkChild(t, path, p, th)
			}
		}
	}
	t.Logf("%d real threads read, %d of them subagents", read, subs)
}

func check(t *testing.T, path string, th *thread.Thread, f figures) {
	t.Helper()
	_, calls := threadtest.Messages(t, th)
	if th.ToolCalls != f.ToolCalls || len(calls) != f.ToolCalls {
		t.Errorf("%s: got %d calls, %d shown, want %d", path, th.ToolCalls, len(calls), f.ToolCalls)
	}
	usage(t, path, th.Usage, th.Inherited, f)
	for _, m := range th.Usage.Models {
		if m.Calls != f.Models[m.Model] {
			t.Errorf("%s: got %d calls of %q, want %d", path, m.Calls, m.Model, f.Models[m.Model])
		}
	}
	if th.BadLines != f.Bad && th.BadLines+1 != f.Bad {
		t.Errorf("%s: got %d bad lines, want %d", path, th.BadLines, f.Bad)
	}
}

func usage(t *testing.T, path string, u thread.Usage, inherited thread.Tokens, f figures) {
	t.Helper()
	got := u.Tokens
	got.Add(inherited)
	got.CacheWrite1h, got.Reasoning = 0, 0
	want := thread.Tokens{Input: f.Input, CacheRead: f.CacheRead, CacheWrite: f.CacheWrite, Output: f.Output, Calls: f.Messages - f.Models["<synthetic>"]}
	if got != want {
		t.Errorf("%s: got %+v, want %+v", path, got, want)
	}
}

// checkChild looks for a subagent below its session. A session that was removed
// must be told from one that never was.
func checkChild(t *testing.T, path string, p thread.Provider, th *thread.Thread) {
	t.Helper()
	parent, err := p.Thread(t.Context(), th.Parent)
	if gone := new(handoff.Error); errors.As(err, &gone) && gone.Kind == handoff.Unavailable && strings.Contains(gone.Hint, th.ID) {
		t.Logf("%s: %v", th.ID, err)
		return
	}
	if err != nil {
		t.Errorf("%s: its parent: %v", path, err)
		return
	}
	agents, err := p.Agents(t.Context(), parent)
	i := slices.IndexFunc(agents, func(a thread.Agent) bool { return a.ID == th.ID })
	if err != nil || i < 0 || !agents[i].Validated || agents[i].Thread == nil {
		t.Errorf("%s: it is no validated child of %s: %+v, %v", path, th.Parent, agents, err)
		return
	}
	t.Logf("%s/%s: %s by %s, %s", th.Parent[:8], th.ID, agents[i].State.Status, agents[i].State.Source, agents[i].State.Evidence)
}

// TestRealFormats reads transcripts that lie outside a home: drifted schemas,
// and a fork of the tool.
func TestRealFormats(t *testing.T) {
	base := threadtest.Shared(t, "fixtures/transcripts")
	fork := claude.Fork{Name: "fork", Env: "FORK_HOME", Dirs: []string{".fork"}}
	const id = "0c4f3c1e-7b1a-4d59-9d0e-000000000001"
	for path, b := range threadtest.Expected(t, "claude") {
		f := parse(t, b)
		if strings.Contains(path, "/.claude/") || f.Kind != "claude" {
			continue
		}
		body, err := os.ReadFile(filepath.Join(base, path))
		if err != nil {
			t.Fatal(err)
		}
		home := t.TempDir()
		put(t, home, ".fork", "projects/p/"+id+".jsonl", string(body))
		p := open(t, fork.Driver(), filepath.Join(home, ".fork"))
		th, err := p.Thread(t.Context(), id)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		said, _ := threadtest.Messages(t, th)
		t.Logf("%s: %d messages, %d calls, %s by %s, usage %s", path, len(said), th.ToolCalls, th.State.Status, th.State.Source, th.Usage.Completeness)
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
			usage(t, path, th.Usage, sum, f)
		} else if got := sum.Output + th.Usage.Output; got != f.Output {
			t.Errorf("%s: got output %d with what is inside it, want %d", path, got, f.Output)
		}
	}
}

// unseen are phases that a transcript can't show.
var unseen = map[string]int{
	"2-19_tool-gate-permission-prompt": 1, // the call that waits for permission is written once it is granted
}

// TestRealStatuses replays the sessions that were watched.
func TestRealStatuses(t *testing.T) {
	home := filepath.Join(threadtest.Shared(t, "fixtures/transcripts"), "claude", "ingo-eichhorst+Irrlicht")
	p := open(t, claude.Driver(), filepath.Join(home, ".claude"))
	agreed, phases := 0, 0
	for _, s := range threadtest.Scenarios(t, "claude") {
		phases += len(s.Phases)
		for _, id := range s.Sessions {
			th, err := p.Thread(t.Context(), id)
			if err != nil {
				continue // its records are part of another's file
			}
			source, err := filepath.Rel(home, th.Source)
			if err != nil {
				t.Fatal(err)
			}
			seen := threadtest.Replay(t, claude.Driver(), home, source, id)
			n := threadtest.Agree(seen, s.Phases)
			agreed += n
			if n < len(s.Phases)-unseen[s.Name] {
				t.Errorf("%s: saw %v, want %v", s.Name, seen, s.Phases)
			}
			break
		}
	}
	t.Logf("%d of %d phases agree", agreed, phases)
}
