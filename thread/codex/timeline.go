package codex

import (
	"cmp"
	"hash/maphash"
	"time"

	"github.com/agent-handoff/handoff/internal/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// A timeline shows what several records tell of once.
type timeline struct {
	thread.Timeline
	twins   [8]twin // of the newest messages
	next    int
	compact int // the line of the last compaction
}

// family says which of two records of one message was read.
type family byte

const (
	item family = iota + 1
	event
)

// A twin is a message of which the other family's record is expected.
type twin struct {
	family family
	role   thread.Role
	hash   uint64
}

var seed = maphash.MakeSeed()

// add adds a message, unless it is the second record of one that was added.
func (t *timeline) add(f family, m thread.Message) {
	if t.Detail == thread.Summary || m.Text == "" {
		return
	}
	if m.Role != thread.Note {
		w := twin{f, m.Role, maphash.String(seed, m.Text)}
		for i, other := range t.twins {
			if other.family != 0 && other.family != f && other.role == w.role && other.hash == w.hash {
				t.twins[i] = twin{}
				return
			}
		}
		t.twins[t.next%len(t.twins)] = w
		t.next++
	}
	t.Add(m)
}

// compacted adds a compaction, of which several records tell.
func (t *timeline) compacted(line int, at time.Time, summary jsonl.Value) {
	const near = 6
	again := t.compact > 0 && line-t.compact <= near
	t.compact = line
	said := summary.Text()
	if !again {
		t.Add(thread.Message{Role: thread.Compaction, Text: cmp.Or(said, thread.Unsaid), Time: at})
	} else if m := t.Newest(); m != nil && m.Role == thread.Compaction && m.Text == thread.Unsaid {
		m.Text = cmp.Or(said, m.Text)
	}
}
