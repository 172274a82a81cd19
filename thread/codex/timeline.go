package codex

import (
	"cmp"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/resume"
)

// A timeline adds messages and compactions that have several records once.
type timeline struct {
	thread.Timeline
	recent  [8]recorded // the newest messages
	next    int
	compact int // line of the last compaction
}

// A family is one of the two kinds of records of a message.
type family byte

const (
	item family = iota + 1
	event
)

// A recorded is a message whose record of the other family is expected.
type recorded struct {
	Family family
	Role   thread.Role
	Hash   uint64
}

// add adds a message, unless it is the second record of one.
func (t *timeline) add(f family, m thread.Message) {
	if t.Detail == thread.Summary || m.Text == "" {
		return
	}
	if m.Role != thread.Note {
		r := recorded{f, m.Role, resume.Hash(m.Text)}
		for i, other := range t.recent {
			if other.Family != 0 && other.Family != f && other.Role == r.Role && other.Hash == r.Hash {
				t.recent[i] = recorded{}
				return
			}
		}
		t.recent[t.next%len(t.recent)] = r
		t.next++
	}
	t.Add(m)
}

// compacted adds a compaction, unless a record a few lines before is of the same
// one. The summary may be in any of these records.
func (t *timeline) compacted(line int, at time.Time, summary jsonl.Value) {
	const near = 6
	again := t.compact > 0 && line-t.compact <= near
	t.compact = line
	text := summary.Text()
	if !again {
		t.Add(thread.Message{Role: thread.Compaction, Text: cmp.Or(text, thread.DefaultCompactionText), Time: at})
	} else if m := t.Newest(); m != nil && m.Role == thread.Compaction && m.Text == thread.DefaultCompactionText {
		m.Text = cmp.Or(text, m.Text)
	}
}
