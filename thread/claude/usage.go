package claude

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
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
	spare   []answer        // memory of the next ones
	records map[uint64]bool // UUIDs of the records of answers
	message message         // of the record that is read
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
	Priced  string // Model, with "-fast" if it was made in the fast mode, which has its own price
	Visible int    // bytes of text and calls
	Open    bool   // the reason of its end is missing
	Copied  bool
}

// usage reads the usage of an assistant record, whose message is in s.meter.message.
func (s *scanner) usage(r *record) {
	m := &s.meter.message
	usage, model := m.usage, s.meter.modelOf(m.model)
	if usage.Kind() != jsonl.Object {
		if model != "" && model != synthetic {
			s.meter.Add("", model, thread.Tokens{}, s.timeline.Inherited)
		}
		return
	}
	id, uuid := m.id.Raw(), r.uuid.Raw()
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
		a = s.meter.newAnswer()
		a.Model, a.Priced, a.Copied = model, model, s.timeline.Inherited
		s.meter.answers[key] = a
		if model != synthetic {
			now.Calls = 1
		}
	} else {
		now.Calls = a.Tokens.Calls
	}
	if h := digest(uuid); len(uuid) == 0 || !s.meter.records[h] {
		s.meter.records[h] = true
		a.Visible += visible(m.content)
	}
	if now.Output < a.Tokens.Output {
		return
	}
	if speed := usage.Get("speed"); a.Model != "" && speed.Kind() == jsonl.String {
		s.meter.setFast(a, speed.Is("fast"))
	}
	added := difference(now, a.Tokens)
	a.Tokens, a.Open = now, m.stop.Kind() != jsonl.String
	if added == (thread.Tokens{}) {
		return
	}
	s.meter.N, s.meter.At = s.timeline.Messages, r.at.Time()
	s.meter.Add("", a.Priced, added, a.Copied) // also if its other records name another model
	s.timeline.addUsage(key, added)
}

// setFast sets whether an answer was made in the fast mode, as its newest usage shows.
func (m *meter) setFast(a *answer, fast bool) {
	priced := a.Model
	if fast {
		priced += "-fast"
	}
	if priced != a.Priced && !a.Copied {
		m.Move(a.Priced, priced, a.Tokens)
	}
	a.Priced = priced
}

// newAnswer returns an answer. There are many, so that several are allocated at once.
func (m *meter) newAnswer() *answer {
	if len(m.spare) == 0 {
		m.spare = make([]answer, min(64, 4+len(m.answers)))
	}
	a := &m.spare[0]
	m.spare = m.spare[1:]
	return a
}

// A message is what usage needs of the message of a record. Of several members with
// the same name the first counts.
type message struct{ id, model, content, stop, usage jsonl.Value }

// parse sets m to a message.
func (m *message) parse(v jsonl.Value) {
	c := v.Members()
	m.read(&c)
}

// fill sets m to the message at c and moves c past it.
func (m *message) fill(c *jsonl.Cursor) {
	in := c.Inside().Members()
	m.read(&in)
	c.Past(in)
}

func (m *message) read(c *jsonl.Cursor) {
	*m = message{}
	set := func(v *jsonl.Value) {
		if *v == nil {
			*v = c.Value()
		}
	}
	for c.Next() {
		switch string(c.Name()) {
		case "id":
			set(&m.id)
		case "model":
			set(&m.model)
		case "content":
			set(&m.content)
		case "stop_reason":
			set(&m.stop)
		case "usage":
			set(&m.usage)
		}
	}
}

// parseAnswer is parseRecord for usage, with the message in m.message. other reports
// that it stopped because the line has one record, which is not an answer. The rest of
// the line may be malformed.
func (m *meter) parseAnswer(line jsonl.Value, r *record) (c jsonl.Cursor, other bool) {
	m.message = message{}
	for c = line.Members(); c.Next(); {
		name := string(c.Name())
		if name == "message" {
			m.message.fill(&c)
		}
		r.set(&c)
		if name == "type" && r.kind != nil && isOther(line, r.kind) {
			return c, true
		}
	}
	return c, false
}

// isOther reports whether a line has one record, whose type is kind, and which is not
// an answer.
func isOther(line jsonl.Value, kind []byte) bool {
	return string(kind) != "assistant" && line[len(line)-1] == '}' && !bytes.Contains(line, severalRecords)
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
		m.raw = append(m.raw[:0], usage...)
		m.tokens, m.valid = parseUsage(usage)
	}
	if !m.valid {
		m.CheckCounts(usage)
	}
	return m.tokens
}

// parseUsage returns the tokens in a usage, and whether its numbers are possible.
func parseUsage(v jsonl.Value) (t thread.Tokens, valid bool) {
	valid = true
	parts := int64(0)
	for c := v.Members(); c.Next(); {
		v := c.Value()
		valid = valid && v.ValidMember()
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
	return t, valid
}

func difference(a, b thread.Tokens) thread.Tokens {
	return thread.Tokens{
		Input: a.Input - b.Input, CacheRead: a.CacheRead - b.CacheRead, CacheWrite: a.CacheWrite - b.CacheWrite,
		CacheWrite1h: a.CacheWrite1h - b.CacheWrite1h,
		Output:       a.Output - b.Output, Reasoning: a.Reasoning - b.Reasoning, Calls: a.Calls - b.Calls,
	}
}

// visible returns the number of bytes of a content that the model must have written.
func visible(content jsonl.Value) (n int) {
	for c := content.Elements(); c.Next(); {
		var text, input jsonl.Value
		in := c.Inside().Members()
		for in.Next() {
			switch string(in.Name()) {
			case "text":
				if text == nil {
					text = in.Value()
				}
			case "input":
				if input == nil {
					input = in.Value()
				}
			}
		}
		c.Past(in)
		if text.Kind() == jsonl.String {
			n += len(text) - len(`""`)
		}
		n += len(input)
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
		thread.Gap{N: 1, Reason: "requests outside the thread, for titles and searches, are not in the transcript"})
}
