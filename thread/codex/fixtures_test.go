package codex_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// TestRealThreads reads every real rollout that lies in a home: each id
// resolves, subagents are children of their parents and no sessions, usage is
// what the independent program found.
func TestRealThreads(t *testing.T) {
	base := threadtest.Shared(t, "fixtures/transcripts")
	want := threadtest.Expected(t, "codex")
	read := 0
	for _, home := range threadtest.Homes(t, "codex", ".codex") {
		threadtest.Untouched(t, home)
		p := open(t, codex.Driver(), filepath.Join(home, ".codex"))
		sessions := map[string]bool{}
		for th, err := range p.Threads(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			sessions[th.ID] = true
			if said, _ := threadtest.Messages(t, th); th.Lines == 0 || len(said) == 0 && th.Lines > 1 && th.Usage.Calls == 0 {
				t.Errorf("%s: nothing was read", th.Source)
			}
		}
		for path, b := range want {
			if !strings.HasPrefix(filepath.Join(base, path), filepath.Join(home, ".codex")) {
				continue
			}
			f := parse(t, b)
			th, err := p.Thread(t.Context(), f.ID)
			if err != nil {
				t.Errorf("%s: %v", path, err)
				continue
			}
			read++
			check(t, path, p, th, f, sessions)
		}
	}
	t.Logf("%d real threads read", read)
}

func check(t *testing.T, path string, p thread.Provider, th *thread.Thread, f figures, sessions map[string]bool) {
	t.Helper()
	if _, calls := threadtest.Messages(t, th); len(calls) < th.ToolCalls {
		t.Errorf("%s: got %d calls of %d", path, len(calls), th.ToolCalls)
	}
	usage(t, path, th, f)
	if th.Parent != f.Parent || sessions[th.ID] != (f.Parent == "") {
		t.Errorf("%s: got parent %q and session %v, want %q", path, th.Parent, sessions[th.ID], f.Parent)
	}
	if th.BadLines != f.Bad {
		t.Errorf("%s: got %d bad lines, want %d", path, th.BadLines, f.Bad)
	}
	if f.Parent == "" {
		return
	}
	parent, err := p.Thread(t.Context(), f.Parent)
	if err != nil {
		t.Errorf("%s: its parent: %v", path, err)
		return
	}
	agents, err := p.Agents(t.Context(), parent)
	i := slices.IndexFunc(agents, func(a thread.Agent) bool { return a.ID == th.ID })
	if err != nil || i < 0 || !agents[i].Validated || agents[i].Thread == nil {
		t.Errorf("%s: it is no validated child of %s: %+v, %v", path, f.Parent, agents, err)
	}
}

// usage compares what was spent. The independent program takes a fork's replay
// of its parent for the fork's own; we count it apart, so it is added here.
func usage(t *testing.T, path string, th *thread.Thread, f figures) {
	t.Helper()
	got := th.Usage.Tokens
	got.Add(th.Inherited)
	want := thread.Tokens{
		Input:     f.Usage["input_tokens"] - f.Usage["cached_input_tokens"] - f.Usage["cache_write_input_tokens"],
		CacheRead: f.Usage["cached_input_tokens"], CacheWrite: f.Usage["cache_write_input_tokens"],
		Output: f.Usage["output_tokens"], Reasoning: f.Usage["reasoning_output_tokens"], Calls: got.Calls,
	}
	if got != want {
		t.Errorf("%s: got %+v, want %+v", path, got, want)
	}
	for _, m := range th.Usage.Models {
		if _, known := f.Models[m.Model]; !known && m.Model != "" {
			t.Errorf("%s: model %q was not used", path, m.Model)
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
		p := open(t, codex.Driver(), filepath.Join(dir, tt.family, ".codex"))
		th, err := p.Thread(t.Context(), tt.id)
		if err == nil {
			err = th.Load(t.Context())
		}
		if err != nil {
			t.Errorf("%s: %v", tt.family, err)
			continue
		}
		// Events that repeat a total are no requests.
		if got := th.Inherited.Calls; got > tt.inherited || got < tt.inherited*95/100 || th.Usage.Completeness != tt.complete || th.Usage.Calls == 0 {
			t.Errorf("%s: got %d requests inherited, %d own, %s, want %d, some, %s", tt.family, got, th.Usage.Calls, th.Usage.Completeness, tt.inherited, tt.complete)
		}
	}
}

// TestRealFormats reads rollouts that lie outside a home: old versions, drifted
// schemas, and a fork of the tool.
func TestRealFormats(t *testing.T) {
	base := threadtest.Shared(t, "fixtures/transcripts")
	fork := codex.Fork{Name: "fork", Env: "FORK_HOME", Dir: ".fork"}
	const id = "019c871c-b1f9-7f60-9c4f-000000000001"
	for path, b := range threadtest.Expected(t, "codex") {
		if strings.Contains(path, "/.codex/") {
			continue
		}
		f := parse(t, b)
		body, err := os.ReadFile(filepath.Join(base, path))
		if err != nil {
			t.Fatal(err)
		}
		home := t.TempDir()
		dir := filepath.Join(home, ".fork", "sessions", "2026", "02", "22")
		name := filepath.Join(dir, "rollout-2026-02-22T20-48-50-"+id+".jsonl")
		if os.MkdirAll(dir, 0o700) != nil || os.WriteFile(name, body, 0o600) != nil {
			t.Fatal("can't write")
		}
		th, err := open(t, fork.Driver(), filepath.Join(home, ".fork")).Thread(t.Context(), id)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		said, _ := threadtest.Messages(t, th)
		t.Logf("%s: %d messages, %d calls, %s by %s, usage %s", path, len(said), th.ToolCalls, th.State.Status, th.State.Source, th.Usage.Completeness)
		usage(t, path, th, f)
		if th.BadLines != f.Bad {
			t.Errorf("%s: got %d bad lines, want %d", path, th.BadLines, f.Bad)
		}
	}
}

// TestRealStatuses replays the sessions that were watched.
func TestRealStatuses(t *testing.T) {
	home := filepath.Join(threadtest.Shared(t, "fixtures/transcripts"), "codex", "ingo-eichhorst+Irrlicht")
	p := open(t, codex.Driver(), filepath.Join(home, ".codex"))
	agreed, phases := 0, 0
	for _, s := range threadtest.Scenarios(t, "codex") {
		phases += len(s.Phases)
		for _, session := range s.Sessions {
			if len(session) < 36 {
				continue
			}
			id := session[len(session)-36:]
			th, err := p.Thread(t.Context(), id)
			if err != nil {
				continue // its rollout is part of another's file
			}
			source, err := filepath.Rel(home, th.Source)
			if err != nil {
				t.Fatal(err)
			}
			seen := threadtest.Replay(t, codex.Driver(), home, source, id)
			n := threadtest.Agree(seen, s.Phases)
			agreed += n
			if n < len(s.Phases) {
				t.Errorf("%s: saw %v, want %v", s.Name, seen, s.Phases)
			}
			break
		}
	}
	t.Logf("%d of %d phases agree", agreed, phases)
}
