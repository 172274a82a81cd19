package pi_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/pi"
	"github.com/agent-handoff/handoff/threadtest"
)

// figures are what the independent program found in one file.
type figures struct {
	ID     string             `json:"id"`
	Cwd    string             `json:"cwd"`
	Bad    int                `json:"bad"`
	Lines  int                `json:"lines"`
	Models map[string]int     `json:"models"`
	Usage  map[string]float64 `json:"usage_all_branches"`
}

// second is the session that begins within the file of another, which the
// independent program takes for one.
var second = map[string]string{"019e6b6d-22e2-7191-83bd-8cc6b1af4b00": "019e6b6d-b154-72e9-a34c-db9957a96819"}

// compare holds what a file's sessions took against the figures.
func compare(t *testing.T, path string, f figures, threads ...*thread.Thread) {
	t.Helper()
	var got thread.Tokens
	bad, lines := 0, 0
	for _, th := range threads {
		if err := th.Load(t.Context()); err != nil {
			t.Errorf("%s: %v", path, err)
			return
		}
		got.Add(th.Usage.Tokens)
		bad += th.BadLines
		lines += th.Lines
		for _, m := range th.Usage.Models {
			if f.Models[m.Model] == 0 {
				t.Errorf("%s: model %q was not used", path, m.Model)
			}
		}
		if th.Cwd != f.Cwd {
			t.Errorf("%s: got cwd %q, want %q", path, th.Cwd, f.Cwd)
		}
	}
	want := thread.Tokens{
		Input: int64(f.Usage["input"]), Output: int64(f.Usage["output"]), Reasoning: int64(f.Usage["reasoning"]),
		CacheRead: int64(f.Usage["cacheRead"]), CacheWrite: int64(f.Usage["cacheWrite"]), Calls: got.Calls, Cost: got.Cost,
	}
	if got != want || math.Abs(got.Cost-f.Usage["cost"]) > 1e-9 {
		t.Errorf("%s: got %+v, want %+v and cost %v", path, got, want, f.Usage["cost"])
	}
	if bad != f.Bad || lines != f.Lines {
		t.Errorf("%s: got %d of %d lines bad, want %d of %d", path, bad, lines, f.Bad, f.Lines)
	}
}

// TestRealThreads reads every real session that lies in a home.
func TestRealThreads(t *testing.T) {
	base := threadtest.Shared(t, "fixtures/transcripts")
	want := threadtest.Expected(t, "pi")
	read := 0
	for _, home := range threadtest.Homes(t, "pi", ".pi") {
		threadtest.Untouched(t, home)
		p := provider(t, home)
		sessions := map[string]bool{}
		for th, err := range p.Threads(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			sessions[th.ID] = true
			if said, _ := threadtest.Messages(t, th); len(said) == 0 {
				t.Errorf("%s: nothing was read", th.Source)
			}
		}
		for path, b := range want {
			if !strings.HasPrefix(filepath.Join(base, path), filepath.Join(home, ".pi")) {
				continue
			}
			var f figures
			if err := json.Unmarshal(b, &f); err != nil {
				t.Fatal(err)
			}
			var threads []*thread.Thread
			for _, id := range []string{f.ID, second[f.ID]} {
				if id == "" {
					continue
				}
				th, err := p.Thread(t.Context(), id)
				if err != nil || !sessions[id] {
					t.Fatalf("%s: %v, listed %v", path, err, sessions[id])
				}
				if agents, err := p.Agents(t.Context(), th); err != nil || len(agents) > 0 {
					t.Errorf("%s: got agents %v, %v", path, agents, err)
				}
				threads = append(threads, th)
			}
			read += len(threads)
			compare(t, path, f, threads...)
		}
	}
	t.Logf("%d real threads read", read)
}

// TestRealFormats reads sessions that lie outside a home: the first version, and
// a long one with two branches and two compactions.
func TestRealFormats(t *testing.T) {
	base := threadtest.Shared(t, "fixtures/transcripts")
	for path, b := range threadtest.Expected(t, "pi") {
		var f figures
		if err := json.Unmarshal(b, &f); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(path, "/.pi/") {
			continue
		}
		body, err := os.ReadFile(filepath.Join(base, path))
		if err != nil {
			t.Fatal(err)
		}
		home := t.TempDir()
		put(t, home, "p/by-hand.jsonl", string(body))
		th := open(t, provider(t, home), f.ID)
		compare(t, path, f, th)
		said, calls := threadtest.Messages(t, th)
		if len(calls) != th.ToolCalls {
			t.Errorf("%s: got %d calls of %d", path, len(calls), th.ToolCalls)
		}
		t.Logf("%s: %d messages, %d calls, %s, usage %s", path, len(said), len(calls), th.State.Status, th.Usage.Completeness)
	}
}

// unseen is how many phases no transcript shows: a compaction is written once it
// is done, so that one is under way can't be seen.
var unseen = map[string]int{"2-12_context-compaction": 2}

// TestRealStatuses replays the sessions that were watched.
func TestRealStatuses(t *testing.T) {
	home := filepath.Join(threadtest.Shared(t, "fixtures/transcripts"), "pi", "ingo-eichhorst+Irrlicht")
	p := provider(t, home)
	agreed, phases, apart := 0, 0, 0
	for _, s := range threadtest.Scenarios(t, "pi") {
		var seen []string
		for _, session := range s.Sessions {
			if len(session) < 36 {
				continue
			}
			id := session[len(session)-36:]
			th, err := p.Thread(t.Context(), id)
			if err != nil {
				continue
			}
			source, err := filepath.Rel(home, th.Source)
			if err != nil {
				t.Fatal(err)
			}
			for _, phase := range threadtest.Replay(t, pi.Driver(), home, source, id) {
				if len(seen) == 0 || seen[len(seen)-1] != phase {
					seen = append(seen, phase)
				}
			}
		}
		if len(seen) == 0 {
			apart++
			continue // its transcript lies outside the home
		}
		phases += len(s.Phases)
		n := threadtest.Agree(seen, s.Phases)
		agreed += n
		if n != len(s.Phases)-unseen[s.Name] {
			t.Errorf("%s: saw %v, want %v", s.Name, seen, s.Phases)
		}
	}
	t.Logf("%d of %d phases agree; %d scenarios have no transcript in the home", agreed, phases, apart)
}
