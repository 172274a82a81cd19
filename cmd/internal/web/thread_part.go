package web

import (
	"fmt"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/thread"
)

// A threadPart selects the messages of one page from those of a thread, in their order.
type threadPart struct {
	page    *threadPage
	from    int // the number of the first message
	agents  map[string]*thread.Agent
	number  int // of the last message
	size    int // of what the page shows
	earlier []int
	answer  thread.Message // the last one since a prompt, if the page has only answers
}

// add adds the next message of the thread.
func (p *threadPart) add(m thread.Message) {
	if !p.page.Answers {
		p.show(m)
		return
	}
	m.Thinking, m.Usage, m.Tools = "", nil, nil
	switch {
	case m.N == 0:
	case m.Role == thread.User:
		p.endTurn()
		p.show(m)
	case m.Role == thread.Assistant && m.Text != "":
		p.answer = m
	}
}

func (p *threadPart) endTurn() {
	if p.answer.N > 0 {
		p.show(p.answer)
	}
	p.answer = thread.Message{}
}

// show adds a message to the page, unless it is on another page.
func (p *threadPart) show(m thread.Message) {
	p.number = max(p.number, m.N)
	isFull := m.N >= p.from+messagesShown
	if p.page.Answers {
		isFull = len(p.page.Messages) == messagesShown
	}
	switch {
	case p.number < p.from:
		p.earlier = append(p.earlier, p.number)
	case p.page.Next > 0:
	case m.N > 0 && (isFull || p.size > threadBytes):
		p.page.Next = m.N
	case p.size <= 2*threadBytes:
		for _, shown := range showMessage(m, p.agents) {
			p.size += len(shown.HTML) + len(shown.Thoughts)
			for _, c := range shown.Calls {
				p.size += len(c.In) + len(c.Out)
			}
			p.page.Messages = append(p.page.Messages, shown)
		}
	}
}

// finish adds the last answer, and notes where the other pages start.
func (p *threadPart) finish() {
	p.endTurn()
	if p.from > 1 {
		p.page.Previous = max(1, p.from-messagesShown)
	}
	if p.page.Answers && len(p.earlier) > 0 {
		p.page.Previous = p.earlier[max(0, len(p.earlier)-messagesShown)]
	}
	p.page.Newest = max(1, p.number-messagesShown+1)
}

// At returns the address of the page that starts with a message.
func (t threadPage) At(from int) string { return t.link(t.Answers, from) }

// Show returns the address of the first page, with all messages or only prompts and answers.
func (t threadPage) Show(answers bool) string { return t.link(answers, 0) }

func (t threadPage) link(answers bool, from int) string {
	var parts []string
	if answers {
		parts = append(parts, "show=answers")
	}
	if from > 0 {
		parts = append(parts, fmt.Sprintf("from=%d", from))
	}
	if t.List != "" {
		parts = append(parts, strings.TrimPrefix(t.List, "?"))
	}
	return "?" + strings.Join(parts, "&")
}

// Ref returns the URI of a message.
func (t threadPage) Ref(m message) string {
	u := t.URI
	u.From, u.To = m.N, 0
	return u.String()
}

// Turn returns what the turn took that starts with a message, "" if that is not known.
func (t threadPage) Turn(m message) string {
	turn := t.Timeline.byPrompt[m.N]
	if m.N == 0 || turn.calls == 0 && turn.took < time.Second {
		return ""
	}
	return fmt.Sprintf("%s, %s", textfmt.Count(turn.calls, "call"), shortDuration(turn.took))
}
