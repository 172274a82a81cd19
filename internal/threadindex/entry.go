package threadindex

import (
	"context"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/thread"
)

// A column is a part of a conversation that is searched separately.
type column int

// The columns. A conversation that is found by its title ranks before one that is
// found by a message of the user, and both before all others.
const (
	titles column = iota
	prompts
	answers
	summaries
	calls
	columns
)

var columnNames = [columns]string{"title", "prompt", "answer", "summary", "tool"}

// roles are the columns by the name of the role that a Search selects.
var roles = map[string]column{"user": prompts, "assistant": answers, "compaction": summaries, "tool": calls}

// An entry is a thread that was read completely.
type entry struct {
	Item
	words   [columns][]byte // with border after each text
	touches []touch
	tools   map[string]bool // names, in lower case
}

// A touch is a call that names a file.
type touch struct {
	path  string
	n     int // of the message, 0 if the call is before the first
	at    time.Time
	write bool
}

// border separates texts in a list of words, so that no phrase spans two of them.
// It is not a word itself.
const border = " \u00b6"

// maxText is how many bytes of the words of a thread are searched.
const maxText = 16 << 20

// readEntry reads a thread.
func readEntry(ctx context.Context, t *thread.Thread) (*entry, error) {
	e := &entry{Item: newItem(t), tools: map[string]bool{}}
	last, size := 0, 0
	add := func(c column, text string) {
		if size < maxText && text != "" {
			before := len(e.words[c])
			e.words[c] = append(appendWords(e.words[c], text), border...)
			size += len(e.words[c]) - before
		}
	}
	add(titles, e.Title)
	err := t.Read(ctx, thread.Tools, func(m thread.Message) error {
		e.see(m)
		if c, ok := columnOf(m); ok {
			add(c, m.Text)
		}
		if m.N > 0 {
			last = m.N
		}
		for _, call := range m.Tools {
			a := inspect(call)
			a.write = a.write && !m.Inherited // the original has changed the file
			e.tools[strings.ToLower(call.Name)] = true
			add(calls, a.text())
			e.touch(a, last, call.Time)
		}
		return nil
	})
	return e, err
}

// columnOf returns the column that the text of a message belongs to. Notes are not
// searched: providers write them, so their words may not be in the transcript.
func columnOf(m thread.Message) (column, bool) {
	switch {
	case m.Role == thread.User:
		return prompts, true
	case m.Role == thread.Assistant:
		return answers, true
	case m.Role == thread.Compaction && m.Text != thread.DefaultCompactionText:
		return summaries, true
	}
	return 0, false
}

// touch adds the files that a call names.
func (e *entry) touch(a action, n int, at time.Time) {
	const most = 1 << 16
	for _, path := range a.paths {
		if path = absolute(e.Cwd, path); path != "" && len(e.touches) < most {
			e.touches = append(e.touches, touch{path, n, at.UTC(), a.write})
		}
	}
}
