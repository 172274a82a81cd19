package copilot_test

import (
	"maps"
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/copilot"
)

// figures are the reference values of one file, from an independent program.
type figures struct {
	ID        string                      `json:"id"`
	Version   string                      `json:"version"`
	Lines     int                         `json:"lines"`
	Models    map[string]int              `json:"models"`
	Types     map[string]int              `json:"types"`
	Output    int64                       `json:"output_sum_of_messages"`
	Subagents map[string][]string         `json:"subagents"`
	Shutdowns []map[string]map[string]int `json:"shutdowns"`
}

// TestRealThreads compares output, models, calls and subagents with the reference
// values, and the other tokens with the last total of the tool. Two published files
// are several recordings in one: the first of them is the thread.
func TestRealThreads(t *testing.T) {
	threadtest.EachReal(t, copilot.Driver(), ".copilot", func(t *testing.T, r threadtest.Real) {
		f := threadtest.Figures[figures](t, r.Figures)
		if f.Types["session.start"] > 1 {
			t.Skip("several recordings in one file")
		}
		th := threadtest.Load(t, r.Provider, f.ID)
		agents, err := r.Provider.Agents(t.Context(), th)
		if err != nil || len(agents) != len(f.Subagents) {
			t.Fatalf("got agents %+v, %v, want %d", agents, err, len(f.Subagents))
		}
		output, calls, answers := th.Usage.Output, th.ToolCalls, th.Usage.Calls
		for _, a := range agents {
			if f.Subagents[a.ID] == nil || !a.Validated {
				t.Errorf("got agent %+v", a)
			}
			want := thread.Completed
			if last := f.Subagents[a.ID]; last[len(last)-1] == "subagent.failed" {
				want = thread.Errored
			}
			if a.State.Status != want {
				t.Errorf("%s: got %+v, want %s", a.ID, a.State, want)
			}
			output, calls, answers = output+a.Thread.Usage.Output, calls+a.Thread.ToolCalls, answers+a.Thread.Usage.Calls
		}
		if output != f.Output || answers != f.Types["assistant.message"] || calls != f.Types["tool.execution_start"] ||
			th.Version != f.Version || th.Lines != f.Lines {
			t.Errorf("got output %d, %d answers, %d calls, version %s, %d lines, want %+v", output, answers, calls, th.Version,
				th.Lines, f)
		}
		var want thread.Tokens
		for _, m := range f.Shutdowns[len(f.Shutdowns)-1] {
			read, write := int64(m["cacheReadTokens"]), int64(m["cacheWriteTokens"])
			want.Add(thread.Tokens{Input: int64(m["inputTokens"]) - read - write, CacheRead: read, CacheWrite: write,
				Reasoning: int64(m["reasoningTokens"])})
		}
		got := th.Usage.Tokens
		if got.Output, got.Calls = 0, 0; got != want {
			t.Errorf("got %+v, want %+v", th.Usage, want)
		}
	})
}

// TestRealClients compares the threads of a real client with what the server sent.
func TestRealClients(t *testing.T) {
	home, l := threadtest.Client(t, "copilot-1.0.102")
	threadtest.CheckUnchanged(t, home)
	p := provider(t, home)
	threadtest.CheckLedger(t, p, l, "3deb5244-faba-42fb-a432-c3dfc8f6c73a", thread.Completed, []int{1, 5, 16, 20},
		[]int{9, 13})
	threadtest.CheckLedger(t, p, l, "95d7fb41-09e5-4215-8235-58a2688ba5d3", thread.Completed, []int{23, 27, 38, 42},
		[]int{31, 35})
}

func TestRealTruncated(t *testing.T) { threadtest.CheckAllTruncated(t, copilot.Driver(), ".copilot") }

// TestRealStatuses compares the recorded phases. Two files contain further recordings,
// which are other threads; a rewind removed turns of a third.
func TestRealStatuses(t *testing.T) {
	invisible := map[string]int{"1-2_session-end": 3, "1-5_session-reset": 2, "1-6_checkpoint-rewind": 4}
	want := map[string]int{
		"1-1_session-start":                2, // the only turn has no assertion
		"2-19_tool-gate-permission-prompt": 1, // the process ended while it waited
	}
	if got := threadtest.CheckPhases(t, copilot.Driver(), invisible); !maps.Equal(got, want) {
		t.Errorf("got additional phases %v, want %v", got, want)
	}
}
