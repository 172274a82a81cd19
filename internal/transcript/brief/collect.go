package brief

import (
	"cmp"
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

// A passage is a text of a message, or a path that its call changed.
type passage struct {
	message int
	text    string
}

// A command is one that a call ran, or what a call without a result does.
type command struct {
	line, name, dir, exit, output string
	message                       int
}

// A recent list has the newest of its kind.
type recent[T any] struct {
	list []T
	more bool // there was more than is kept
}

// add adds v, at most so many in all, in place of those that are the same.
func (r *recent[T]) add(v T, most int, same func(T) bool) {
	r.list = slices.DeleteFunc(r.list, same)
	r.more = r.more || len(r.list) == most
	r.list = newest(append(r.list, v), most)
}

// facts are what the messages of a thread show.
type facts struct {
	first     passage   // prompt
	prompts   []passage // the newest
	prompted  int       // how many there are
	answer    passage   // the last message of the agent
	summary   passage   // that replaced the history last
	plan      plan
	changes   recent[passage] // files, the last change of each
	failed    recent[command]
	open      recent[command]
	commits   []string // as the output of git has them
	artifacts []string // IDs that the output of calls has that publish
	last      int      // the number of the last message
}

// add adds a message.
func (f *facts) add(m thread.Message) error {
	f.last = max(f.last, m.N)
	p := passage{m.N, cut(m.Text, maxText, false)}
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
		f.summary = passage{m.N, cut(text, maxText, true)}
	}
	if n := len(f.prompts); n > 0 && (m.Role == thread.Assistant || len(m.Tools) > 0) {
		// The agent has answered the last prompt, so that no earlier call is in flight.
		f.open.list = slices.DeleteFunc(f.open.list, func(c command) bool { return c.message < f.prompts[n-1].message })
	}
	for _, c := range m.Tools {
		f.call(c, m.Inherited)
	}
	return nil
}

// call adds a call. One that was inherited shows the plan only.
func (f *facts) call(c thread.Call, inherited bool) {
	f.plan.add(c, max(f.last, 1))
	if inherited {
		return
	}
	done, at := action.Inspect(c), max(f.last, 1)
	if done.Access == action.Written {
		for _, path := range done.Paths {
			f.changes.add(passage{at, strings.Clone(path)}, maxFiles, func(o passage) bool { return o.text == path })
		}
	}
	if c.Pending {
		what := cmp.Or(done.Command, strings.Join(done.Paths, " "), c.Input)
		f.open.add(command{name: c.Name, line: cut(what, maxText, false), message: at}, maxOpen,
			func(command) bool { return false })
		return
	}
	if done.Command != "" && c.HasResult() {
		run := command{line: cut(done.Command, maxText, false), dir: c.Dir, exit: done.Exit, output: c.Output,
			message: at}
		again := func(o command) bool { return o.line == run.line && o.dir == run.dir }
		if c.Failed || (run.exit != "" && run.exit != "0") {
			f.failed.add(run, maxCommands, again)
		} else {
			f.failed.list = slices.DeleteFunc(f.failed.list, again)
		}
	}
	f.commits = newest(append(f.commits, action.CommitsMade(c.Output)...), maxMade)
	if action.TrafficOf(c).Publishes {
		f.artifacts = newest(append(f.artifacts, action.ArtifactIDs(c.Output)...), maxMade)
	}
}

// settled removes the calls whose results may be in the transcript after all.
func (f *facts) settled() {
	unknown := func(c command) bool { return f.last-c.message >= settledAfter }
	f.open.more = f.open.more && len(f.open.list) > 0 && !unknown(f.open.list[0])
	f.open.list = slices.DeleteFunc(f.open.list, unknown)
}

// newest returns the last n elements of list.
func newest[T any](list []T, n int) []T { return list[max(0, len(list)-n):] }

// cut returns the beginning or the end of a text, of at most so many bytes, as a copy: the text may be a
// part of a large one.
func cut(text string, most int, end bool) string {
	most = min(most, len(text))
	if end {
		text = text[len(text)-most:]
	}
	return strings.Clone(strings.ToValidUTF8(text[:most], ""))
}
