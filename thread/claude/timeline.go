package claude

import (
	"cmp"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/thread"
)

// A timeline makes one message of the records of one answer.
type timeline struct {
	thread.Timeline
	request  uint64        // of which the newest record was
	tokens   thread.Tokens // that it took and no message has
	answered bool          // a message has its text
}

// answer adds a part of what the model said, of which there are as many records
// as it has blocks, or as there were states of it.
func (t *timeline) answer(m thread.Message) {
	if m.Text == "" {
		return
	}
	if last := t.Newest(); last == nil || last.Role != m.Role || last.ID != m.ID {
		t.Add(m)
	} else if strings.HasPrefix(m.Text, last.Text) {
		last.Text = m.Text
	} else if !strings.HasSuffix(last.Text, m.Text) {
		last.Text += "\n\n" + m.Text
	}
	t.answered = true
	t.credit()
}

// compacted adds a compaction, of which two records tell.
func (t *timeline) compacted(summary string, at time.Time) {
	if last := t.Newest(); last != nil && last.Role == thread.Compaction && (summary == "" || last.Text == thread.Unsaid) {
		last.Text = cmp.Or(summary, last.Text)
		return
	}
	t.Add(thread.Message{Role: thread.Compaction, Text: cmp.Or(summary, thread.Unsaid), Time: at})
}

// spent notes what a record adds to what its request took. The message that has
// the request's text gets it, else the one before.
func (t *timeline) spent(request uint64, tokens thread.Tokens) {
	if t.Detail == thread.Summary {
		return
	}
	if request != t.request {
		t.credit()
		t.request, t.answered = request, false
	}
	t.tokens.Add(tokens)
	if t.answered {
		t.credit()
	}
}

// credit gives what no message has to the newest, if there is one.
func (t *timeline) credit() {
	if t.tokens != (thread.Tokens{}) && t.Spent(t.tokens) {
		t.tokens = thread.Tokens{}
	}
}
