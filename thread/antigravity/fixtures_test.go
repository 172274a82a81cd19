package antigravity_test

import (
	"maps"
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/antigravity"
)

// TestRealThreads reads the published threads. Four of them started subagents,
// whose transcripts were not published.
func TestRealThreads(t *testing.T) {
	parents := 0
	threadtest.EachReal(t, antigravity.Driver(), ".gemini/antigravity-cli", func(t *testing.T, r threadtest.Real) {
		f := threadtest.Figures[struct{ Lines, Bad int }](t, r.Figures)
		for id := range r.Sessions {
			th := threadtest.Load(t, r.Provider, id)
			if th.Source != r.Source {
				continue
			}
			agents, err := r.Provider.Agents(t.Context(), th)
			if err != nil || th.Lines != f.Lines || th.BadLines != f.Bad || th.Usage.Completeness != thread.NoUsage {
				t.Errorf("got %+v, %v, want %+v", th.Facts, err, f)
			}
			if len(agents) > 0 {
				parents++
			}
		}
	})
	if parents != 4 {
		t.Errorf("got %d threads with subagents, want 4", parents)
	}
}

func TestRealTruncated(t *testing.T) {
	threadtest.CheckAllTruncated(t, antigravity.Driver(), ".gemini/antigravity-cli")
}

// TestRealStatuses compares the recorded phases. Additional ones are turns of queued
// messages and of messages from subagents, which have no assertion.
func TestRealStatuses(t *testing.T) {
	want := map[string]int{"2-10_mid-turn-message-queued": 2, "3-1_foreground-subagent": 1, "3-2_background-subagent": 2,
		"3-5_workflow-fanout": 1}
	if got := threadtest.CheckPhases(t, antigravity.Driver(), nil); !maps.Equal(got, want) {
		t.Errorf("got additional phases %v, want %v", got, want)
	}
}
