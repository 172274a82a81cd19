package pi_test

import (
	"encoding/json"
	"maps"
	"math"
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/pi"
)

// figures are the reference values of one file, from an independent program.
type figures struct {
	ID     string             `json:"id"`
	Cwd    string             `json:"cwd"`
	Bad    int                `json:"bad"`
	Lines  int                `json:"lines"`
	Models map[string]int     `json:"models"`
	Usage  map[string]float64 `json:"usage_all_branches"`
}

// second is the second session in a file. The reference values include both.
var second = map[string]string{"019e6b6d-22e2-7191-83bd-8cc6b1af4b00": "019e6b6d-b154-72e9-a34c-db9957a96819"}

// compare compares the sessions of a file with the reference values.
func compare(t *testing.T, f figures, threads ...*thread.Thread) {
	t.Helper()
	var got thread.Tokens
	bad, lines := 0, 0
	for _, th := range threads {
		got.Add(th.Usage.Tokens)
		bad += th.BadLines
		lines += th.Lines
		for _, m := range th.Usage.Models {
			if f.Models[m.Model] == 0 {
				t.Errorf("model %q was not used", m.Model)
			}
		}
		if th.Cwd != f.Cwd {
			t.Errorf("got cwd %q, want %q", th.Cwd, f.Cwd)
		}
	}
	want := thread.Tokens{
		Input: int64(f.Usage["input"]), Output: int64(f.Usage["output"]), Reasoning: int64(f.Usage["reasoning"]),
		CacheRead: int64(f.Usage["cacheRead"]), CacheWrite: int64(f.Usage["cacheWrite"]), Calls: got.Calls, Cost: got.Cost,
	}
	if got != want || math.Abs(got.Cost-f.Usage["cost"]) > 1e-9 {
		t.Errorf("got %+v, want %+v and cost %v", got, want, f.Usage["cost"])
	}
	if bad != f.Bad || lines != f.Lines {
		t.Errorf("got %d of %d lines bad, want %d of %d", bad, lines, f.Bad, f.Lines)
	}
}

// TestRealThreads checks that each ID resolves and is listed, that none has a subagent,
// and that usage equals the reference values.
func TestRealThreads(t *testing.T) {
	threadtest.EachReal(t, pi.Driver(), ".pi", func(t *testing.T, r threadtest.Real) {
		f := threadtest.Figures[figures](t, r.Figures)
		var threads []*thread.Thread
		for _, id := range []string{f.ID, second[f.ID]} {
			if id == "" {
				continue
			}
			th := threadtest.Load(t, r.Provider, id)
			if !r.Sessions[id] {
				t.Errorf("%s is not listed", id)
			}
			if agents, err := r.Provider.Agents(t.Context(), th); err != nil || len(agents) > 0 {
				t.Errorf("got agents %v, %v", agents, err)
			}
			threads = append(threads, th)
		}
		compare(t, f, threads...)
	})
}

// TestRealFormats reads sessions outside a home directory: the first version, and a
// long one with two branches and two compactions.
func TestRealFormats(t *testing.T) {
	threadtest.EachOutside(t, "pi", ".pi", func(t *testing.T, _, body string, b json.RawMessage) {
		f := threadtest.Figures[figures](t, b)
		home := t.TempDir()
		put(t, home, "p/by-hand.jsonl", body)
		p := provider(t, home)
		threadtest.CheckThread(t, p, f.ID)
		compare(t, f, threadtest.Load(t, p, f.ID))
	})
}

// TestRealStatuses compares the recorded phases. A compaction in progress is not
// visible.
func TestRealStatuses(t *testing.T) {
	want := map[string]int{
		"1-6_checkpoint-rewind":        2, // the first turn, before the watcher started
		"2-10_mid-turn-message-queued": 2, // the queued message's own turn
		"2-20_user-esc-interrupt":      2, // the interruption, which the watcher can't see
	}
	if got := threadtest.CheckPhases(t, pi.Driver(), map[string]int{"2-12_context-compaction": 2}); !maps.Equal(got,
		want) {
		t.Errorf("got additional phases %v, want %v", got, want)
	}
}

func TestRealTruncated(t *testing.T) { threadtest.CheckAllTruncated(t, pi.Driver(), ".pi") }
