package claude

import (
	"bytes"
	"cmp"
	"fmt"

	"github.com/agent-handoff/handoff/internal/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// synthetic is the model name in assistant records that the tool wrote itself.
const synthetic = "<synthetic>"

// A meter counts the usage of a thread.
//
// An answer has several records, one for each block or state of it, all with the
// usage of the complete request as known at that time. The one with the most
// output counts, the last of equal ones. Only assistant records count: progress
// records and results of calls repeat the usage of subagents.
type meter struct {
	thread.Meter
	answers map[uint64]*answer
	records map[uint64]bool // UUIDs of the records of answers
	message jsonl.Members   // of the record that is read
	raw     []byte          // the last usage, as JSON
	tokens  thread.Tokens   // in it
}

// An answer is what is known of the usage of one answer.
type answer struct {
	Tokens  thread.Tokens
	Model   string
	Visible int  // bytes of text and calls
	Open    bool // the reason of its end is missing
	Copied  bool
}

// usage reads the usage of an assistant record.
func (s *scanner) usage(r *record) {
	m := &s.meter.message
	m.Parse(r.message)
	usage, model := m.Get("usage"), m.Get("model").Text()
	if usage.Kind() != jsonl.Object {
		if model != "" && model != synthetic {
			s.meter.Add("", model, thread.Tokens{}, s.timeline.Inherited)
		}
		return
	}
	id, uuid := m.Get("id").Text(), r.uuid.Text()
	if id = cmp.Or(id, uuid); id == "" {
		id = fmt.Sprint("line ", s.n)
	}
	key := digest(id)
	a := s.meter.answers[key]
	if a != nil && a.Model != model && r.request.Kind() == jsonl.String {
		// Some gateways use one ID for several answers.
		key = digest(id + " " + r.request.Text())
		a = s.meter.answers[key]
	}
	s.meter.CheckCounts(usage)
	if !bytes.Equal(usage, s.meter.raw) { // the records of an answer often have the same
		s.meter.raw, s.meter.tokens = append(s.meter.raw[:0], usage...), parseUsage(usage)
	}
	now := s.meter.tokens
	if a == nil {
		a = &answer{Model: model, Copied: s.timeline.Inherited}
		s.meter.answers[key] = a
		if model != synthetic {
			now.Calls = 1
		}
	} else {
		now.Calls = a.Tokens.Calls
	}
	if h := digest(uuid); uuid == "" || !s.meter.records[h] {
		s.meter.records[h] = true
		a.Visible += visible(m.Get("content"))
	}
	if now.Output < a.Tokens.Output {
		return
	}
	added := difference(now, a.Tokens)
	a.Tokens, a.Open = now, m.Get("stop_reason").Kind() != jsonl.String
	if added == (thread.Tokens{}) {
		return
	}
	s.meter.N, s.meter.At = s.timeline.Messages, r.at.Time()
	s.meter.Add("", model, added, a.Copied)
	s.timeline.addUsage(key, added)
}

func parseUsage(v jsonl.Value) (t thread.Tokens) {
	parts := int64(0)
	for c := v.Members(); c.Next(); {
		v := c.Value()
		switch string(c.Name()) {
		case "input_tokens":
			t.Input = v.Count()
		case "cache_read_input_tokens":
			t.CacheRead = v.Count()
		case "cache_creation_input_tokens":
			t.CacheWrite = v.Count()
		case "cache_creation":
			t.CacheWrite1h = v.Get("ephemeral_1h_input_tokens").Count()
			parts = t.CacheWrite1h + v.Get("ephemeral_5m_input_tokens").Count()
		case "output_tokens":
			t.Output = v.Count()
		case "output_tokens_details":
			t.Reasoning = v.Get("thinking_tokens").Count()
		}
	}
	if t.CacheWrite == 0 {
		t.CacheWrite = parts
	}
	t.CacheWrite1h, t.Reasoning = min(t.CacheWrite1h, t.CacheWrite), min(t.Reasoning, t.Output)
	return t
}

func difference(a, b thread.Tokens) thread.Tokens {
	return thread.Tokens{
		Input: a.Input - b.Input, CacheRead: a.CacheRead - b.CacheRead, CacheWrite: a.CacheWrite - b.CacheWrite, CacheWrite1h: a.CacheWrite1h - b.CacheWrite1h,
		Output: a.Output - b.Output, Reasoning: a.Reasoning - b.Reasoning, Calls: a.Calls - b.Calls,
	}
}

// visible returns the number of bytes that the model must have written.
func visible(content jsonl.Value) (n int) {
	for c := content.Elements(); c.Next(); {
		n += len(c.Value().Get("text").Raw()) + len(c.Value().Get("input"))
	}
	return n
}

// truncated reports whether the output count is too low for the text. Some
// versions record the usage before the answer and do not update it. A token is two
// to four bytes of text.
func (a *answer) truncated() bool {
	const least, most = 400, 12
	return a.Open && !a.Copied && a.Visible > least && int64(a.Visible) > most*a.Tokens.Output
}

// finishUsage stores the usage in the facts. It is never exact.
func (s *scanner) finishUsage() {
	truncated := 0
	for _, a := range s.meter.answers {
		if a.truncated() {
			truncated++
		}
	}
	s.meter.Finish(&s.facts,
		thread.Gap{N: truncated, Reason: "at least %d answers record fewer output tokens than their text needs"},
		thread.Gap{N: s.facts.BadLines, Reason: "%d malformed lines were skipped"},
		thread.Gap{N: 1, Reason: "requests outside the conversation, for titles and searches, are not in the transcript"})
}
