package threadindex

import (
	"context"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/words"
	"github.com/agent-handoff/handoff/internal/transcript/action"
	"github.com/agent-handoff/handoff/internal/transcript/threadindex/store"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/transcript"
)

// A column is a part of a thread that is searched separately.
type column int

// The columns. A thread that is found by its title ranks before one that is
// found by a message of the user, and both before all others.
const (
	titles column = iota
	prompts
	answers
	summaries
	calls
	columns
)

var columnNames [columns]string = store.Columns

// roles are the columns by the name of the role that a Search selects.
var roles = map[string]column{"user": prompts, "assistant": answers, "compaction": summaries, "tool": calls}

// An entry is a thread that was read completely, or what follows a mark in it.
type entry struct {
	transcript.Item
	words    [columns][]byte // with border after each text
	tools    map[string]bool // names, in lower case
	touches  []touch
	commands []command
	mentions []mention
	reports  []Report // the first message of URI counts alone

	size      int            // of words
	last      int            // number of the last message
	mentioned map[string]int // the last message with each name

	before  marked       // the mark it was read from, zero for a complete thread
	mark    *tailMark    // a new one, if there is
	settled [columns]int // bytes of words before it
}

// border separates texts in a list of words, so that no phrase spans two of them.
// It is not a word itself.
const border = " \u00b6"

// maxText is how many bytes of the words of a thread are searched.
const maxText = 16 << 20

// A reader reads the threads in a transcript: readEntries completely, readUsage only
// their facts.
type reader func(context.Context, *thread.Stored) ([]*entry, error)

// readUsage reads the facts of the threads in a transcript, with their usage.
func readUsage(ctx context.Context, s *thread.Stored) (list []*entry, err error) {
	threads, err := s.Load(ctx)
	for _, t := range threads {
		t.Modified = s.Modified
		list = append(list, &entry{Item: newItem(t)})
	}
	return list, err
}

// readEntry reads a thread.
func readEntry(ctx context.Context, t *thread.Thread) (*entry, error) {
	e := newEntry(t)
	return e, t.Read(ctx, thread.Tools, e.message)
}

func newEntry(t *thread.Thread) *entry {
	e := &entry{Item: newItem(t), tools: map[string]bool{}, mentioned: map[string]int{}}
	e.add(titles, e.Title)
	return e
}

// message adds a message with its calls.
func (e *entry) message(m thread.Message) error {
	see(&e.Item, m)
	if m.N > 0 {
		e.last = m.N
	}
	if c, ok := columnOf(m); ok {
		e.add(c, m.Text)
		if !m.Inherited {
			e.mention(InMessage, m.Time, action.ArtifactIDs(m.Text), action.CommitIDs(m.Text))
		}
	}
	for _, call := range m.Tools {
		a := action.Inspect(call)
		e.tools[strings.ToLower(call.Name)] = true
		e.add(calls, a.Text())
		if m.Inherited {
			a.Access = action.Named // the original did it
		} else {
			e.command(a, call)
			e.report(m.Model, call)
			if a.Command != "" {
				e.mention(Committed, call.Time, action.CommitsMade(call.Output))
			}
			e.mention(InInput, call.Time, action.ArtifactIDs(call.Input), action.CommitIDs(call.Input))
			e.mention(InOutput, call.Time, action.ArtifactIDs(call.Output), action.CommitIDs(call.Output))
		}
		e.touch(a, call.Time)
	}
	return nil
}

// add adds the words of a text.
func (e *entry) add(c column, text string) {
	if e.size < maxText && text != "" {
		before := len(e.words[c])
		e.words[c] = append(words.Append(e.words[c], text), border...)
		if c != titles { // which change
			e.size += len(e.words[c]) - before
		}
	}
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
