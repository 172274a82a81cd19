package claude_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/claude"
)

// TestUsage has a transcript for each rule of counting usage.
func TestUsage(t *testing.T) {
	const incomplete = "outside the thread"
	long := make([]byte, 1000)
	for i := range long {
		long[i] = 'x'
	}
	begin := func() *script { return start(mainID, "", "2.1.140", 0).user("go") }
	other := func(id, model, request string, u obj) obj {
		return obj{"requestId": request, "message": obj{"id": id, "role": "assistant", "model": model,
			"content": []obj{{"type": "text", "text": "x"}}, "usage": u, "stop_reason": "end_turn"}}
	}
	for name, tt := range map[string]struct {
		script *script
		want   thread.Tokens
		reason string
	}{
		"the record with the most output counts": {
			begin().say("m", "a", used(1, 0, 0, 0, 5), nil).say("m", "b", used(2, 0, 0, 0, 9), nil).say("m", "c",
				used(4, 0, 0, 0, 3), "end_turn"),
			thread.Tokens{Input: 2, Output: 9, Calls: 1}, incomplete,
		},
		"of equal records the last counts": {
			begin().say("m", "a", used(1, 10, 0, 0, 5), nil).say("m", "b", used(2, 20, 0, 0, 5), "end_turn"),
			thread.Tokens{Input: 2, CacheRead: 20, Output: 5, Calls: 1}, incomplete,
		},
		"one ID of several models is several answers": {
			begin().add("assistant", other("m", "one", "r1", used(1, 0, 0, 0, 5))).add("assistant",
				other("m", "two", "r2", used(2, 0, 0, 0, 3))),
			thread.Tokens{Input: 3, Output: 8, Calls: 2}, incomplete,
		},
		"records of the tool itself are not requests": {
			begin().say("m", "a", used(1, 0, 0, 0, 5), "end_turn").add("assistant",
				other("n", "<synthetic>", "r", used(0, 0, 0, 0, 0))),
			thread.Tokens{Input: 1, Output: 5, Calls: 1}, incomplete,
		},
		"cache writes by duration replace a missing sum": {
			begin().say("m", "a", obj{"input_tokens": 1, "output_tokens": 2,
				"cache_creation": obj{"ephemeral_5m_input_tokens": 30, "ephemeral_1h_input_tokens": 10}}, "end_turn"),
			thread.Tokens{Input: 1, CacheWrite: 40, CacheWrite1h: 10, Output: 2, Calls: 1}, incomplete,
		},
		"thinking is part of output": {
			begin().say("m", "a", obj{"input_tokens": 1, "output_tokens": 9, "output_tokens_details": obj{"thinking_tokens": 4}},
				"end_turn"),
			thread.Tokens{Input: 1, Output: 9, Reasoning: 4, Calls: 1}, incomplete,
		},
		"progress and results repeat the usage of subagents": {
			begin().call("m", "t", "Agent", obj{"prompt": "p"}, used(1, 0, 0, 0, 5)).
				add("progress", obj{"parentToolUseID": "t",
					"data": obj{"type": "agent_progress", "agentId": "a",
						"message": obj{"type": "assistant", "message": obj{"id": "c", "usage": used(9, 9, 9, 9, 9)}}}}).
				result("t", "x", obj{"status": "completed", "agentId": "a", "usage": used(7, 7, 7, 7, 7)}),
			thread.Tokens{Input: 1, Output: 5, Calls: 1}, incomplete,
		},
		"a long text with few tokens was counted before it was complete": {
			begin().say("m", string(long), used(1, 0, 0, 0, 2), nil), thread.Tokens{Input: 1, Output: 2, Calls: 1},
			"at least 1 answers record fewer output tokens",
		},
		"negative and huge numbers are a gap": {
			begin().say("m", "a", used(1, 0, 0, -7, 9e15), "end_turn"), thread.Tokens{Input: 1, Output: 1 << 48, Calls: 1},
			"1 records of usage have negative",
		},
		"a malformed line is a gap": {
			begin().say("m", "a", used(1, 0, 0, 0, 5), "end_turn").raw([]int{1}), thread.Tokens{Input: 1, Output: 5, Calls: 1},
			"1 malformed lines",
		},
		"a malformed line of another type may have an answer after it": {
			begin().say("m", "a", used(1, 0, 0, 0, 5), "end_turn").text(`{"type":"user","message":"x}`), thread.Tokens{
				Input: 1, Output: 5, Calls: 1}, "1 malformed lines",
		},
		"a second record on a line counts": {
			begin().text(`{"type":"user"}{"type":"assistant","message":{"id":"m","usage":{"input_tokens":0,"output_tokens":5}}}`), thread.Tokens{
				Output: 5, Calls: 1}, incomplete,
		},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			put(t, home, ".claude", project+mainID+".jsonl", tt.script.String())
			threadtest.CheckUsage(t, threadtest.Load(t, threadtest.Open(t, claude.Driver(), home), mainID), tt.want,
				thread.LowerBound, tt.reason)
		})
	}
}

func TestNoUsage(t *testing.T) {
	home := t.TempDir()
	put(t, home, ".claude", project+mainID+".jsonl", start(mainID, "", "2.1.140", 0).user("go").String())
	threadtest.CheckUsage(t, threadtest.Load(t, threadtest.Open(t, claude.Driver(), home), mainID), thread.Tokens{},
		thread.NoUsage, "no usage is recorded")
}

// TestFastMode checks that requests of the fast mode are those of a model of their own.
func TestFastMode(t *testing.T) {
	fast := used(1, 0, 0, 0, 5)
	fast["speed"] = "fast"
	usual := used(2, 0, 0, 0, 7)
	usual["speed"] = "standard"
	dir := t.TempDir()
	put(t, dir, ".claude", project+mainID+".jsonl", start(mainID, "", "2.1.140", 0).user("go").say("m", "a", fast, nil).
		say("m", "b", fast, "end_turn").say("n", "c", usual, "end_turn").String())
	got := threadtest.Load(t, threadtest.Open(t, claude.Driver(), dir), mainID).Usage
	if len(got.Models) != 2 || !strings.HasSuffix(got.Models[0].Model, "-fast") || got.Models[0].Output != 5 ||
		got.Models[1].Model+"-fast" != got.Models[0].Model || got.Models[1].Output != 7 {
		t.Errorf("usage by model %+v, want one of the fast mode first", got.Models)
	}
}

// TestFastModeLater has an answer whose first record does not have the mode.
func TestFastModeLater(t *testing.T) {
	first, fast, other := used(1, 4, 0, 0, 2), used(1, 4, 0, 0, 5), used(3, 0, 0, 0, 7)
	fast["speed"] = "fast"
	dir := t.TempDir()
	put(t, dir, ".claude", project+mainID+".jsonl", start(mainID, "", "2.1.140", 0).user("go").
		say("n", "x", other, "end_turn").
		say("m", "a", first, nil).say("m", "b", fast, "end_turn").String())
	th := threadtest.Load(t, threadtest.Open(t, claude.Driver(), dir), mainID)
	threadtest.CheckUsage(t, th, thread.Tokens{Input: 4, CacheRead: 4, Output: 12, Calls: 2}, thread.LowerBound,
		"outside the thread")
	model := th.Usage.Models[0].Model
	want := []thread.ModelUsage{
		{Model: model, Tokens: thread.Tokens{Input: 3, Output: 7, Calls: 1}},
		{Model: model + "-fast", Tokens: thread.Tokens{Input: 1, CacheRead: 4, Output: 5, Calls: 1}}}
	got := map[string]thread.Tokens{}
	for _, r := range th.Requests {
		sum := got[r.Model]
		sum.Add(r.Tokens)
		got[r.Model] = sum
	}
	for i, m := range th.Usage.Models {
		if m != want[i] || got[m.Model] != m.Tokens {
			t.Errorf("got %+v, requests %+v, want %+v", m, got[m.Model], want[i])
		}
	}
}

// TestFastModeWithoutModel checks that a request of the fast mode whose model is missing is
// that of an unknown model.
func TestFastModeWithoutModel(t *testing.T) {
	fast := used(1, 0, 0, 0, 5)
	fast["speed"] = "fast"
	dir := t.TempDir()
	lines := start(mainID, "", "2.1.140", 0).user("go").say("m", "a", fast, "end_turn").String()
	put(t, dir, ".claude", project+mainID+".jsonl", regexp.MustCompile(`"model":"[^"]*",?`).ReplaceAllString(lines, ""))
	got := threadtest.Load(t, threadtest.Open(t, claude.Driver(), dir), mainID).Usage
	if len(got.Models) != 1 || got.Models[0].Model != "unknown" || got.Models[0].Output != 5 {
		t.Errorf("usage by model %+v, want an unknown one", got.Models)
	}
}
