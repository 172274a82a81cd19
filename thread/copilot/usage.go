package copilot

import (
	"maps"
	"slices"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

// A usage counts the tokens of a session. Since version 1.0.102 there is a record of
// each request. Before, an answer has its output only, and the remaining counts are
// the totals of the process, by model, in the event of its end. They continue after a
// resume, but not always: if one of them falls, they started again.
type usage struct {
	records  int
	provider string        // of the last record
	pending  thread.Tokens // of requests whose answer follows
	answers  int           // without a record
	open     int           // answers since the last total
	output   int64
	total    map[string]thread.Tokens // of ended counts, by model
	last     map[string]thread.Tokens // totals of the last process
	others   bool                     // there are subagents, which the totals include
}

// counts are the members of a usage. Its input includes what was read from and written to the cache.
var counts = engine.Counts{Input: "inputTokens", CacheRead: "cacheReadTokens", CacheWrite: "cacheWriteTokens",
	Output: "outputTokens", Reasoning: "reasoningTokens", Optional: []string{"reasoningTokens"}, Loose: true,
	Other: []string{"interTokenLatencyMs", "toolTokenCount"}}

// tokens returns the tokens of a usage.
func tokens(s *engine.Scan, v jsonl.Value) thread.Tokens {
	t, ok := s.Tokens(v, &counts)
	if !ok {
		s.Missing("usage")
	}
	t.Input = max(0, t.Input-t.CacheRead-t.CacheWrite)
	return t
}

// record counts a request, whose answer follows.
func (u *usage) record(s *engine.Scan, v jsonl.Value) {
	t := tokens(s, v)
	u.records++
	u.provider = v.Get("modelProvider").Text()
	s.Use(engine.Use{Provider: u.provider, Model: v.Get("model").Text(), Tokens: t, Apart: true})
	u.pending.Add(t)
}

// compaction counts the requests of a compaction. The totals of earlier versions include them.
func (u *usage) compaction(s *engine.Scan, v jsonl.Value, success bool) {
	switch {
	case u.records == 0:
	case v.Kind() == jsonl.Object:
		t := tokens(s, v)
		t.Calls = max(1, int(v.Get("requestCount").Int()))
		s.Use(engine.Use{Provider: u.provider, Model: v.Get("model").Text(), Tokens: t, Apart: true})
	case success:
		s.Missing("compactionTokensUsed")
	}
}

// answer counts the output of an answer.
func (u *usage) answer(s *engine.Scan, model string, data jsonl.Value) {
	if u.records > 0 {
		s.Timeline.AddUsage(u.pending)
		u.pending = thread.Tokens{}
		return
	}
	u.answers++
	u.open++
	if data.Get("outputTokens").Kind() == jsonl.Absent {
		s.Missing("outputTokens")
	}
	t := thread.Tokens{Output: data.Get("outputTokens").Count(), Calls: 1}
	u.output += t.Output
	s.Meter.CheckCounts(data.Get("outputTokens"))
	s.Meter.Add("", model, t, false)
	s.Timeline.AddUsage(t)
}

// shutdown reads the totals of a process.
func (u *usage) shutdown(s *engine.Scan, data jsonl.Value) {
	now := map[string]thread.Tokens{}
	for c := data.Get("modelMetrics").Members(); c.Next(); {
		if now[c.Key()] = (thread.Tokens{}); u.records == 0 {
			now[c.Key()] = tokens(s, c.Value().Get("usage"))
		}
	}
	for model, before := range u.last {
		t, again := now[model]
		if !again || t.Input < before.Input || t.CacheRead < before.CacheRead || t.CacheWrite < before.CacheWrite ||
			t.Output < before.Output {
			u.close()
			break
		}
	}
	u.last, u.open = now, 0
}

// close adds the totals of the last process to those of the session.
func (u *usage) close() {
	if u.total == nil {
		u.total = map[string]thread.Tokens{}
	}
	for model, t := range u.last {
		sum := u.total[model]
		sum.Add(t)
		u.total[model] = sum
	}
	u.last = nil
}

func (u *usage) finish(s *engine.Scan, subagent bool) {
	if u.records > 0 {
		s.Gaps = []thread.Gap{{N: u.answers, Reason: "%d answers of an earlier version have only their output tokens"}}
		return
	}
	u.close()
	var output int64
	if !subagent {
		for _, model := range slices.Sorted(maps.Keys(u.total)) {
			t := u.total[model]
			output += t.Output
			s.Meter.Add("", model, thread.Tokens{Input: t.Input, CacheRead: t.CacheRead, CacheWrite: t.CacheWrite,
				Reasoning: t.Reasoning}, false)
		}
	}
	s.Gaps = []thread.Gap{
		{N: u.open, Reason: "%d answers have only their output tokens: the tool records the others when it is closed"},
	}
	switch {
	case subagent:
		s.Gaps = []thread.Gap{{N: u.answers, Reason: "%d answers of a subagent have only their output tokens"}}
	case u.others && u.answers > 0:
		s.Gaps = append(s.Gaps, thread.Gap{N: 1,
			Reason: "input and cached tokens include those of its subagents, output does not"})
	case output < u.output && u.answers > 0:
		s.Gaps = append(s.Gaps, thread.Gap{N: 1, Reason: "the totals of the tool are less than the sum of its answers"})
	}
}
