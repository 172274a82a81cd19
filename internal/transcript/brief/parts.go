package brief

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/printable"
	"github.com/agent-handoff/handoff/thread"
)

// parts are those of a brief, in its order.
type parts struct {
	list []*part
	most int // bytes of a text that can be shown
}

// begin adds a part.
func (p *parts) begin(title string, weight int) *part {
	one := &part{title: title, weight: weight, most: p.most}
	p.list = append(p.list, one)
	return one
}

// The least bytes of a block with a text, and of one without, so that no more are made than can be shown.
const (
	leastBlock = 3 * minBlock
	leastLine  = 24
)

// at names a message.
func at(message int) string { return "#M" + strconv.Itoa(message) }

// code returns a name of others as a code span of at most 80 characters.
func code(text string) string { return printable.Code(redacted(text, 4*maxLine, false), 80) }

func (p *parts) prompts(f facts) {
	one := p.begin("Prompts of the person", 24)
	one.last = true
	shown := newest(f.prompts, p.most/leastBlock)
	for i, said := range slices.Backward(shown) {
		b := block{before: at(said.message), text: said.text}
		if i == len(shown)-1 {
			b.before = "newest, " + b.before
		}
		if said.message != f.first.message {
			one.show(b)
		}
	}
	if f.prompted > 0 {
		one.show(block{before: "first, " + at(f.first.message), text: f.first.text})
	}
	one.hidden = f.prompted - len(one.blocks)
}

// handOver adds what the agent left, or else the last summary of its program, whose end has what is open.
func (p *parts) handOver(r recorded, f facts) {
	one := p.begin("Hand-over by the agent", 18)
	switch {
	case r.handOver != nil:
		b := titled(*r.handOver)
		b.text = r.text
		one.show(b)
	case f.summary.message > 0:
		one.title = "Last compaction summary"
		one.show(block{before: at(f.summary.message) + ", written by a model, its end",
			text: f.summary.text, tail: true})
	}
}

// plan adds the open steps, and then those that are done, on one line.
func (p *parts) plan(l plan) {
	one := p.begin("Plan", 12)
	one.last = true
	var done []string
	for _, s := range l.steps {
		if s.done() {
			done = append(done, s.text)
			continue
		}
		b := block{before: "[ ] ", code: s.text}
		if s.status != "" {
			b.after = " " + code(s.status)
		}
		one.show(b)
	}
	if len(done) > 0 {
		one.show(block{before: fmt.Sprintf("[x] %d done: ", len(done)), code: strings.Join(done, "; ")})
	}
	if len(l.steps) > 0 {
		one.title += ", " + at(l.message)
	}
	if l.text.message > 0 {
		one.show(block{before: "proposed to the person, " + at(l.text.message), text: l.text.text})
	}
}

func (p *parts) tree(t tree, more bool) {
	one := p.begin("Files changed", 20)
	one.least = more
	if t.base != "" {
		one.title += ", lines since " + t.base[:12]
	}
	shown := min(len(t.files), p.most/leastLine)
	for _, f := range t.files[:shown] {
		b := block{code: f.name, path: true, after: " " + at(f.message)}
		if f.lines != nil {
			b.after += fmt.Sprintf(" +%d −%d", f.lines.Added, f.lines.Removed)
		}
		if f.state != "" {
			b.after += ", " + f.state
		}
		one.show(b)
	}
	one.hidden = len(t.files) - shown
	if !t.known {
		return
	}
	now := p.begin("Tree now", 10)
	head := block{before: "branch ", code: t.Branch}
	if t.Branch == "" {
		head.before = "no branch"
	}
	if t.Head != "" {
		head.after = " at " + t.Head[:12]
	}
	now.show(head)
	for _, c := range t.own {
		now.show(block{before: "commit of the thread " + c.ID[:12] + " ", code: c.Subject})
	}
	for _, c := range t.commits {
		b := block{before: "commit after its end " + c.ID[:12] + " ", code: c.Subject}
		if !c.CommittedAt.After(t.ended) {
			b.before = "commit while it ran " + c.ID[:12] + " "
		}
		var names []string
		for _, f := range c.Files {
			names = append(names, f.Path)
		}
		if len(names) > 0 {
			b.after = " in " + code(strings.Join(names, " "))
		}
		now.show(b)
	}
	for _, d := range t.dirty {
		state := " not committed"
		if d.Untracked {
			state = " untracked"
		}
		now.show(block{code: d.Path, path: true, after: state + ", not by a recorded edit"})
	}
}

func (p *parts) artifacts(ctx context.Context, s Source, r recorded) {
	one := p.begin("Artifacts", 10)
	for _, a := range r.artifacts {
		b := titled(a)
		if a.Status != handoff.Active {
			b.after += ", " + string(a.Status)
		}
		for _, n := range a.Notices() {
			b.text += n.Text + "\n"
		}
		one.show(b)
		for _, c := range handoff.OpenComments(a.Comments) {
			one.show(block{before: "open comment " + handoff.ShortCommentID(c.ID) + " on " + short(a.ID) + " by ",
				code: strings.TrimSuffix(c.By.Name+": "+c.Place.String(), ": "),
				text: s.Comment(ctx, a, c)})
		}
	}
}

// titled returns the line of an artifact.
func titled(a handoff.Artifact) block {
	return block{before: short(a.ID) + " in " + code(a.Channel) + " ", code: a.DisplayName()}
}

// short returns the end of an ID, which is a valid ref.
func short(id string) string { return id[max(0, len(id)-10):] }

func (p *parts) failed(f facts) {
	one := p.begin("Failed commands, not run again with success", 14)
	one.least, one.most = f.failed.more, min(p.most, 4<<10)
	shown := newest(f.failed.list, p.most/leastBlock)
	one.hidden = len(f.failed.list) - len(shown)
	for _, c := range slices.Backward(shown) {
		b := block{code: c.line, after: " " + at(c.message), tail: true}
		if c.exit != "" {
			b.after = " exit " + c.exit + b.after
		}
		if len(c.output) < thread.MaxCall { // otherwise its end is not known
			b.text = c.output
		}
		one.show(b)
	}
}

// open adds what was in flight.
func (p *parts) open(f facts, agents []thread.Agent) {
	one := p.begin("In flight, without a result", 8)
	one.least = f.open.more
	for _, c := range slices.Backward(f.open.list) {
		one.show(block{before: code(c.name) + " ", code: c.line, after: " " + at(c.message)})
	}
	for _, a := range agents {
		lost := a.State.Status == thread.Shutdown && a.State.Source == thread.Inferred
		if a.State.Status.Ended() && !lost {
			continue
		}
		uri := a.URI
		uri.Agent = redacted(uri.Agent, 4*maxLine, false) // before it is encoded
		one.show(block{before: "subagent ", code: strings.TrimSpace(a.Name + " " + a.Role),
			after: " " + code(uri.String()) + " " + string(a.State.Status)})
	}
}

func (p *parts) answer(f facts) {
	one := p.begin("Last message of the agent", 14)
	if f.answer.message > 0 {
		one.show(block{before: at(f.answer.message), text: f.answer.text})
	}
}
