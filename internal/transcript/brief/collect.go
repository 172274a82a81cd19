package brief

import (
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/internal/transcript/action"
	"github.com/agent-handoff/handoff/thread"
)

// The limits of what is kept of a thread while it is read: of one text in bytes, and of how
// many there are of each kind, the newest.
const (
	maxText     = 20 << 10
	maxPrompts  = 50
	maxFiles    = 1000
	maxCommands = 50
	maxOpen     = 50
	maxMade     = 200
)

// settledAfter is how many messages a call is followed by at most, when it is read, if it is
// known that its result is not in the transcript: thread.Timeline waits no longer.
const settledAfter = 32

// A passage is a text of a message.
type passage struct {
	message int
	text    string
}

// A change is a file that the thread changed, as recorded.
type change struct {
	path    string
	message int
}

// A command is one that a call ran.
type command struct {
	line, dir, exit, output string
	message                 int
}

// An openCall is a call without a result.
type openCall struct {
	name, what string
	message    int
}

// facts are what the messages of a thread show.
type facts struct {
	first     passage   // prompt
	prompts   []passage // the newest
	prompted  int       // how many there are
	answer    passage   // the last message of the agent
	summary   passage   // that replaced the history last
	plan      plan
	changes   []change // the last of each file
	failed    []command
	open      []openCall
	cut       cut
	commits   []string // as the output of git has them
	artifacts []string // IDs that the output of calls has that publish
	last      int      // the number of the last message
}

// cut reports of what there was more than is kept.
type cut struct{ changes, failed, open bool }

// add adds a message.
func (f *facts) add(m thread.Message) error {
	f.last = max(f.last, m.N)
	p := passage{m.N, clip(m.Text)}
	switch {
	case m.N == 0 || strings.TrimSpace(m.Text) == "":
	case m.Role == thread.User:
		if f.prompted++; f.prompted == 1 {
			f.first = p
		}
		f.prompts = newest(append(f.prompts, p), maxPrompts)
	case m.Role == thread.Assistant:
		f.answer = p
	case m.Role == thread.Compaction && m.Text != thread.DefaultCompactionText:
		text, _, _ := strings.Cut(m.Text, "\n<read-files>") // lists of pi: files are a part of their own
		f.summary = passage{m.N, clipEnd(text)}
	}
	if m.Role == thread.Assistant || len(m.Tools) > 0 {
		f.endTurns()
	}
	for _, c := range m.Tools {
		f.call(c, m.Inherited)
	}
	return nil
}

// endTurns removes the calls before the last prompt: the agent has answered that, so they are not in flight.
func (f *facts) endTurns() {
	if n := len(f.prompts); n > 0 {
		f.open = slices.DeleteFunc(f.open, func(c openCall) bool { return c.message < f.prompts[n-1].message })
	}
}

// call adds a call. One that was inherited shows the plan only.
func (f *facts) call(c thread.Call, inherited bool) {
	f.plan.add(c, max(f.last, 1))
	if inherited {
		return
	}
	done := action.Inspect(c)
	if done.Access == action.Written {
		for _, path := range done.Paths {
			f.changed(path)
		}
	}
	if c.Pending {
		f.cut.open = f.cut.open || len(f.open) == maxOpen
		f.open = newest(append(f.open, openCall{c.Name, clip(what(c, done)), max(f.last, 1)}), maxOpen)
		return
	}
	if done.Command != "" && c.HasResult() {
		f.ran(c, done)
	}
	f.commits = newest(append(f.commits, action.CommitsMade(c.Output)...), maxMade)
	if action.TrafficOf(c).Publishes {
		f.artifacts = newest(append(f.artifacts, action.ArtifactIDs(c.Output)...), maxMade)
	}
}

func (f *facts) changed(path string) {
	f.changes = slices.DeleteFunc(f.changes, func(c change) bool { return c.path == path })
	f.cut.changes = f.cut.changes || len(f.changes) == maxFiles
	f.changes = newest(append(f.changes, change{strings.Clone(path), max(f.last, 1)}), maxFiles)
}

// ran adds a command that failed, and removes it once it did not.
func (f *facts) ran(c thread.Call, done action.Action) {
	line := clip(done.Command)
	f.failed = slices.DeleteFunc(f.failed, func(o command) bool { return o.line == line && o.dir == c.Dir })
	if c.Failed || (done.Exit != "" && done.Exit != "0") {
		f.cut.failed = f.cut.failed || len(f.failed) == maxCommands
		f.failed = newest(append(f.failed, command{line, c.Dir, done.Exit, c.Output, max(f.last, 1)}), maxCommands)
	}
}

// settled removes the calls whose results may be in the transcript after all.
func (f *facts) settled() {
	f.cut.open = f.cut.open && len(f.open) > 0 && f.last-f.open[0].message < settledAfter
	f.open = slices.DeleteFunc(f.open, func(c openCall) bool { return f.last-c.message >= settledAfter })
}

// what returns what a call does: its command, its files, or its input.
func what(c thread.Call, done action.Action) string {
	switch {
	case done.Command != "":
		return done.Command
	case len(done.Paths) > 0:
		return strings.Join(done.Paths, " ")
	}
	return c.Input
}

// newest returns the last n elements of list.
func newest[T any](list []T, n int) []T {
	if len(list) > n {
		return slices.Delete(list, 0, len(list)-n)
	}
	return list
}

// clip returns the beginning of a text, as a copy: the text may be a part of a large one.
func clip(text string) string {
	if len(text) <= maxText {
		return strings.Clone(text)
	}
	return strings.ToValidUTF8(text[:maxText], "")
}

// clipEnd returns the end of a text in the same way.
func clipEnd(text string) string {
	return strings.ToValidUTF8(strings.Clone(text[max(0, len(text)-maxText):]), "")
}
