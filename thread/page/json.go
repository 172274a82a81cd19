package page

import (
	"io"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
)

// jsonHead is a page as JSON. The messages follow as its last member.
type jsonHead struct {
	URI            thread.URI     `json:"uri"`
	Mode           string         `json:"mode"`
	*thread.Thread                // nil for a subagent
	Main           *thread.Thread `json:"mainThread,omitempty"`
	Agent          *thread.Agent  `json:"agent,omitempty"`
	AgeSeconds     *int64         `json:"statusAgeSeconds,omitempty"`
	Agents         []thread.Agent `json:"subagents,omitzero"`
	Omitted        int            `json:"subagentsOmitted,omitempty"`
}

func (p *page) writeJSON(w io.Writer, body func(io.Writer) error) error {
	h := jsonHead{URI: p.URI, Mode: p.mode(), AgeSeconds: p.ageSeconds()}
	if p.Agent != nil {
		h.Main, h.Agent = p.Thread, p.Agent
	} else {
		h.Thread, h.Agents, h.Omitted = p.Thread, p.agents, p.omitted
	}
	head, err := handoff.EncodeJSON(h)
	if err != nil {
		return err
	}
	if body == nil {
		_, err = w.Write(append(head, '\n'))
		return err
	}
	if _, err = w.Write(append(head[:len(head)-1], `,"messages":[`...)); err != nil {
		return err
	}
	p.shown = 0
	if err := body(w); err != nil {
		return err
	}
	_, err = io.WriteString(w, "]}\n")
	return err
}

func (p *page) jsonMessage(w io.Writer, m thread.Message) error {
	b, err := handoff.EncodeJSON(m)
	if err != nil {
		return err
	}
	p.buf.Reset()
	if p.shown > 1 {
		p.buf.WriteString(",\n")
	}
	p.buf.Write(b)
	_, err = w.Write(p.buf.Bytes())
	return err
}

func (p *page) ageSeconds() *int64 {
	at := p.state().At
	if p.Now.IsZero() || at.IsZero() {
		return nil
	}
	n := int64(p.Now.Sub(at).Seconds())
	return &n
}
