package thread

import "strings"

// A Timeline is what a Reader fills: it numbers messages and hands them out,
// each once it is known which calls followed it and what they returned.
type Timeline struct {
	Detail    Detail
	Emit      func(Message) error
	Inherited bool // what is added now was copied from another thread
	Messages  int  // that were added
	ToolCalls int  // of the thread's own

	pending  []Message
	open     map[string]bool // calls without an output
	thoughts []string        // of the answer that is awaited
	err      error
}

// Unsaid is the text of a compaction that has no summary.
const Unsaid = "Context was compacted."

// Err returns the error of Emit, after which nothing more is handed out.
func (t *Timeline) Err() error { return t.err }

// Add adds a message. One without a text is none.
func (t *Timeline) Add(m Message) {
	if t.Detail == Summary || m.Text == "" {
		return
	}
	t.flush(false)
	t.Messages++
	m.N, m.Inherited = t.Messages, t.Inherited
	if m.Role == Assistant {
		m.Thinking, t.thoughts = strings.Join(t.thoughts, "\n\n"), nil
	}
	t.pending = append(t.pending, m)
}

// Newest returns the message that was added last, nil where it was handed out.
func (t *Timeline) Newest() *Message {
	if k := len(t.pending) - 1; k >= 0 && t.pending[k].N > 0 {
		return &t.pending[k]
	}
	return nil
}

// last is the message to which what comes now belongs.
func (t *Timeline) last() *Message {
	if len(t.pending) == 0 {
		t.pending = append(t.pending, Message{Role: Assistant, Inherited: t.Inherited})
	}
	return &t.pending[len(t.pending)-1]
}

// Think adds what a model thought before it answered. It belongs to the answer
// or, where calls follow, to what comes before them.
func (t *Timeline) Think(text string) {
	if text = strings.TrimSpace(text); t.Detail == Tools && text != "" {
		t.thoughts = append(t.thoughts, text)
	}
}

func (t *Timeline) thought() {
	if t.thoughts == nil {
		return
	}
	m := t.last()
	if m.Thinking != "" {
		m.Thinking += "\n\n"
	}
	m.Thinking += strings.Join(t.thoughts, "\n\n")
	t.thoughts = nil
}

// maxCalls is how many calls are kept with one message: there may be more than
// fit into memory.
const maxCalls = 64

// Call adds a call to the newest message. Where that has very many, the rest is
// handed out behind it, as messages without a number.
func (t *Timeline) Call(c Call) {
	if !t.Inherited {
		t.ToolCalls++
	}
	if t.Detail < Tools {
		return
	}
	t.thought()
	m := t.last()
	if len(m.Tools) == maxCalls {
		t.flush(false)
		t.pending = append(t.pending, Message{Role: Assistant, Inherited: t.Inherited})
		m = t.last()
	}
	m.Tools = append(m.Tools, c)
	if c.Pending && c.ID != "" {
		if t.open == nil {
			t.open = map[string]bool{}
		}
		t.open[c.ID] = true
	}
}

// Awaits reports whether an output of a call would be shown.
func (t *Timeline) Awaits(id string) bool { return t.open[id] }

// Returned notes what a call returned; end fills it in.
func (t *Timeline) Returned(id string, end func(*Call)) {
	if !t.open[id] {
		return
	}
	delete(t.open, id)
	for i := range t.pending {
		for j := range t.pending[i].Tools {
			if c := &t.pending[i].Tools[j]; c.ID == id && c.Pending {
				c.Pending = false
				end(c)
			}
		}
	}
}

// Spent notes what was spent since the message before the newest. Where there is
// no message yet it reports false, and the tokens are in no message.
func (t *Timeline) Spent(tokens Tokens) bool {
	if t.Detail == Summary || len(t.pending) == 0 {
		return false
	}
	m := t.last()
	if m.Usage == nil {
		m.Usage = new(Tokens)
	}
	m.Usage.Add(tokens)
	return true
}

// patience is how many messages may wait for an output of an earlier one.
const patience = 32

// Finish hands out what is left.
func (t *Timeline) Finish() error {
	if t.thoughts != nil && t.Detail == Tools {
		t.thought()
	}
	t.flush(true)
	return t.err
}

// flush hands out the messages that nothing more is expected of.
func (t *Timeline) flush(all bool) {
	done := 0
	for ; done < len(t.pending); done++ {
		m := t.pending[done]
		if !all && len(t.pending)-done <= patience && t.waits(m) {
			break
		}
		for _, c := range m.Tools {
			delete(t.open, c.ID)
		}
		if t.err == nil && t.Emit != nil && (m.N > 0 || len(m.Tools) > 0 || m.Thinking != "") {
			t.err = t.Emit(m)
		}
	}
	t.pending = append(t.pending[:0], t.pending[done:]...)
}

func (t *Timeline) waits(m Message) bool {
	for _, c := range m.Tools {
		if c.Pending && t.open[c.ID] {
			return true
		}
	}
	return false
}
