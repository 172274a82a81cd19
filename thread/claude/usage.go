package claude

import (
	"cmp"
	"fmt"

	"github.com/agent-handoff/handoff/internal/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// synthetic is the model of what the tool wrote in a model's name.
const synthetic = "<synthetic>"

// A spend adds up what a thread spent.
//
// A message has several records, one for each block or state of it, all with
// the usage of the whole request as far as it was known. The one with the most
// output counts, the last of equals. Only records of the model's own answers
// count: progress and tool results repeat what subagents spent.
type spend struct {
	usage   thread.Usage
	copies  thread.Tokens
	entries map[uint64]*entry // by message
}

// An entry is what is known of one message.
type entry struct {
	tokens  thread.Tokens
	model   string
	visible int  // bytes of text and calls
	open    bool // it does not say why it ended
	copied  bool
}

// spent reads the usage of an assistant's record.
func (s *scanner) spent(r *record) {
	usage := r.message.Get("usage")
	if usage.Kind() != jsonl.Object {
		return
	}
	id := cmp.Or(r.message.Get("id").Text(), r.uuid.Text())
	if id == "" {
		id = fmt.Sprint("line ", s.n)
	}
	model := r.message.Get("model").Text()
	key := digest(id)
	e := s.spend.entries[key]
	if e != nil && e.model != model && r.request.Kind() == jsonl.String {
		// Gateways give one id to several messages.
		key = digest(id + " " + r.request.Text())
		e = s.spend.entries[key]
	}
	now := parseUsage(usage)
	if e == nil {
		e = &entry{model: model, copied: s.timeline.Inherited}
		s.spend.entries[key] = e
		if model != synthetic {
			now.Calls = 1
		}
	} else {
		now.Calls = e.tokens.Calls
	}
	if !s.records[digest(r.uuid.Text())] {
		e.visible += visible(r.message.Get("content"))
	}
	if now.Output < e.tokens.Output {
		return
	}
	added := less(now, e.tokens)
	e.tokens, e.open = now, r.message.Get("stop_reason").Kind() != jsonl.String
	if added == (thread.Tokens{}) {
		return
	}
	if e.copied {
		s.spend.copies.Add(added)
	} else {
		s.spend.usage.Add("", model, added)
	}
	s.timeline.spent(key, added)
}

func parseUsage(v jsonl.Value) (t thread.Tokens) {
	count := func(v jsonl.Value) int64 { return min(max(0, v.Int()), 1<<48) }
	parts := int64(0)
	for c := v.Members(); c.Next(); {
		v := c.Value()
		switch string(c.Name()) {
		case "input_tokens":
			t.Input = count(v)
		case "cache_read_input_tokens":
			t.CacheRead = count(v)
		case "cache_creation_input_tokens":
			t.CacheWrite = count(v)
		case "cache_creation":
			t.CacheWrite1h = count(v.Get("ephemeral_1h_input_tokens"))
			parts = t.CacheWrite1h + count(v.Get("ephemeral_5m_input_tokens"))
		case "output_tokens":
			t.Output = count(v)
		case "output_tokens_details":
			t.Reasoning = count(v.Get("thinking_tokens"))
		}
	}
	if t.CacheWrite == 0 {
		t.CacheWrite = parts
	}
	t.CacheWrite1h, t.Reasoning = min(t.CacheWrite1h, t.CacheWrite), min(t.Reasoning, t.Output)
	return t
}

func less(a, b thread.Tokens) thread.Tokens {
	return thread.Tokens{
		Input: a.Input - b.Input, CacheRead: a.CacheRead - b.CacheRead, CacheWrite: a.CacheWrite - b.CacheWrite, CacheWrite1h: a.CacheWrite1h - b.CacheWrite1h,
		Output: a.Output - b.Output, Reasoning: a.Reasoning - b.Reasoning, Calls: a.Calls - b.Calls,
	}
}

// visible counts what a model must have spent output tokens on.
func visible(content jsonl.Value) (n int) {
	for c := content.Elements(); c.Next(); {
		n += len(c.Value().Get("text").Raw()) + len(c.Value().Get("input"))
	}
	return n
}

// cut reports whether only the start of an output was counted: versions 2.1.9
// to 2.1.42 write the usage before the answer and never after. A token is two to
// four bytes of text.
func (e *entry) cut() bool {
	const least, most = 400, 12
	return e.open && !e.copied && e.visible > least && int64(e.visible) > most*e.tokens.Output
}

// finish writes the usage into the facts and says how complete it is.
func (s *spend) finish(f *thread.Facts) {
	u := s.usage
	cut := 0
	for _, e := range s.entries {
		if e.cut() {
			cut++
		}
	}
	u.Completeness = thread.LowerBound
	switch {
	case u.Calls == 0:
		u.Completeness, u.Reason = thread.NoUsage, "no usage is recorded"
	case cut > 0:
		u.Reason = fmt.Sprintf("of %d answers of %d only the first output tokens were counted, as versions 2.1.9 to 2.1.42 do", cut, u.Calls)
	case f.BadLines > 0:
		u.Reason = fmt.Sprintf("%d lines could not be read", f.BadLines)
	default:
		u.Reason = "requests beside the conversation, for titles and searches, are not in the transcript"
	}
	f.Usage, f.Inherited = u, s.copies
}
