package page

import (
	"io"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
)

// A Document is the page of a thread as JSON. Write encodes it without Messages, which
// it adds one by one.
type Document struct {
	URI  thread.URI `json:"uri"`
	Mode string     `json:"mode"`
	*thread.Thread
	thread.Chain
	Notices    []handoff.Notice `json:"notices,omitempty"`
	AgeSeconds *int64           `json:"statusAgeSeconds,omitempty"`
	Agents     []thread.Agent   `json:"subagents,omitzero"`
	Omitted    int              `json:"subagentsOmitted,omitempty"`
	Messages   []thread.Message `json:"messages,omitempty"`
}

// A SubagentDocument is the page of a subagent as JSON.
type SubagentDocument struct {
	URI        thread.URI       `json:"uri"`
	Mode       string           `json:"mode"`
	Main       *thread.Thread   `json:"mainThread,omitempty"`
	Agent      *thread.Agent    `json:"agent,omitempty"`
	Notices    []handoff.Notice `json:"notices,omitempty"`
	AgeSeconds *int64           `json:"statusAgeSeconds,omitempty"`
	Messages   []thread.Message `json:"messages,omitempty"`
}

func (p *page) writeJSON(w io.Writer, body func(io.Writer) error) error {
	var document any = Document{URI: p.URI, Mode: p.mode(), Thread: p.Thread, Chain: p.View.Chain,
		AgeSeconds: p.ageSeconds(), Notices: p.Thread.State.Notices(p.URI.Main().String()),
		Agents: p.agents, Omitted: p.omitted}
	if p.Agent != nil {
		document = SubagentDocument{URI: p.URI, Mode: p.mode(), Main: p.Thread, Agent: p.Agent, AgeSeconds: p.ageSeconds(),
			Notices: p.Agent.State.Notices(p.URI.Main().Child(p.URI.Agent).String())}
	}
	head, err := handoff.EncodeJSON(document)
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
