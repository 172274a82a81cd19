package page

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
)

// Options select what Write shows. Without Head and List, a thread is shown with
// its messages, and a subagent with its status, its lifecycle in the parent's
// transcript and its last messages.
type Options struct {
	Head  bool // metadata and status, no messages
	List  bool // the subagents, as markdown; not for a subagent
	Full  bool // all messages of a subagent, not only the last
	Tools bool // include tool calls and thinking
	Usage bool // include token usage, also of subagents
	JSON  bool // one JSON object instead of markdown

	Status thread.Status // show only subagents with this status; "" is any
	Limit  int           // show at most this number of subagents; 0 is all

	Now time.Time // for ages; without it none are shown

	// Chain returns which threads the one of a view continues, and which continue it. nil for none.
	Chain func(context.Context, *thread.View) (thread.Chain, error)
}

func (o Options) check(u thread.URI) error {
	invalid := func(reason string, hint handoff.Hint) error {
		return handoff.E("thread", u.String(), handoff.Invalid, errors.New(reason), hint)
	}
	main := u.Main().String()
	switch {
	case o.List && u.Agent != "":
		return invalid("a subagent has no list of subagents",
			handoff.Suggest("list the subagents of the thread", handoff.ActionSubagents, main))
	case (o.Status != "" || o.Limit != 0) && u.Agent != "":
		return invalid("a subagent has no list of subagents", handoff.Advice("use the URI of the thread"))
	case o.Status != "" && !slices.Contains(thread.Statuses(), string(o.Status)):
		return invalid(fmt.Sprintf("unknown status %q", o.Status),
			handoff.Advice("the statuses are "+strings.Join(thread.Statuses(), ", ")))
	case o.Limit < 0:
		return invalid("the limit is negative", handoff.Advice("use a limit of 1 or more"))
	case o.List && o.JSON:
		return invalid("the list of subagents has no JSON form",
			handoff.Suggest("show the subagents as JSON", handoff.ActionThreadHead, main))
	case o.List && o.Head:
		return invalid("the head and the list of subagents are mutually exclusive",
			handoff.Advice("the head includes the subagents"))
	case (o.List || o.Head) && u.From > 0:
		return invalid("the URI selects messages, and this mode shows none",
			handoff.Advice("use the URI without its fragment"))
	case (o.List || o.Head) && (o.Full || o.Tools):
		return invalid("options for messages can't be combined with a mode that shows none",
			handoff.Advice("show the thread with its messages, or without these options"))
	}
	return nil
}

func (o Options) detail() thread.Detail {
	if o.Tools {
		return thread.Tools
	}
	return thread.Texts
}

// excerpt is the number of messages of a subagent that are shown without Full.
const excerpt = 3

// Write writes what u identifies to w. Errors are those of [thread.Set.Open] and of
// w, Invalid for incompatible options, and NotFound if the thread has none of the
// selected messages. Nothing is written unless only w can still fail.
func Write(ctx context.Context, w io.Writer, s *thread.Set, u thread.URI, o Options) error {
	if err := o.check(u); err != nil {
		return err
	}
	v, err := s.Open(ctx, u)
	if err != nil {
		return err
	}
	return WriteView(ctx, w, v, o)
}

// WriteView is Write for a view that is open.
func WriteView(ctx context.Context, w io.Writer, v *thread.View, o Options) error {
	if err := o.check(v.URI); err != nil {
		return err
	}
	p := page{View: v, Options: o}
	if o.Head || o.List {
		if err := p.load(ctx); err != nil {
			return err
		}
		return p.write(w, nil)
	}
	body, err := p.read(ctx)
	if err != nil {
		return err
	}
	if err := p.load(ctx); err != nil {
		return err
	}
	if !body.over() {
		return p.write(w, body.copy)
	}
	return p.write(w, func(w io.Writer) error { return p.stream(ctx, w) })
}

// A page is a view with the options it is written with.
type page struct {
	*thread.View
	Options
	agents  []thread.Agent // the subagents that are shown
	omitted int            // number of subagents that are not

	shown int          // number of messages written
	buf   bytes.Buffer // the current message
}

// subject returns the thread whose messages are shown, nil if there is no
// transcript.
func (p *page) subject() *thread.Thread {
	if p.Agent != nil {
		return p.Agent.Thread
	}
	return p.Thread
}

// load reads what the head of the page needs.
func (p *page) load(ctx context.Context) error {
	if err := p.LoadAgents(ctx); err != nil {
		return err
	}
	p.selectAgents()
	if !p.Thread.Loaded() {
		if err := p.Thread.Load(ctx); err != nil {
			return err
		}
	}
	if p.Options.Chain != nil && p.URI.Agent == "" {
		var err error
		if p.View.Chain, err = p.Options.Chain(ctx, p.View); err != nil {
			return err
		}
	}
	if !p.Usage {
		return nil
	}
	for i := range p.agents {
		if t := p.agents[i].Thread; t != nil && !t.Loaded() {
			if err := t.Load(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// selectAgents sets the subagents that are shown.
func (p *page) selectAgents() {
	p.agents = slices.Clone(p.Agents)
	if p.Status != "" {
		p.agents = slices.DeleteFunc(p.agents, func(a thread.Agent) bool { return a.State.Status != p.Status })
	}
	if p.Limit > 0 {
		p.agents = p.agents[:min(p.Limit, len(p.agents))]
	}
	p.omitted = len(p.Agents) - len(p.agents)
}

// maxBody is the size of the messages that are held in memory. A longer thread is
// read twice: for the head of the page, which comes first, and for the messages.
const maxBody = 8 << 20

// A spool keeps what is written to it, up to maxBody bytes.
type spool struct {
	blocks [][]byte
	size   int
}

func (s *spool) over() bool { return s.size > maxBody }

func (s *spool) Write(b []byte) (int, error) {
	const block = 64 << 10
	s.size += len(b)
	if s.over() {
		s.blocks = nil
		return len(b), nil
	}
	last := len(s.blocks) - 1
	if last < 0 || len(s.blocks[last])+len(b) > cap(s.blocks[last]) {
		s.blocks = append(s.blocks, make([]byte, 0, max(block, len(b))))
		last++
	}
	s.blocks[last] = append(s.blocks[last], b...)
	return len(b), nil
}

func (s *spool) copy(w io.Writer) error {
	for _, b := range s.blocks {
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// read renders the messages of the subject into memory, if they fit.
func (p *page) read(ctx context.Context) (*spool, error) {
	body := new(spool)
	if p.subject() == nil {
		return body, nil
	}
	if err := p.stream(ctx, body); err != nil {
		return nil, err
	}
	if p.URI.From > 0 && p.shown == 0 {
		return nil, handoff.E("thread", p.URI.String(), handoff.NotFound, errors.New("no such message"),
			handoff.Advice(fmt.Sprintf("the thread has %d messages", p.subject().Messages)))
	}
	return body, nil
}

// stream reads the subject and writes the selected messages.
func (p *page) stream(ctx context.Context, w io.Writer) error {
	p.shown = 0
	put := func(m thread.Message) error {
		p.shown++
		if body, ok := w.(*spool); ok && body.over() {
			return nil // too long: a second read writes it
		}
		if p.JSON {
			return p.jsonMessage(w, m)
		}
		return p.message(w, m)
	}
	var last []thread.Message
	n := 0
	err := p.subject().Read(ctx, p.detail(), func(m thread.Message) error {
		n = max(n, m.N)
		switch {
		case p.URI.From > 0:
			if n == 0 || !p.URI.Includes(n) {
				return nil
			}
			return put(m)
		case p.Agent == nil || p.Full:
			return put(m)
		case m.Inherited:
			return nil
		}
		if len(last) == excerpt {
			last = append(last[:0], last[1:]...)
		}
		last = append(last, m)
		return nil
	})
	if err != nil {
		return err
	}
	for _, m := range last {
		if err := put(m); err != nil {
			return err
		}
	}
	return nil
}

// write writes the head of the page, and its messages with body.
func (p *page) write(w io.Writer, body func(io.Writer) error) error {
	if p.JSON {
		return p.writeJSON(w, body)
	}
	return p.writeMarkdown(w, body)
}
