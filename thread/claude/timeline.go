package claude

import (
	"strings"
	"time"

	"github.com/agent-handoff/handoff/thread"
)

// A timeline numbers messages and hands them out, each once it is known which
// calls followed it and what they returned.
type timeline struct {
	detail    thread.Detail
	emit      func(thread.Message) error
	err       error
	n         int
	toolCalls int
	inherited bool

	pending []thread.Message
	open    map[string]bool // calls without an output

	request  uint64        // of which the newest record was
	tokens   thread.Tokens // that it took and no message has
	answered bool          // a message has its text
}

// add adds a message.
func (t *timeline) add(m thread.Message) {
	if t.detail == thread.Summary || m.Text == "" {
		return
	}
	t.flush(false)
	t.n++
	m.N, m.Inherited = t.n, t.inherited
	t.pending = append(t.pending, m)
}

// answer adds a part of what the model said, of which there are as many records
// as it has blocks, or as there were states of it.
func (t *timeline) answer(m thread.Message) {
	if m.Text == "" {
		return
	}
	if k := len(t.pending) - 1; k >= 0 && t.pending[k].Role == m.Role && t.pending[k].ID == m.ID && t.pending[k].N > 0 {
		last := &t.pending[k]
		switch {
		case strings.HasPrefix(m.Text, last.Text):
			last.Text = m.Text
		case !strings.HasSuffix(last.Text, m.Text):
			last.Text += "\n\n" + m.Text
		}
	} else {
		t.add(m)
	}
	t.answered = true
	t.credit()
}

const unsaid = "Context was compacted."

// compacted adds a compaction, of which two records tell.
func (t *timeline) compacted(summary string, at time.Time) {
	if k := len(t.pending) - 1; k >= 0 && t.pending[k].Role == thread.Compaction && (summary == "" || t.pending[k].Text == unsaid) {
		t.pending[k].Text = or(summary, t.pending[k].Text)
		return
	}
	t.add(thread.Message{Role: thread.Compaction, Text: or(summary, unsaid), Time: at})
}

// last is the message to which what comes now belongs.
func (t *timeline) last() *thread.Message {
	if len(t.pending) == 0 {
		t.pending = append(t.pending, thread.Message{Role: thread.Assistant, Inherited: t.inherited})
	}
	return &t.pending[len(t.pending)-1]
}

func (t *timeline) call(c thread.Call) {
	if !t.inherited {
		t.toolCalls++
	}
	if t.detail < thread.Tools {
		return
	}
	m := t.last()
	m.Tools = append(m.Tools, c)
	if c.ID != "" {
		if t.open == nil {
			t.open = map[string]bool{}
		}
		t.open[c.ID] = true
	}
}

func (t *timeline) returned(id, output, agent string, failed bool) {
	if !t.open[id] {
		return
	}
	delete(t.open, id)
	for i := range t.pending {
		for j := range t.pending[i].Tools {
			if c := &t.pending[i].Tools[j]; c.ID == id && c.Pending {
				c.Pending, c.Output, c.Agent, c.Failed = false, output, agent, failed
			}
		}
	}
}

// spent notes what a record adds to what its request took. The message that has
// the request's text gets it, else the one before.
func (t *timeline) spent(request uint64, tokens thread.Tokens) {
	if t.detail == thread.Summary {
		return
	}
	if request != t.request {
		t.settle()
		t.request, t.answered = request, false
	}
	t.tokens.Add(tokens)
	if t.answered {
		t.credit()
	}
}

// settle gives what a request without text took to the newest message.
func (t *timeline) settle() {
	if len(t.pending) > 0 {
		t.credit()
	}
}

func (t *timeline) credit() {
	if t.tokens == (thread.Tokens{}) {
		return
	}
	m := t.last()
	if m.Usage == nil {
		m.Usage = new(thread.Tokens)
	}
	m.Usage.Add(t.tokens)
	t.tokens = thread.Tokens{}
}

// patience is how many messages may wait for an output of an earlier one.
const patience = 32

// flush hands out the messages that nothing more is expected of.
func (t *timeline) flush(all bool) {
	done := 0
	for ; done < len(t.pending); done++ {
		m := t.pending[done]
		if !all && len(t.pending)-done <= patience && t.waits(m) {
			break
		}
		for _, c := range m.Tools {
			delete(t.open, c.ID)
		}
		if t.err == nil && t.emit != nil && (m.N > 0 || len(m.Tools) > 0) {
			t.err = t.emit(m)
		}
	}
	t.pending = append(t.pending[:0], t.pending[done:]...)
}

func (t *timeline) waits(m thread.Message) bool {
	for _, c := range m.Tools {
		if c.Pending && t.open[c.ID] {
			return true
		}
	}
	return false
}
