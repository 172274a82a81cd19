package pi_test

import (
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
)

// TestUsage has a session for each rule of counting usage.
func TestUsage(t *testing.T) {
	const at = "2026-05-24T23:39:56Z"
	begin := func() *script { return begin(treeID, at, nil).user("go") }
	answer := func(s *script, stop string, usage obj) *script {
		return s.add("message",
			obj{"message": obj{"role": "assistant", "content": "x", "model": "m", "stopReason": stop, "usage": usage}})
	}
	for name, tt := range map[string]struct {
		script   *script
		want     thread.Tokens
		complete thread.Completeness
		reason   string
	}{
		"reasoning is part of output": {
			answer(begin(), "stop", obj{"input": 10, "output": 7, "reasoning": 3, "totalTokens": 17}),
			thread.Tokens{Input: 10, Output: 7, Reasoning: 3, Calls: 1}, thread.Exact, "",
		},
		"the total includes reasoning": {
			answer(begin(), "stop", obj{"input": 10, "output": 7, "reasoning": 3, "totalTokens": 20}),
			thread.Tokens{Input: 10, Output: 10, Reasoning: 3, Calls: 1}, thread.Exact, "",
		},
		"more reasoning than output": {
			answer(begin(), "stop", obj{"input": 10, "output": 2, "reasoning": 3}),
			thread.Tokens{Input: 10, Output: 5, Reasoning: 3, Calls: 1}, thread.Exact, "",
		},
		"buckets are disjoint": {
			answer(begin(), "stop", obj{"input": 1, "output": 2, "cacheRead": 30, "cacheWrite": 40, "totalTokens": 73,
				"cost": obj{"total": 0.5}}),
			thread.Tokens{Input: 1, Output: 2, CacheRead: 30, CacheWrite: 40, Calls: 1, Cost: 0.5}, thread.Exact, "",
		},
		"an interrupted request is a gap": {
			answer(begin().answer("stop", "one", 1), "aborted", nil), took(1, 1), thread.LowerBound,
			"1 requests were interrupted",
		},
		"a failed request is none": {answer(begin().answer("stop", "one", 1), "error", nil), took(1, 1), thread.Exact, ""},
		"an answer without usage is a gap": {
			answer(begin().answer("stop", "one", 1), "stop", nil), took(1, 1), thread.LowerBound,
			"1 answers have no recorded usage",
		},
		"huge numbers are a gap": {
			answer(begin(), "stop", obj{"input": 1 << 60, "output": 7}), thread.Tokens{Input: 1 << 48, Output: 7, Calls: 1},
			thread.LowerBound, "1 records of usage have negative",
		},
		"a compaction has its own usage": {
			begin().answer("stop", "one", 1).add("compaction", obj{"summary": "s", "usage": obj{"input": 7, "output": 3}}),
			thread.Tokens{Input: 8, Output: 5, CacheRead: 10, CacheWrite: 10, Calls: 2, Cost: 0.25}, thread.Exact, "",
		},
		"one without usage is a gap": {
			begin().answer("stop", "one", 1).add("compaction", obj{"summary": "s"}), took(1, 1), thread.LowerBound,
			"1 summaries of the history have no recorded usage",
		},
		"one of an extension is none": {
			begin().answer("stop", "one", 1).add("compaction", obj{"summary": "s", "fromHook": true}), took(1, 1),
			thread.Exact, "",
		},
		"an entry has usage": {
			begin().answer("stop", "one", 1).add("custom", obj{"usage": obj{"input": 2, "output": 1}}),
			thread.Tokens{Input: 3, Output: 3, CacheRead: 10, CacheWrite: 10, Calls: 2, Cost: 0.25}, thread.Exact, "",
		},
		"an unknown entry with usage is a gap": {
			begin().answer("stop", "one", 1).add("cache_warm", obj{"usage": obj{"totalTokens": 5}}), took(1, 1),
			thread.LowerBound, "1 records of types that this version does not know (cache_warm)",
		},
		"an unknown count is a gap": {
			answer(begin(), "stop", obj{"input": 1, "output": 2, "audio": 3}), thread.Tokens{Input: 1, Output: 2, Calls: 1},
			thread.LowerBound, "1 records of usage have numbers that this version does not know (audio)",
		},
		"no requests": {begin(), thread.Tokens{}, thread.NoUsage, "no usage is recorded"},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			put(t, home, project+named(at, treeID), tt.script.String())
			threadtest.CheckUsage(t, threadtest.Load(t, provider(t, home), treeID), tt.want, tt.complete, tt.reason)
		})
	}
}
