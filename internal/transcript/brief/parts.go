package brief

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/git"
	"github.com/agent-handoff/handoff/internal/tool/printable"
	"github.com/agent-handoff/handoff/thread"
)

// parts are those of a brief, in its order.
type parts struct {
	list []part
	most int // bytes of a text that can be shown
}

func (p *parts) add(one part) { p.list = append(p.list, one) }

// The least bytes of a block with a text, and of one without, so that no more are made than can be shown.
const (
	leastBlock = 3 * minBlock
	leastLine  = 24
)

// at names a message.
func at(message int) string { return "#M" + strconv.Itoa(message) }

// code returns a text of others as a code span.
func code(text string) string { return printable.Code(plain(text), maxWord) }

// plain returns the beginning of a text that is shown in a line.
func plain(text string) string { return redacted(text, 4*maxLine) }

// maxTail is how many bytes are shown of the output of a command.
const maxTail = 4 << 10

// maxWord is the length of a name beside the main text of a line, in characters.
const maxWord = 80

func (p *parts) prompts(f facts) {
	one := part{title: "Prompts of the person", weight: 24, last: true}
	shown := newest(f.prompts, p.most/leastBlock)
	for i, said := range slices.Backward(shown) {
		before := ""
		switch {
		case said.message == f.first.message:
			continue
		case i == len(shown)-1:
			before = "newest, "
		}
		one.show(block{before: before + at(said.message), text: redacted(said.text, p.most)})
	}
	if f.prompted > 0 {
		one.show(block{before: "first, " + at(f.first.message), text: redacted(f.first.text, p.most)})
	}
	one.hidden = f.prompted - len(one.blocks)
	p.add(one)
}

// handOver adds what the agent left, or else the last summary of its program, whose end has what is open.
func (p *parts) handOver(r recorded, f facts) {
	one := part{title: "Hand-over by the agent", weight: 18}
	switch a := r.handOver; {
	case a != nil:
		b := titled(*a)
		b.text = redacted(r.text, p.most)
		one.show(b)
	case f.summary.message > 0:
		one.title = "Last compaction summary"
		one.show(block{before: at(f.summary.message) + ", written by a model, its end",
			text: redactedEnd(f.summary.text, p.most), tail: true})
	}
	p.add(one)
}

// plan adds the open steps, and then those that are done, on one line.
func (p *parts) plan(l plan) {
	one := part{title: "Plan", weight: 12, last: true}
	var done []string
	for _, s := range l.steps {
		if s.done() {
			done = append(done, redacted(s.text, p.most))
			continue
		}
		b := block{before: "[ ] ", code: plain(s.text)}
		if s.status != "" {
			b.after = " " + code(s.status)
		}
		one.show(b)
	}
	if len(done) > 0 {
		one.show(block{before: fmt.Sprintf("[x] %d done: ", len(done)),
			code: strings.Join(done, "; ")})
	}
	if len(l.steps) > 0 {
		one.title += ", " + at(l.message)
	}
	if l.text.message > 0 {
		one.show(block{before: "proposed to the person, " + at(l.text.message),
			text: redacted(l.text.text, p.most)})
	}
	p.add(one)
}

func (p *parts) tree(t tree, cut bool) {
	one := part{title: "Files changed", weight: 20, least: cut}
	if t.base != "" {
		one.title += ", lines since " + t.base[:12]
	}
	shown := min(len(t.files), p.most/leastLine)
	for _, f := range t.files[:shown] {
		b := block{code: plain(f.name), path: true, after: " " + at(f.message)}
		if f.lines != nil {
			b.after += fmt.Sprintf(" +%d −%d", f.lines.Added, f.lines.Removed)
		}
		if f.state != "" {
			b.after += ", " + f.state
		}
		one.show(b)
	}
	one.hidden = len(t.files) - shown
	p.add(one)
	if !t.known {
		return
	}
	now := part{title: "Tree now", weight: 10}
	head := block{before: "branch ", code: plain(t.Branch)}
	if t.Branch == "" {
		head.before = "no branch"
	}
	if t.Head != "" {
		head.after = " at " + t.Head[:12]
	}
	now.show(head)
	for _, c := range t.own {
		now.show(block{before: "commit of the thread " + c.ID[:12] + " ", code: plain(c.Subject)})
	}
	for _, c := range t.commits {
		when := "commit after its end "
		if !c.CommittedAt.After(t.ended) {
			when = "commit while it ran "
		}
		now.show(block{before: when + c.ID[:12] + " ", code: plain(c.Subject), after: filesOf(c)})
	}
	for _, d := range t.dirty {
		state := " not committed"
		if d.Untracked {
			state = " untracked"
		}
		now.show(block{code: plain(d.Path), path: true, after: state + ", not by a recorded edit"})
	}
	p.add(now)
}

// filesOf names the files of a commit.
func filesOf(c git.Commit) string {
	var names []string
	for _, f := range c.Files {
		names = append(names, f.Path)
	}
	if len(names) == 0 {
		return ""
	}
	return " in " + code(strings.Join(names, " "))
}

func (p *parts) artifacts(r recorded) {
	one := part{title: "Artifacts", weight: 10}
	for _, a := range r.artifacts {
		b := titled(a)
		if a.Status != handoff.Active {
			b.after += ", " + string(a.Status)
		}
		for _, n := range a.Notices() {
			b.text += n.Text + "\n"
		}
		b.text = redacted(b.text, p.most)
		one.show(b)
		for _, c := range handoff.OpenComments(a.Comments) {
			one.show(block{before: "open comment " + handoff.ShortCommentID(c.ID) + " on " + short(a.ID) + " by ",
				code: plain(strings.TrimSuffix(c.By.Name+": "+c.Place.String(), ": ")),
				text: redacted(r.comments[c.ID], p.most)})
		}
	}
	p.add(one)
}

// titled returns the line of an artifact.
func titled(a handoff.Artifact) block {
	return block{before: short(a.ID) + " in " + code(a.Channel) + " ", code: plain(a.DisplayName())}
}

// short returns the end of an ID, which is a valid ref.
func short(id string) string { return id[max(0, len(id)-10):] }

func (p *parts) failed(f facts) {
	one := part{title: "Failed commands, not run again with success", weight: 14, least: f.cut.failed}
	shown := newest(slices.Clone(f.failed), p.most/leastBlock)
	one.hidden = len(f.failed) - len(shown)
	for _, c := range slices.Backward(shown) {
		b := block{code: plain(c.line), after: " " + at(c.message), tail: true}
		if c.exit != "" {
			b.after = " exit " + c.exit + b.after
		}
		if len(c.output) < thread.MaxCall { // otherwise its end is not known
			b.text = redactedEnd(c.output, min(p.most, maxTail))
		}
		one.show(b)
	}
	p.add(one)
}

// open adds what was in flight.
func (p *parts) open(f facts, agents []thread.Agent) {
	one := part{title: "In flight, without a result", weight: 8, least: f.cut.open}
	for _, c := range slices.Backward(f.open) {
		one.show(block{before: code(c.name) + " ", code: plain(c.what), after: " " + at(c.message)})
	}
	for _, a := range agents {
		lost := a.State.Status == thread.Shutdown && a.State.Source == thread.Inferred
		if a.State.Status.Ended() && !lost {
			continue
		}
		uri := a.URI
		uri.Agent = plain(uri.Agent) // before it is encoded
		one.show(block{before: "subagent ", code: plain(strings.TrimSpace(a.Name + " " + a.Role)),
			after: " " + code(uri.String()) + " " + string(a.State.Status)})
	}
	p.add(one)
}

func (p *parts) answer(f facts) {
	one := part{title: "Last message of the agent", weight: 14}
	if f.answer.message > 0 {
		one.show(block{before: at(f.answer.message), text: redacted(f.answer.text, p.most)})
	}
	p.add(one)
}
