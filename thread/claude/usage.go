package claude

import (
	"bytes"
	"fmt"
	"slices"

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
	content jsonl.Members   // of a part of it
	raw     []byte          // the last usage, as JSON
	tokens  thread.Tokens   // in it
	valid   bool            // its numbers are possible
	rawName []byte          // the last model, as JSON
	name    string          // its name
}

// An answer is what is known of the usage of one answer.
type answer struct {
	Tokens  thread.Tokens
	Model   string
	Visible int  // bytes of text and calls
	Open    bool // the reason of its end is missing
	Copied  bool
}

// usage reads the usage of an assistant record, whose message is in s.meter.message.
func (s *scanner) usage(r *record) {
	m := &s.meter.message
	usage, model := m.Get("usage"), s.meter.modelOf(m.Get("model"))
	if usage.Kind() != jsonl.Object {
		if model != "" && model != synthetic {
			s.meter.Add("", model, thread.Tokens{}, s.timeline.Inherited)
		}
		return
	}
	id, uuid := m.Get("id").Raw(), r.uuid.Raw()
	if len(id) == 0 {
		id = uuid
	}
	if len(id) == 0 {
		id = fmt.Append(nil, "line ", s.n)
	}
	key := digest(id)
	a := s.meter.answers[key]
	if a != nil && a.Model != model && r.request.Kind() == jsonl.String {
		// Some gateways use one ID for several answers.
		key = digest(slices.Concat(id, []byte(" "), r.request.Raw()))
		a = s.meter.answers[key]
	}
	now := s.meter.parse(usage)
	if a == nil {
		a = &answer{Model: model, Copied: s.timeline.Inherited}
		s.meter.answers[key] = a
		if model != synthetic {
			now.Calls = 1
		}
	} else {
		now.Calls = a.Tokens.Calls
	}
	if h := digest(uuid); len(uuid) == 0 || !s.meter.records[h] {
		s.meter.records[h] = true
		a.Visible += s.meter.visible()
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
	s.meter.Add("", a.Model, added, a.Copied) // also if its other records name another model
	s.timeline.addUsage(key, added)
}

// parseAnswer is parseRecord for usage, with the message in m.message. other reports
// that it stopped because the line has one record, which is not an answer. The rest of
// the line may be malformed.
func (m *meter) parseAnswer(line jsonl.Value) (r record, c jsonl.Cursor, other bool) {
	m.message.Parse(nil)
	for c = line.Members(); c.Next(); {
		name := string(c.Name())
		if name == "message" {
			m.message.Fill(&c)
		}
		r.set(&c)
		if name == "type" && r.kind != nil && string(r.kind) != "assistant" && line[len(line)-1] == '}' && !bytes.Contains(line, severalRecords) {
			return r, c, true
		}
	}
	return r, c, false
}

// severalRecords is in a line with several records.
var severalRecords = []byte("}{")

// modelOf returns the name of a model, which is often that of the record before.
func (m *meter) modelOf(v jsonl.Value) string {
	if !bytes.Equal(v, m.rawName) {
		m.rawName, m.name = append(m.rawName[:0], v...), v.Text()
	}
	return m.name
}

// parse parses a usage, which is often that of the record before.
func (m *meter) parse(usage jsonl.Value) thread.Tokens {
	if !bytes.Equal(usage, m.raw) {
		m.raw, m.tokens, m.valid = append(m.raw[:0], usage...), parseUsage(usage), usage.ValidCounts()
	}
	if !m.valid {
		m.CheckCounts(usage)
	}
	return m.tokens
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

// visible returns the number of bytes of the message that the model must have written.
func (m *meter) visible() (n int) {
	for c := m.message.Get("content").Elements(); c.Next(); {
		m.content.Fill(&c)
		if text := m.content.Get("text"); text.Kind() == jsonl.String {
			n += len(text) - len(`""`)
		}
		n += len(m.content.Get("input"))
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
		thread.Gap{N: s.facts.BadLines - s.others, Reason: "%d malformed lines were skipped"},
		thread.Gap{N: 1, Reason: "requests outside the conversation, for titles and searches, are not in the transcript"})
}
