package claude

import (
	"cmp"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/thread"
)

// A timeline combines the records of an answer into one message.
type timeline struct {
	thread.Timeline
	request  uint64        // of the last record
	tokens   thread.Tokens // of the request, not added to a message yet
	answered bool          // there is a message of the request
}

// answer adds a record of an answer. There is one for each block, or for each
// state, of the answer.
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

// compacted adds a compaction. It has two records, the second with a summary.
func (t *timeline) compacted(summary string, at time.Time) {
	if last := t.Newest(); last != nil && last.Role == thread.Compaction &&
		(summary == "" || last.Text == thread.DefaultCompactionText) {
		last.Text = cmp.Or(summary, last.Text)
		return
	}
	t.Add(thread.Message{Role: thread.Compaction, Text: cmp.Or(summary, thread.DefaultCompactionText), Time: at})
}

// addUsage adds the usage of a request to the message with its text, else to the
// message before.
func (t *timeline) addUsage(request uint64, tokens thread.Tokens) {
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

// credit adds the remaining tokens to the last message, if there is one.
func (t *timeline) credit() {
	if t.tokens != (thread.Tokens{}) && t.AddUsage(t.tokens) {
		t.tokens = thread.Tokens{}
	}
}
