package web

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/preview"
	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/trace"
	"github.com/agent-handoff/handoff/workspace/threads"
)

// Limits of what the page of a thread shows.
const (
	messagesShown = 100
	threadBytes   = 1 << 20 // of text on one page
	callBytes     = 8 << 10 // of the input, and of the output, of a call
	inlineAgents  = 10      // subagents whose messages are on the page of their main agent
	inlineShown   = 20      // messages of such a subagent
	inlineBytes   = 64 << 10

	messageRest = time.Second // a page asks for new messages after this time
)

// errNoThreads is the error where threads are not served.
var errNoThreads = handoff.E("show thread", "", handoff.Unavailable,
	errors.New("threads are not shown beyond this machine"),
	handoff.Advice("restart the server so that it shows threads, if everybody who can connect may read them"))

// threadPage is what the page of a thread shows.
type threadPage struct {
	URI      thread.URI
	Thread   *thread.Thread // of the subagent, if the page is of one; nil without a transcript
	Agent    *thread.Agent  // the subagent, or nil
	Agents   []thread.Agent
	Messages []message
	Timeline timeline
	Prompt   string // the first line of the first message
	Turns    int
	Next     int                 // the number of the first message on the next page, 0 at the end
	Previous int                 // of the page before, 0 at the beginning
	Newest   int                 // of the page with the newest messages
	Answers  bool                // only prompts, and the last answer to each
	Cost     *trace.Usage        // with its subagents; nil if it is not known yet, or of a subagent
	Used     map[string]agentUse // what subagents used, by their URI, as far as it is known
	Beside   neighbors
	Commands []shellCommand
	Chain    thread.Chain
	Gone     bool   // its directory no longer exists
	List     string // the part of addresses that names the list from which the thread was opened
}

// State returns the state of the thread, or that of the subagent as its main agent's page shows it.
func (t threadPage) State() thread.State {
	if t.Agent != nil {
		return t.Agent.State
	}
	return t.Thread.State
}

// An agentUse is what a subagent used, without its own subagents.
type agentUse struct {
	trace.Usage
	Took     time.Duration // from its first record to its last one
	modified time.Time     // when its transcript was written
}

// A message is a message as it is shown.
type message struct {
	thread.Message
	HTML     template.HTML
	Thoughts template.HTML
	Calls    []call
	Answers  int // the message of the user that it follows, if it has no number
}

// Groups returns the calls, those that were made at once together.
func (m message) Groups() (list []callGroup) {
	var start, end time.Time
	for i, c := range m.Calls {
		last := len(list) - 1
		if last >= 0 && c.Time.Before(end) && !c.Time.Before(start) {
			list[last].Calls = m.Calls[i-len(list[last].Calls) : i+1]
		} else {
			list, last = append(list, callGroup{Calls: m.Calls[i : i+1]}), last+1
			start, end = c.Time, time.Time{}
		}
		if ended := c.Time.Add(c.Took()); c.Took() > 0 && ended.After(end) {
			end = ended
		}
		list[last].Took = max(0, end.Sub(start))
	}
	return list
}

// A callGroup is calls of which each started before the one before it had ended.
type callGroup struct {
	Calls []call
	Took  time.Duration // from the first start to the last end, 0 if that is not known
}

// A call is a tool call as it is shown.
type call struct {
	thread.Call
	In, Out         template.HTML
	InLeft, OutLeft int
	Agent           *thread.Agent // the subagent that it started or addressed
	Inline          []message     // its first messages, where it was started
}

// thread shows a thread: a range of its messages, and the rest as figures.
func (s *Server) thread(r *http.Request) (page, error) {
	ctx := r.Context()
	v, err := s.openThread(ctx, r.PathValue("uri"))
	if err != nil {
		return page{}, err
	}
	list, _ := url.ParseQuery(r.URL.Query().Get("list")) // what can be read of it
	t := threadPage{URI: v.URI, Thread: v.Thread, Agent: v.Agent, Agents: v.Agents, List: listQuery("?", list)}
	t.Timeline.list = t.List
	p := page{Name: "thread", Title: preview.Title(cmp.Or(v.Thread.Title, "Thread")), Section: "/threads"}
	costs := s.costOfThreads(&p)
	t.Beside = s.neighbors(v.URI.Main(), list, costs)
	p.Crumbs = []crumb{{"Threads", t.Beside.List}}
	if v.Agent != nil {
		p.Crumbs = append(p.Crumbs, crumb{cmp.Or(t.Beside.title(), p.Title), threadURL(v.URI.Main().String()) + t.List})
		p.Title, t.Thread, t.Agents = cmp.Or(v.Agent.Name, v.Agent.Role, "Subagent"), v.Agent.Thread, nil
	}
	if t.Thread != nil {
		from, _ := strconv.Atoi(r.URL.Query().Get("from"))
		t.Answers = r.URL.Query().Get("show") == "answers"
		if err := t.read(ctx, max(1, from)); err != nil {
			return page{}, err
		}
		if v.Agent == nil {
			p.Title = preview.Title(cmp.Or(v.Thread.Title, t.Prompt, p.Title))
			t.Cost = costs[v.URI.String()]
			t.Used = s.agentUses(v)
			t.Chain = s.chained(v.URI)
			if t.Gone = s.o.Source.Conversations.DirectoryGone(v.Thread); !t.Gone { // otherwise no program starts there
				t.Commands = resumeCommands(v.Thread, s.o.Source.Threads.Resume(v.Thread))
			}
		}
		p.Warnings = append(p.Warnings, t.Thread.Warnings...)
		p.Scripts = []string{"vendor/highlight.min.js", "preview.js"}
	}
	p.Data, p.Styles, p.Poll = t, []string{previewStyle, "thread.css"}, messageRest
	return p, nil
}

// openThread opens a thread of this repository, or a kept copy in a log that
// other machines use.
func (s *Server) openThread(ctx context.Context, name string) (*thread.View, error) {
	set := s.o.Source.Threads
	if set == nil {
		return nil, errNoThreads
	}
	u, err := thread.ParseURI(name)
	if err != nil {
		return nil, err
	}
	v, err := set.Open(ctx, u)
	if err != nil {
		return nil, err
	}
	if !s.o.Source.Conversations.Belongs(v.Thread) {
		return nil, handoff.E("show thread", u.String(), handoff.NotFound, errors.New("is not of this repository"),
			handoff.Suggest("print it", handoff.ActionThread, v.URI.String()))
	}
	return v, v.LoadAgents(ctx)
}

// resumeCommands returns the command that continues a thread, none without words.
func resumeCommands(t *thread.Thread, words []string) []shellCommand {
	if words == nil {
		return nil
	}
	return []shellCommand{{"continue it", textfmt.ResumeLine(t.Cwd, words), "c"}}
}

// agentsRead is how many subagents of a thread are read for what they used.
const agentsRead = 200

// agentUses returns what the subagents of a thread used, as it was last read.
func (s *Server) agentUses(v *thread.View) map[string]agentUse {
	if len(v.Agents) == 0 {
		return nil
	}
	name := v.URI.String()
	l := s.subagents.of(name)
	used, _, _ := l.get(s, reading[map[string]agentUse]{wait: threadWait, least: threadRest,
		read: func(ctx context.Context) (map[string]agentUse, error) {
			v, err := s.openThread(ctx, name) // the view of the page is not for two at once
			if err != nil {
				return nil, err
			}
			l.mu.Lock()
			known := l.value
			l.mu.Unlock()
			used := map[string]agentUse{}
			for _, a := range v.Agents[:min(agentsRead, len(v.Agents))] {
				if a.Thread == nil {
					continue
				}
				one := known[a.URI.String()]
				if !one.modified.Equal(a.Thread.Modified) || one.modified.IsZero() {
					u, err := s.o.Source.Conversations.UsageOf(ctx, a.Thread)
					if err != nil {
						continue // its page shows why
					}
					one = agentUse{u, max(0, a.Thread.Last.Sub(a.Thread.Started)), a.Thread.Modified}
				}
				used[a.URI.String()] = one
			}
			return used, nil
		}})
	return used
}

// chained returns which thread one continues, and which continue it, as they were last read.
func (s *Server) chained(u thread.URI) thread.Chain {
	name := u.String()
	found, _, _ := s.chains.of(name).get(s, reading[thread.Chain]{wait: threadWait, least: neighborRest,
		read: func(ctx context.Context) (thread.Chain, error) {
			v, err := s.openThread(ctx, name)
			if err != nil {
				return thread.Chain{}, err
			}
			return s.o.Source.Conversations.Chain(ctx, v)
		}})
	return found
}

// brief returns what another agent needs to know of a thread to continue its work.
func (s *Server) brief(r *http.Request) (download, error) {
	v, err := s.openThread(r.Context(), r.PathValue("uri"))
	if err != nil {
		return download{}, err
	}
	b, err := s.o.Source.Conversations.Brief(r.Context(), v, threads.DefaultTokens)
	return download{name: "brief.md", content: memory{bytes.NewReader([]byte(b.Text))}}, err
}

// messageText returns the text of a message, as it is in the transcript.
func (s *Server) messageText(r *http.Request) (download, error) {
	v, err := s.openThread(r.Context(), r.PathValue("uri"))
	if err != nil {
		return download{}, err
	}
	t := v.Thread
	want, _ := strconv.Atoi(r.PathValue("n"))
	if v.Agent != nil {
		t = v.Agent.Thread
	}
	err = handoff.E("show message", v.URI.String(), handoff.NotFound, errors.New("no such message"))
	if t == nil || want < 1 {
		return download{}, err
	}
	var text string
	failed := t.Read(r.Context(), thread.Texts, func(m thread.Message) error {
		if m.N < want {
			return nil
		}
		if m.N == want {
			text, err = m.Text, nil
		}
		return errEnough
	})
	if failed != nil && !errors.Is(failed, errEnough) {
		err = failed
	}
	return download{name: fmt.Sprintf("M%d.md", want), content: memory{bytes.NewReader([]byte(text))}}, err
}

// read reads the thread, and keeps the messages of one page.
func (t *threadPage) read(ctx context.Context, from int) error {
	part := threadPart{page: t, from: from, agents: map[string]*thread.Agent{}}
	for i := range t.Agents {
		part.agents[t.Agents[i].ID] = &t.Agents[i]
	}
	err := t.Thread.Read(ctx, thread.Tools, func(m thread.Message) error {
		if m.Role == thread.User && m.N > 0 {
			t.Turns++
			t.Prompt = cmp.Or(t.Prompt, firstLine(m.Text))
		}
		t.Timeline.add(m)
		part.add(m)
		return nil
	})
	part.finish()
	t.Timeline.finish(t.Thread, t.Agents)
	if err == nil {
		t.inline(ctx)
	}
	return err
}

// errEnough ends the reading of a subagent's messages.
var errEnough = errors.New("enough messages")

// inline adds the first messages of subagents to the calls that started them.
func (t *threadPage) inline(ctx context.Context) {
	shown := map[string]bool{}
	for i := range t.Messages {
		for j := range t.Messages[i].Calls {
			c := &t.Messages[i].Calls[j]
			if c.Agent == nil || c.Agent.Thread == nil || shown[c.Agent.ID] || len(shown) == inlineAgents {
				continue
			}
			shown[c.Agent.ID] = true
			size := 0
			// what can't be read is missing on its own page, too
			_ = c.Agent.Thread.Read(ctx, thread.Tools, func(m thread.Message) error {
				if len(c.Inline) == inlineShown || size > inlineBytes {
					return errEnough
				}
				for _, one := range showMessage(m, nil) {
					size += len(one.HTML)
					c.Inline = append(c.Inline, one)
				}
				return nil
			})
		}
	}
}

// showMessage returns a message as it is shown. What follows a message of the user before
// the next one is of the assistant: it is a part of its own.
func showMessage(m thread.Message, agents map[string]*thread.Agent) []message {
	if m.Role != thread.User || m.Thinking == "" && len(m.Tools) == 0 && m.Usage == nil {
		return []message{showPart(m, agents)}
	}
	prompt, answer := m, m
	prompt.Thinking, prompt.Model, prompt.Usage, prompt.Tools = "", "", nil, nil
	answer.N, answer.Role, answer.Text = 0, thread.Assistant, ""
	shown := showPart(answer, agents)
	shown.Answers = m.N
	return []message{showPart(prompt, agents), shown}
}

func showPart(m thread.Message, agents map[string]*thread.Agent) message {
	shown := message{Message: m, HTML: preview.Message(m.Text)}
	if m.Thinking != "" {
		shown.Thoughts, _ = preview.Plain(m.Thinking, callBytes)
	}
	for _, c := range m.Tools {
		one := call{Call: c, Agent: agents[c.Agent]}
		if c.Input != "" {
			one.In, one.InLeft = preview.Plain(indented(c.Input), callBytes)
		}
		if c.Output != "" {
			one.Out, one.OutLeft = preview.Plain(c.Output, callBytes)
		}
		shown.Calls = append(shown.Calls, one)
	}
	return shown
}

// Brief returns a part of the input of a call that says what it does.
func (c call) Brief() string { return firstLine(briefInput(c.Input)) }

// firstLine returns the beginning of the first line of a text.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if r := []rune(line); len(r) > 100 {
		line = string(r[:100]) + "…"
	}
	return line
}

// After returns the time of a message after the start of the thread.
func (t threadPage) After(m message) string {
	if m.Time.IsZero() || t.Thread.Started.IsZero() {
		return ""
	}
	return "+" + shortDuration(m.Time.Sub(t.Thread.Started))
}

// shortDuration returns a duration in its two largest units.
func shortDuration(d time.Duration) string {
	switch d = d.Round(time.Second); {
	case d < 0:
		return "0s"
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm %02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh %02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd %02dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
}
