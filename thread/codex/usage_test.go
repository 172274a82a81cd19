package codex_test

import (
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/codex"
)

// TestUsage has a rollout for each rule of counting usage.
func TestUsage(t *testing.T) {
	begin := func() *script { return start("2026-02-22T20:48:50Z").meta(parentID, nil).begin("t1").user("go") }
	info := func(total int64, last obj) obj {
		return obj{"info": obj{"last_token_usage": last,
			"total_token_usage": obj{"input_tokens": total - 1, "output_tokens": 1}}}
	}
	both := func(total, last [2]int64) obj {
		return obj{"info": obj{
			"total_token_usage": obj{"input_tokens": total[0], "output_tokens": total[1]}, "last_token_usage": obj{
				"input_tokens": last[0], "output_tokens": last[1]},
		}}
	}
	same := func(usage obj) obj { return obj{"info": obj{"last_token_usage": usage, "total_token_usage": usage}} }
	one := func(input int64) obj { return obj{"input_tokens": input, "output_tokens": 1} }
	for name, tt := range map[string]struct {
		script   *script
		want     thread.Tokens
		complete thread.Completeness
		reason   string
	}{
		"a repeated total is not a request": {
			begin().event("token_count", info(11, one(10))).event("token_count", info(11, one(10))).event("token_count",
				obj{"info": nil}).end("t1", "done"),
			thread.Tokens{Input: 10, Output: 1, Calls: 1}, thread.Exact, "",
		},
		"a total that restarts is a request": {
			begin().event("token_count", info(31, one(30))).event("token_count", info(21, one(20))).end("t1", "done"),
			thread.Tokens{Input: 50, Output: 2, Calls: 2}, thread.Exact, "",
		},
		"a total that rises by more than the request includes another one": {
			begin().event("token_count", both([2]int64{100, 10}, [2]int64{100, 10})).event("turn_aborted",
				obj{"reason": "interrupted"}).
				begin("t2").event("token_count", both([2]int64{400, 40}, [2]int64{100, 10})).end("t2", "done"),
			thread.Tokens{Input: 400, Output: 40, Calls: 3}, thread.Exact, "",
		},
		"a first total that is more than the request includes another one": {
			begin().event("token_count", both([2]int64{300, 10}, [2]int64{100, 10})).end("t1", "done"),
			thread.Tokens{Input: 300, Output: 10, Calls: 2}, thread.Exact, "",
		},
		"a total that restarts above the last one is one request": {
			begin().event("token_count", both([2]int64{100, 10}, [2]int64{100, 10})).event("token_count",
				both([2]int64{400, 40}, [2]int64{400, 40})).end("t1", "done"),
			thread.Tokens{Input: 500, Output: 50, Calls: 2}, thread.Exact, "",
		},
		"records of two requests, then their counts": {
			begin().record("a", 100, 0, 10).record("b", 200, 0, 20).
				event("token_count", both([2]int64{100, 10}, [2]int64{100, 10})).
				event("token_count", both([2]int64{300, 30}, [2]int64{200, 20})).
				event("token_count", both([2]int64{300, 30}, [2]int64{200, 20})).end("t1", "done"),
			thread.Tokens{Input: 300, Output: 30, Calls: 2}, thread.Exact, "",
		},
		"counts of two requests, then their records": {
			begin().event("token_count", both([2]int64{100, 10}, [2]int64{100, 10})).
				event("token_count", both([2]int64{300, 30}, [2]int64{200, 20})).
				record("a", 100, 0, 10).record("b", 200, 0, 20).end("t1", "done"),
			thread.Tokens{Input: 300, Output: 30, Calls: 2}, thread.Exact, "",
		},
		"a total that is less than the usages is a gap": {
			begin().event("token_count", both([2]int64{500, 50}, [2]int64{500, 50})).
				event("token_count", both([2]int64{300, 30}, [2]int64{100, 10})).end("t1", "done"),
			thread.Tokens{Input: 600, Output: 60, Calls: 2}, thread.LowerBound,
			"the total of the thread rose by less than the usage of 1 requests",
		},
		"a total of which one counter rises by less is a gap": {
			begin().event("token_count", both([2]int64{100, 10}, [2]int64{100, 10})).
				event("token_count", both([2]int64{400, 35}, [2]int64{50, 30})).end("t1", "done"),
			thread.Tokens{Input: 150, Output: 40, Calls: 2}, thread.LowerBound,
			"the total of the thread rose by less than the usage of 1 requests",
		},
		"a count that is not a number is a gap": {
			begin().event("token_count", same(obj{"input_tokens": 10, "cached_input_tokens": "7", "output_tokens": 1})).
				end("t1", "done"),
			thread.Tokens{Input: 10, Output: 1, Calls: 1}, thread.LowerBound,
			"2 records of usage lack a member that this version needs (cached_input_tokens)",
		},
		"a compaction after an answer that only an event has": {
			begin().event("agent_message", obj{"message": "a"}).event("token_count", info(11, one(10))).
				add("compacted", obj{"message": ""}).end("t1", "done"),
			thread.Tokens{Input: 10, Output: 1, Calls: 1}, thread.LowerBound, "the requests of 1 compactions are not recorded",
		},
		"a compaction after an interrupted request": {
			begin().agent("a").event("token_count", info(11, one(10))).
				event("token_count", both([2]int64{20, 2}, [2]int64{10, 1})).user("stop").
				add("compacted", obj{"message": ""}).end("t1", "done"),
			thread.Tokens{Input: 20, Output: 2, Calls: 2}, thread.LowerBound, "the requests of 1 compactions are not recorded",
		},
		"usage in records that are not read": {
			begin().event("token_count", info(11, one(10))).add("world_state", obj{"usage": one(10)}).
				event("item_completed", obj{"item": obj{"type": "Extension", "usage": one(10)}}).
				event("guardian_assessment", obj{"token_usage": one(10)}).
				add("compacted", obj{"message": "short", "usage": one(10)}).end("t1", "done"),
			thread.Tokens{Input: 10, Output: 1, Calls: 1}, thread.LowerBound, "4 records have usage that this version does " +
				"not read (compacted, guardian_assessment, item Extension, world_state)",
		},
		"an answer without usage is a gap": {
			begin().event("token_count", info(11, one(10))).end("t1", "done").begin("t2").agent("done").end("t2", "done"),
			thread.Tokens{Input: 10, Output: 1, Calls: 1}, thread.LowerBound, "1 turns with an answer have no new usage",
		},
		"cached and written tokens are part of input, reasoning of output": {
			begin().event("token_count", same(obj{"input_tokens": 100, "cached_input_tokens": 60,
				"cache_write_input_tokens": 30, "output_tokens": 9, "reasoning_output_tokens": 4})).end("t1", "done"),
			thread.Tokens{Input: 10, CacheRead: 60, CacheWrite: 30, Output: 9, Reasoning: 4, Calls: 1}, thread.Exact, "",
		},
		"more cached than input": {
			begin().event("token_count", same(obj{"input_tokens": 10, "cached_input_tokens": 60, "output_tokens": 0})).
				end("t1", "done"),
			thread.Tokens{CacheRead: 60, Calls: 1}, thread.Exact, "",
		},
		"negative and huge counts are limited": {
			begin().event("token_count", info(1, obj{"input_tokens": -5, "output_tokens": 9e300})).end("t1", "done"),
			thread.Tokens{Output: 1 << 48, Calls: 1}, thread.LowerBound,
			"1 records of usage have negative or impossibly large numbers",
		},
		"an interrupted turn without usage is a gap": {
			begin().event("token_count", info(11, one(10))).end("t1", "done").begin("t2").event("turn_aborted",
				obj{"reason": "interrupted"}),
			thread.Tokens{Input: 10, Output: 1, Calls: 1}, thread.LowerBound, "1 turns were interrupted",
		},
		"an interrupted turn with usage is none": {
			begin().event("token_count", info(11, one(10))).event("turn_aborted", obj{"reason": "interrupted"}),
			thread.Tokens{Input: 10, Output: 1, Calls: 1}, thread.Exact, "",
		},
		"a turn that starts before the last one ended is a gap": {
			begin().begin("t2").event("token_count", info(11, one(10))).end("t2", "done"),
			thread.Tokens{Input: 10, Output: 1, Calls: 1}, thread.LowerBound, "1 turns were interrupted",
		},
		"a malformed line is a gap": {
			begin().event("token_count", info(11, one(10))).raw([]int{1}).end("t1", "done"),
			thread.Tokens{Input: 10, Output: 1, Calls: 1}, thread.LowerBound, "1 malformed lines",
		},
		"no requests": {begin().end("t1", "done"), thread.Tokens{}, thread.NoUsage, "no usage is recorded"},
		"the original of a fork is missing": {
			start("2026-02-22T20:48:50Z").meta(parentID, obj{"forked_from_id": forkID}).begin("t1").event("token_count",
				info(11, one(10))).end("t1", "done"),
			thread.Tokens{Input: 10, Output: 1, Calls: 1}, thread.SessionTotal, forkID,
		},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			put(t, home, "sessions/2026/02/22/rollout-2026-02-22T20-48-50-"+parentID+".jsonl", tt.script.String())
			threadtest.CheckUsage(t, threadtest.Load(t, threadtest.Open(t, codex.Driver(), home), parentID), tt.want,
				tt.complete, tt.reason)
		})
	}
}

// TestForkWithoutTurns has a fork whose copies only the totals of its requests identify.
func TestForkWithoutTurns(t *testing.T) {
	home := t.TempDir()
	origin := start("2026-02-22T20:48:50Z").meta(parentID, nil).user("go").agent("a").record("r1", 100, 0, 10)
	fork := start("2026-02-22T20:48:50Z").meta(forkID, obj{"forked_from_id": parentID})
	fork.lines, fork.total = append(fork.lines, origin.lines[1:]...), origin.total
	fork.user("on").agent("b").record("r2", 50, 0, 5)
	put(t, home, rolloutFile, origin.String())
	put(t, home, "sessions/2026/02/22/rollout-2026-02-22T20-48-50-"+forkID+".jsonl", fork.String())
	p := threadtest.Open(t, codex.Driver(), home)
	th := threadtest.Load(t, p, forkID)
	threadtest.CheckUsage(t, th, thread.Tokens{Input: 50, Output: 5, Calls: 1}, thread.Exact, "")
	if want := (thread.Tokens{Input: 100, Output: 10, Calls: 1}); th.Inherited != want {
		t.Errorf("got inherited %+v, want %+v", th.Inherited, want)
	}
}
