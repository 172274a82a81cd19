package pi

import (
	"github.com/agent-handoff/handoff/internal/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// A spend adds up what a session spent, on all its branches: what was left was
// paid for too.
type spend struct {
	usage  thread.Usage
	copies thread.Tokens
	silent int // answers without usage
	cut    int // requests that were cut off before it was known
}

// count adds what an assistant's message took.
func (s *spend) count(message jsonl.Value, copied bool) {
	tokens, ok := took(message)
	switch {
	case ok && copied:
		s.copies.Add(tokens)
	case ok:
		s.usage.Add(message.Get("provider").Text(), message.Get("model").Text(), tokens)
	case copied:
	case message.Get("stopReason").Is("aborted"):
		s.cut++
	case !message.Get("stopReason").Is("error"):
		s.silent++
	}
}

// took reads the usage of a message; ok is false where nothing was counted.
// Reasoning is part of output or stands beside it: the total tells.
func took(message jsonl.Value) (t thread.Tokens, ok bool) {
	var total int64
	for c := message.Get("usage").Members(); c.Next(); {
		n := max(0, c.Value().Int())
		switch string(c.Name()) {
		case "input":
			t.Input = n
		case "output":
			t.Output = n
		case "cacheRead":
			t.CacheRead = n
		case "cacheWrite":
			t.CacheWrite = n
		case "reasoning":
			t.Reasoning = n
		case "totalTokens":
			total = n
		case "cost":
			t.Cost = max(0, c.Value().Get("total").Float())
		}
	}
	if t.Reasoning > 0 && total == t.Total()+t.Reasoning || t.Reasoning > t.Output {
		t.Output += t.Reasoning
	}
	t.Calls = 1
	return t, t.Total() > 0
}

func (s *spend) finish(facts *thread.Facts) {
	s.usage.Judge(
		thread.Gap{N: facts.BadLines, Why: "%d lines could not be read"},
		thread.Gap{N: s.cut, Why: "%d requests were cut off before what they took was written"},
		thread.Gap{N: s.silent, Why: "%d answers are recorded without what they took"},
	)
	facts.Usage, facts.Inherited = s.usage, s.copies
}
