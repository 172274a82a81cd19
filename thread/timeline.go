package thread

import (
	"slices"
	"strings"
)

// A Timeline collects the messages of a thread for a Reader. It numbers them and
// passes each to Emit once the calls that followed it have their results.
type Timeline struct {
	Detail    Detail
	Emit      func(Message) error
	Inherited bool // what is added was copied from another thread
	Messages  int  // number of messages
	ToolCalls int  // number of calls that were not inherited

	pending  []Message
	open     map[string]bool // IDs of calls without a result
	thinking []string        // of the next answer
	err      error
}

// DefaultCompactionText is the text of a compaction without a summary.
const DefaultCompactionText = "Context was compacted."

// Err returns the error of Emit. No further messages are emitted after it.
func (t *Timeline) Err() error { return t.err }

// Add adds a message. A message without text is ignored.
func (t *Timeline) Add(m Message) {
	if t.Detail == Summary || m.Text == "" {
		return
	}
	t.flush(false)
	t.Messages++
	m.N, m.Inherited = t.Messages, t.Inherited
	if m.Role == Assistant {
		m.Thinking, t.thinking = strings.Join(t.thinking, "\n\n"), nil
	}
	t.pending = append(t.pending, m)
}

// Newest returns the last message, or nil if it has been emitted.
func (t *Timeline) Newest() *Message {
	if k := len(t.pending) - 1; k >= 0 && t.pending[k].N > 0 {
		return &t.pending[k]
	}
	return nil
}

// last returns the message that calls, thinking and usage belong to.
func (t *Timeline) last() *Message {
	if len(t.pending) == 0 {
		t.pending = append(t.pending, Message{Role: Assistant, Inherited: t.Inherited})
	}
	return &t.pending[len(t.pending)-1]
}

// AddThinking adds the model's reasoning. It belongs to the answer that follows
// or, if calls follow, to the message before them.
func (t *Timeline) AddThinking(text string) {
	if text = strings.TrimSpace(text); t.Detail == Tools && text != "" {
		t.thinking = append(t.thinking, text)
	}
}

func (t *Timeline) attachThinking() {
	if t.thinking == nil {
		return
	}
	m := t.last()
	if m.Thinking != "" {
		m.Thinking += "\n\n"
	}
	m.Thinking += strings.Join(t.thinking, "\n\n")
	t.thinking = nil
}

// maxCalls bounds the calls that are held in memory with one message.
const maxCalls = 64

// AddCall adds a call to the last message. If it has very many, the rest is
// emitted after it as messages without a number.
func (t *Timeline) AddCall(c Call) {
	if !t.Inherited {
		t.ToolCalls++
	}
	if t.Detail < Tools {
		return
	}
	t.attachThinking()
	m := t.last()
	if len(m.Tools) == maxCalls {
		t.flush(false)
		t.pending = append(t.pending, Message{Role: Assistant, Inherited: t.Inherited})
		m = t.last()
	}
	m.Tools = append(m.Tools, c)
	t.await(c)
}

// AddNested adds a call that was made inside another one, after that and the calls
// inside it. If the other one was emitted, it follows the last call.
func (t *Timeline) AddNested(c Call) {
	for i := range t.pending {
		m := &t.pending[i]
		outer := slices.IndexFunc(m.Tools, func(o Call) bool { return o.ID == c.Within })
		if outer < 0 {
			continue
		}
		if !t.Inherited {
			t.ToolCalls++
		}
		at := outer + 1
		for at < len(m.Tools) && m.Tools[at].Within == c.Within {
			at++
		}
		m.Tools = slices.Insert(m.Tools, at, c)
		t.await(c)
		return
	}
	t.AddCall(c)
}

// await notes that the result of a call is not known yet.
func (t *Timeline) await(c Call) {
	if !c.Pending || c.ID == "" {
		return
	}
	if t.open == nil {
		t.open = map[string]bool{}
	}
	t.open[c.ID] = true
}

// SetResult completes a pending call with set.
func (t *Timeline) SetResult(id string, set func(*Call)) {
	if !t.open[id] {
		return
	}
	delete(t.open, id)
	for i := range t.pending {
		for j := range t.pending[i].Tools {
			if c := &t.pending[i].Tools[j]; c.ID == id && c.Pending {
				c.Pending = false
				set(c)
			}
		}
	}
}

// AddUsage adds tokens to the last message. It returns false if there is no
// message to add them to.
func (t *Timeline) AddUsage(tokens Tokens) bool {
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

// patience is how many messages may wait for the result of an earlier call.
const patience = 32

// Finish emits the remaining messages.
func (t *Timeline) Finish() error {
	t.attachThinking()
	t.flush(true)
	return t.err
}

// flush emits the messages that are complete, or all of them.
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
