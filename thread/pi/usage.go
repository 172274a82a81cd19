package pi

import (
	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// A meter counts the usage of a session on all its branches.
type meter struct {
	thread.Meter
	silent      int // answers without usage
	interrupted int // requests that were interrupted before their usage was known
}

// count counts the usage of an assistant message.
func (m *meter) count(message jsonl.Value, copied bool) {
	tokens, ok := usage(message)
	m.CheckCounts(message.Get("usage"))
	switch {
	case ok:
		m.Add(message.Get("provider").Text(), message.Get("model").Text(), tokens, copied)
	case copied:
	case message.Get("stopReason").Is("aborted"):
		m.interrupted++
	case !message.Get("stopReason").Is("error"):
		m.silent++
		m.Add(message.Get("provider").Text(), message.Get("model").Text(), thread.Tokens{}, false)
	}
}

// usage returns the usage of a message. ok is false if there is none. Reasoning is
// part of output or separate, depending on the version; the total shows which.
func usage(message jsonl.Value) (t thread.Tokens, ok bool) {
	v := message.Get("usage")
	var n [6]int64
	v.Counts([]string{"input", "cacheRead", "cacheWrite", "output", "reasoning", "totalTokens"}, n[:])
	t = thread.Tokens{
		Input: n[0], CacheRead: n[1], CacheWrite: n[2], Output: n[3], Reasoning: n[4],
		Calls: 1, Cost: v.Get("cost", "total").Amount(),
	}
	if t.Reasoning > 0 && n[5] == t.Total()+t.Reasoning || t.Reasoning > t.Output {
		t.Output += t.Reasoning
	}
	return t, t.Total() > 0
}

// finishUsage stores the usage in the facts.
func (s *scanner) finishUsage() {
	s.meter.Finish(&s.facts,
		thread.Gap{N: s.facts.BadLines, Reason: "%d malformed lines were skipped"},
		thread.Gap{N: s.meter.interrupted, Reason: "%d requests were interrupted before their usage was recorded"},
		thread.Gap{N: s.meter.silent, Reason: "%d answers have no recorded usage"})
	if u := &s.facts.Usage; s.leaf < len(s.entries)-1 && u.Calls > 0 {
		u.Completeness, u.Reason = thread.SessionTotal, "includes all branches of the session"
	} else if s.original != "" && u.Calls > 0 {
		u.Completeness = thread.SessionTotal
		u.Reason = "includes the earlier usage of thread " + s.original + ", from which it was forked and which can't be read"
	}
}
