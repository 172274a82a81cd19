// Package transcript has the types of what is found in the transcripts of many threads:
// lists, matches of a search, edits of the same files, copies.
//
// It has nouns only. Package workspace/threads returns them.
package transcript

import (
	"cmp"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
)

// An Active is a thread with the changes of files that it and its subagents made
// since Query.Changed, or the last message of its user, in the order of time.
type Active struct {
	Item
	Writes []Write
}

// An Item is one thread.
type Item struct {
	URI    thread.URI `json:"uri"`
	Prompt string     `json:"prompt,omitempty"` // the beginning of the first message of the user

	thread.Chain // of those that continue it, the threads that a list has

	// Prompted is the time of the last message of the user.
	Prompted time.Time `json:"promptedAt,omitzero"`

	*thread.Thread
	Notices []handoff.Notice `json:"notices,omitempty"` // of its state

	DirectoryGone bool           `json:"directoryGone,omitempty"` // its directory no longer exists on this machine
	Agents        []thread.Agent `json:"subagents,omitempty"`
}

// Name returns what a person knows the thread by: its title, or the
// beginning of the first message.
func (i Item) Name() string { return cmp.Or(i.Title, i.Prompt) }

// A Page is the answer to a Query, newest first.
type Page struct {
	Threads  []Item   `json:"threads"`
	Cursor   string   `json:"cursor,omitempty"`   // where the next page starts, "" if there is none
	Warnings []string `json:"warnings,omitempty"` // what could not be read

	// Gone is how many threads have a directory that no longer exists and that is not known to be
	// of any repository. It is set in a list of the threads of a repository; without an index, only if
	// the list has all of them.
	Gone int `json:"gone,omitempty"`
}
