package opencode

import (
	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// tokens returns the usage in a message or a step-finish. In the file, output does
// not include reasoning.
func tokens(v jsonl.Value) thread.Tokens {
	n := func(path ...string) int64 { return v.Get("tokens").Get(path...).Count() }
	return thread.Tokens{
		Input: n("input"), CacheRead: n("cache", "read"), CacheWrite: n("cache", "write"),
		Output: n("output") + n("reasoning"), Reasoning: n("reasoning"), Cost: v.Get("cost").Amount(), Calls: 1,
	}
}

// tokens returns the usage of a message. The message itself has only the usage of
// its last request, or 0 if it did not end, so the sum of its requests is used if it
// is larger.
func (c content) tokens(v jsonl.Value, role thread.Role) (thread.Tokens, bool) {
	if role != thread.Assistant {
		return thread.Tokens{}, false
	}
	t := tokens(v)
	var steps thread.Tokens
	for _, s := range c.steps {
		steps.Add(s)
	}
	if steps.Total() > t.Total() {
		steps.Cost = max(steps.Cost, t.Cost)
		t = steps
	}
	t.Calls = max(1, len(c.steps))
	return t, t.Total() > 0 || len(c.steps) > 0
}

// finishUsage stores the usage in the facts.
func (s *scanner) finishUsage() {
	s.meter.Finish(&s.facts, thread.Gap{N: s.turn.uncounted,
		Reason: "%d requests did not end or were interrupted before their usage was recorded"})
	if s.broken || s.facts.BadLines > 0 || s.omitted > 0 {
		s.facts.Usage.Completeness, s.facts.Usage.Reason = thread.LowerBound, "part of the thread can't be read"
	}
}
