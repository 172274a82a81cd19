package opencode_test

import (
	"path/filepath"
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
)

// TestUsage has a session for each rule of counting usage.
func TestUsage(t *testing.T) {
	small, large := counts([5]int64{1, 2, 3, 40, 50}), counts([5]int64{10, 20, 30, 400, 500})
	begin := func() *book { return session(parentID, "", 0).called(untitled).user("go") }
	finish := func(tokens obj) obj {
		return obj{"type": "step-finish", "reason": "stop", "tokens": tokens, "cost": 0.25}
	}
	for name, tt := range map[string]struct {
		book     *book
		want     thread.Tokens
		complete thread.Completeness
		reason   string
	}{
		"reasoning is not part of output": {
			begin().add(obj{"role": "assistant", "tokens": small, "cost": 0.5}),
			thread.Tokens{Input: 1, Output: 5, Reasoning: 3, CacheRead: 40, CacheWrite: 50, Calls: 1, Cost: 0.5}, thread.Exact,
			"",
		},
		"a message has the usage of its last request": {
			begin().add(obj{"role": "assistant", "tokens": small, "cost": 1}, obj{"type": "step-start"}, finish(large),
				obj{"type": "step-start"}, finish(small)),
			thread.Tokens{Input: 11, Output: 55, Reasoning: 33, CacheRead: 440, CacheWrite: 550, Calls: 2, Cost: 1},
			thread.Exact, "",
		},
		"a request that did not end is a gap": {
			begin().add(obj{"role": "assistant", "tokens": small}, obj{"type": "step-start"}),
			thread.Tokens{Input: 1, Output: 5, Reasoning: 3, CacheRead: 40, CacheWrite: 50, Calls: 1}, thread.LowerBound,
			"1 requests did not end",
		},
		"huge numbers are a gap": {
			begin().add(obj{"role": "assistant", "tokens": obj{"input": 1e300, "output": 1, "reasoning": 0,
				"cache": obj{"read": 0, "write": 0}}}),
			thread.Tokens{Input: 1 << 48, Output: 1, Calls: 1}, thread.LowerBound, "1 records of usage have negative",
		},
		"a title is a request that is in no file": {
			begin().called("A title").add(obj{"role": "assistant", "tokens": small}),
			thread.Tokens{Input: 1, Output: 5, Reasoning: 3, CacheRead: 40, CacheWrite: 50, Calls: 1}, thread.LowerBound,
			"1 request, for the title, is in no file",
		},
		"an answer that ended without usage is a gap": {
			begin().step("stop", one, said("one")).add(obj{"role": "assistant", "finish": "stop"}, said("two")),
			tokens(1, one), thread.LowerBound, "1 records of usage lack a member that this version needs (tokens)",
		},
		"a part that is not known is a gap if it has usage": {
			begin().step("stop", one, said("one"), obj{"type": "new", "tokens": small}), tokens(1, one), thread.LowerBound,
			"1 records of types that this version does not know (new)",
		},
		"usage of the user does not count": {begin().add(obj{"role": "user", "tokens": small}), thread.Tokens{},
			thread.NoUsage, "no usage is recorded"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "opencode.db"), false, tt.book)
			threadtest.CheckUsage(t, threadtest.Load(t, provider(t, dir), parentID), tt.want, tt.complete, tt.reason)
		})
	}
}
