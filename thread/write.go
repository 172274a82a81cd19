package thread

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/agent-handoff/handoff"
)

// Options say how a thread is shown. With none of Head and List, a thread is
// shown with its messages, a subagent with its state, its life as its parent
// tells it, and the end of its own transcript.
type Options struct {
	Head  bool // what is known of it, without messages
	List  bool // its subagents, as markdown; of a whole thread only
	Full  bool // a subagent's whole transcript, not only its end
	Tools bool // tool calls too
	Usage bool // what it spent, and what its subagents spent
	JSON  bool // one JSON object instead of markdown

	Now time.Time // for ages; none are shown where it is zero
}

func (o Options) check(u URI) error {
	refuse := func(why, hint string) error {
		return &handoff.Error{Op: "thread", Name: u.String(), Kind: handoff.Invalid, Err: errors.New(why), Hint: handoff.Advice(hint)}
	}
	switch {
	case o.List && u.Agent != "":
		return refuse("--list shows the subagents of a thread, and this names one subagent", "list them with: thread "+u.Main().String()+" --list")
	case o.List && o.JSON:
		return refuse("--list is always markdown", "subagents as JSON: thread "+u.Main().String()+" -I --json")
	case o.List && o.Head:
		return refuse("--list and -I exclude each other", "-I shows the head, in which subagents are listed too")
	case (o.List || o.Head) && u.From > 0:
		return refuse("a fragment names messages, and this mode shows none", "leave out the fragment, or the mode")
	case (o.List || o.Head) && (o.Full || o.Tools):
		return refuse("--full and --tools are about messages, and this mode shows none", "leave out one of the two")
	}
	return nil
}

func (o Options) detail() Detail {
	if o.Tools {
		return Tools
	}
	return Texts
}

// excerpt is how many messages of a subagent are shown without Full.
const excerpt = 3

// Write shows what u names. Nothing is written before all that can fail for
// reasons of the caller has been looked at: errors are those of Open, Invalid
// for options that exclude each other, NotFound for messages there are none of,
// and those of w.
func (s *Set) Write(ctx context.Context, w io.Writer, u URI, o Options) error {
	if err := o.check(u); err != nil {
		return err
	}
	v, err := s.Open(ctx, u)
	if err != nil {
		return err
	}
	return v.Write(ctx, w, o)
}

// Write shows v. See Set.Write.
func (v *View) Write(ctx context.Context, w io.Writer, o Options) error {
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

// A page is a view as it is shown.
type page struct {
	*View
	Options
	shown int          // messages, after read
	buf   bytes.Buffer // of the message that is written
}

// subject is the thread whose messages are shown, nil if it left none.
func (p *page) subject() *Thread {
	if p.Agent != nil {
		return p.Agent.Thread
	}
	return p.Thread
}

// load reads what the head of the page says.
func (p *page) load(ctx context.Context) error {
	if err := p.LoadAgents(ctx); err != nil {
		return err
	}
	if !p.Thread.Loaded() {
		if err := p.Thread.Load(ctx); err != nil {
			return err
		}
	}
	if !p.Usage {
		return nil
	}
	for i := range p.Agents {
		if t := p.Agents[i].Thread; t != nil && !t.Loaded() {
			if err := t.Load(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxBody is how much of a page is held in memory. A longer one is read twice:
// once for what its head says, once to be written.
const maxBody = 8 << 20

// A spool keeps what is written to it in blocks, and gives up when that is too
// much.
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

// read reads the subject and renders its messages into memory, if they fit.
func (p *page) read(ctx context.Context) (*spool, error) {
	body := new(spool)
	if p.subject() == nil {
		return body, nil
	}
	if err := p.stream(ctx, body); err != nil {
		return nil, err
	}
	if p.URI.From > 0 && p.shown == 0 {
		return nil, notFound(p.URI.String(), fmt.Sprintf("it has %d messages", p.subject().Messages))
	}
	return body, nil
}

// stream reads the subject and writes the messages that were asked for.
func (p *page) stream(ctx context.Context, w io.Writer) error {
	p.shown = 0
	put := func(m Message) error {
		p.shown++
		if body, ok := w.(*spool); ok && body.over() {
			return nil // it is written when all has been read
		}
		if p.JSON {
			return p.jsonMessage(w, m)
		}
		return p.message(w, m)
	}
	var last []Message
	n := 0
	err := p.subject().Read(ctx, p.detail(), func(m Message) error {
		n = max(n, m.N)
		switch {
		case p.URI.From > 0:
			if n == 0 || !p.URI.asks(n) {
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

// write writes the page around its body.
func (p *page) write(w io.Writer, body func(io.Writer) error) error {
	if p.JSON {
		return p.writeJSON(w, body)
	}
	return p.writeMarkdown(w, body)
}
