package opencode

import (
	"cmp"

	"github.com/agent-handoff/handoff/internal/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// vector reads what a message, or a step-finish, says was spent. The tool keeps
// reasoning beside output.
func vector(v jsonl.Value) thread.Tokens {
	t := v.Get("tokens")
	n := func(path ...string) int64 { return min(max(0, t.Get(path...).Int()), 1<<50) }
	reasoning := n("reasoning")
	return thread.Tokens{
		Input: n("input"), CacheRead: n("cache", "read"), CacheWrite: n("cache", "write"),
		Output: n("output") + reasoning, Reasoning: reasoning, Cost: max(0, v.Get("cost").Float()), Calls: 1,
	}
}

// tokens returns what a message took. The tool writes its last request over the
// one before, so that of several the sum is right; a message that never got
// that far says 0.
func (c content) tokens(v jsonl.Value, role thread.Role) (thread.Tokens, bool) {
	if role != thread.Assistant {
		return thread.Tokens{}, false
	}
	t := vector(v)
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

// A spend adds up what a thread spent.
type spend struct {
	usage  thread.Usage
	copies thread.Tokens
}

func (s *spend) add(v jsonl.Value, t thread.Tokens, inherited bool) {
	if inherited {
		s.copies.Add(t)
		return
	}
	s.usage.Add(cmp.Or(v.Get("providerID").Text(), v.Get("model", "providerID").Text()), model(v), t)
}

// finish writes the usage into the facts and says how complete it is.
func (s *spend) finish(sc *scanner) {
	s.usage.Judge(thread.Gap{N: sc.turn.uncounted, Why: "%d requests did not end, or were cut off, before their usage was written"})
	if sc.broken || sc.facts.BadLines > 0 || sc.omitted > 0 {
		s.usage.Completeness, s.usage.Reason = thread.LowerBound, "not all of the thread could be read"
	}
	sc.facts.Usage, sc.facts.Inherited = s.usage, s.copies
}
