package codex

import (
	"hash/maphash"
	"time"

	"github.com/agent-handoff/handoff/jsonl"
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
	twins   [8]twin         // of the newest messages
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
	if t.detail == thread.Summary || m.Text == "" {
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
	t.push(m)
}

func (t *timeline) push(m thread.Message) {
	t.flush(false)
	t.n++
	m.N, m.Inherited = t.n, t.inherited
	t.pending = append(t.pending, m)
}

// compacted adds a compaction, of which several records tell.
func (t *timeline) compacted(line int, at time.Time, summary jsonl.Value) {
	if t.detail == thread.Summary {
		return
	}
	const near = 6
	again := t.compact > 0 && line-t.compact <= near
	t.compact = line
	said := summary.Text()
	if again {
		for i := range t.pending {
			if m := &t.pending[i]; m.Role == thread.Compaction && m.Text == unsaid && said != "" {
				m.Text = said
			}
		}
		return
	}
	t.push(thread.Message{Role: thread.Compaction, Text: or(said, unsaid), Time: at})
}

const unsaid = "Context was compacted."

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
	if c.Pending && c.ID != "" {
		if t.open == nil {
			t.open = map[string]bool{}
		}
		t.open[c.ID] = true
	}
}

func (t *timeline) returned(id, output, agent string) {
	if !t.open[id] {
		return
	}
	delete(t.open, id)
	for i := range t.pending {
		for j := range t.pending[i].Tools {
			if c := &t.pending[i].Tools[j]; c.ID == id && c.Pending {
				c.Pending, c.Output, c.Agent = false, output, agent
			}
		}
	}
}

// spent notes what was spent since the message before the newest.
func (t *timeline) spent(tokens thread.Tokens) {
	if t.detail == thread.Summary || len(t.pending) == 0 {
		return
	}
	m := t.last()
	if m.Usage == nil {
		m.Usage = new(thread.Tokens)
	}
	m.Usage.Add(tokens)
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
