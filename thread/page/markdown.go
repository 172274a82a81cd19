package page

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/internal/tool/printable"
	"github.com/agent-handoff/handoff/thread"
)

func (p *page) writeMarkdown(w io.Writer, body func(io.Writer) error) error {
	if _, err := io.WriteString(w, p.frontmatter()); err != nil || p.Head {
		return err
	}
	if p.List {
		_, err := w.Write(printable.Text([]byte(p.list())))
		return err
	}
	before, empty := "\n# Thread\n\n## Timeline\n\n", "_No user/assistant messages or compact events found._\n"
	if p.Agent != nil {
		before, empty = p.subagent(), "_No child thread messages found._\n"
	}
	if _, err := w.Write(printable.Text([]byte(before))); err != nil {
		return err
	}
	if err := body(w); err != nil {
		return err
	}
	if p.shown > 0 {
		return nil
	}
	_, err := io.WriteString(w, empty)
	return err
}

// heading is the heading of each role in a timeline.
var heading = map[thread.Role]string{thread.User: "User", thread.Assistant: "Assistant",
	thread.Compaction: "Context Compacted", thread.Note: "Note"}

// structural matches the headings of a page, with the spaces that Markdown allows. Inside
// a message they are escaped with a backslash, so that the text of an agent can't look
// like another message.
var structural = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`(?m)^( {0,3})(#{1,6}[ \t]+(?:(?:\d+\.|Call|Lifecycle|Agent Status|Thread Excerpt)[ \t]|(?:Thread|Timeline|Thinking)[ \t#]*$))`)
})

// message writes one entry of a timeline.
func (p *page) message(w io.Writer, m thread.Message) error {
	b := &p.buf
	b.Reset()
	level := "##"
	if p.Agent != nil {
		level = "###"
	}
	if m.N > 0 {
		fmt.Fprintf(b, "%s %d. %s\n\n", level, m.N, heading[m.Role])
	}
	if p.Usage {
		b.WriteString(details(m))
	}
	if text := strings.TrimSpace(m.Text); text != "" {
		if strings.Contains(text, "#") {
			text = structural().ReplaceAllString(text, `$1\$2`)
		}
		b.WriteString(text)
		b.WriteString("\n\n")
	}
	if m.Thinking != "" {
		b.WriteString(level + "# Thinking\n\n")
		fence(b, m.Thinking)
	}
	for _, c := range m.Tools {
		call(b, level, c)
	}
	_, err := w.Write(printable.Text(b.Bytes()))
	return err
}

// details returns a line with the time, model and usage of a message.
func details(m thread.Message) string {
	var parts []string
	if !m.Time.IsZero() {
		parts = append(parts, stamp(m.Time))
	}
	if m.Model != "" {
		parts = append(parts, m.Model)
	}
	if u := m.Usage; u != nil {
		parts = append(parts, fmt.Sprintf("input %d, cache read %d, cache write %d, output %d", u.Input, u.CacheRead,
			u.CacheWrite, u.Output))
	}
	if m.Inherited {
		parts = append(parts, "inherited from the original thread")
	}
	if parts == nil {
		return ""
	}
	return "_" + strings.Join(parts, " · ") + "_\n\n"
}

func call(b *bytes.Buffer, level string, c thread.Call) {
	fmt.Fprintf(b, "%s# Call %s", level, code(c.Name))
	switch {
	case c.Pending:
		b.WriteString(" (no output)")
	case c.Inferred:
		b.WriteString(" (inferred)")
	case c.Failed:
		b.WriteString(" (failed)")
	}
	b.WriteString("\n\n")
	fence(b, c.Input)
	fence(b, c.Output)
}

// fence writes s as a code block, with fences longer than any in s.
func fence(b *bytes.Buffer, s string) {
	s = strings.TrimRight(s, "\n")
	if s == "" {
		return
	}
	marks := backticks(s, 3)
	for _, part := range []string{marks, "\n", s, "\n", marks, "\n\n"} {
		b.WriteString(part)
	}
}

// backticks returns as many as no row in s has, at least n.
func backticks(s string, n int) string {
	row := 0
	for i := range len(s) {
		if row++; s[i] != '`' {
			row = 0
		}
		n = max(n, row+1)
	}
	return strings.Repeat("`", n)
}

// code writes s as inline code on one line.
func code(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	marks := backticks(s, 1)
	if len(marks) > 1 {
		return marks + " " + s + " " + marks
	}
	return marks + s + marks
}

// subagent returns the page of a subagent up to its messages.
func (p *page) subagent() string {
	var b strings.Builder
	a := p.Agent
	b.WriteString("\n# Subagent Thread\n\n")
	fmt.Fprintf(&b, "- Provider: %s\n", code(p.Thread.Provider))
	fmt.Fprintf(&b, "- Main Thread: %s\n", code(p.Thread.URI().String()))
	fmt.Fprintf(&b, "- Subagent Thread: %s\n", code(a.URI.String()))
	fmt.Fprintf(&b, "- Status: %s (%s)\n", code(string(a.State.Status)), code(string(a.State.Source)))
	b.WriteString("\n## Agent Status Summary\n\n")
	p.summary(&b, *a)
	b.WriteString("\n## Lifecycle (Parent Thread)\n\n")
	for _, e := range a.Lifecycle {
		event(&b, e, "")
	}
	if len(a.Lifecycle) == 0 {
		b.WriteString("_No lifecycle events found in parent thread._\n")
	}
	b.WriteString("\n## Thread Excerpt (Child Thread)\n\n")
	if a.Thread != nil && p.shown > 0 && p.shown < a.Thread.Messages {
		fmt.Fprintf(&b, "_Showing %d of %d messages._\n\n", p.shown, a.Thread.Messages)
	}
	return b.String()
}

// list returns the page that lists the subagents.
func (p *page) list() string {
	var b strings.Builder
	b.WriteString("\n# Subagents\n\n")
	fmt.Fprintf(&b, "- Provider: %s\n", code(p.Thread.Provider))
	fmt.Fprintf(&b, "- Main Thread: %s\n", code(p.Thread.URI().String()))
	b.WriteString("- Mode: `list`\n\n## Agent Status Summary\n\n")
	switch {
	case len(p.Agents) == 0:
		b.WriteString("_No subagents found for this thread._\n\n")
	case p.omitted > 0:
		fmt.Fprintf(&b, "_Showing %d of %d subagents._\n\n", len(p.agents), len(p.Agents))
	}
	for i, a := range p.agents {
		fmt.Fprintf(&b, "### %d. %s\n\n- Status: %s (%s)\n", i+1, code(a.URI.String()), code(string(a.State.Status)),
			code(string(a.State.Source)))
		p.summary(&b, a)
		b.WriteByte('\n')
	}
	b.WriteString("## Lifecycle (Parent Thread)\n\n")
	list := p.events()
	for _, e := range list {
		event(&b, e.Event, e.agent)
	}
	if len(list) == 0 {
		b.WriteString("_No lifecycle events found in parent thread._\n")
	}
	return b.String()
}

// An agentEvent is an event of one of several subagents.
type agentEvent struct {
	thread.Event
	agent string
	at    time.Time
}

// events returns the events of the subagents in the order of their times. One
// without a time follows the event before it of the same subagent.
func (p *page) events() (list []agentEvent) {
	for _, a := range p.agents {
		var at time.Time
		for _, e := range a.Lifecycle {
			if !e.Time.IsZero() {
				at = e.Time
			}
			list = append(list, agentEvent{e, a.ID, at})
		}
	}
	order.Sort(list, func(a, b agentEvent) int { return a.at.Compare(b.at) })
	return list
}

func (p *page) summary(b *strings.Builder, a thread.Agent) {
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(b, "- %s: %s\n", name, value)
		}
	}
	quoted := func(name, value string) {
		if value != "" {
			line(name, code(value))
		}
	}
	line("Status Evidence", a.State.Evidence)
	line("Waiting For", a.State.Waiting)
	quoted("Status Age", p.age(a.State.At))
	quoted("Name", a.Name)
	quoted("Role", a.Role)
	quoted("Relation", relation(a))
	for _, e := range a.Evidence {
		line("Evidence", e)
	}
	for _, c := range a.Conflicts {
		line("Conflict", c)
	}
	if a.Thread != nil {
		quoted("Child Path", a.Thread.Source)
	}
	quoted("Child Last Update", stamp(a.Updated))
	if p.Usage && a.Thread != nil && a.Thread.Loaded() {
		u := a.Thread.Usage
		line("Usage", fmt.Sprintf("input %d, cache read %d, cache write %d, output %d (%s)", u.Input, u.CacheRead,
			u.CacheWrite, u.Output, u.Completeness))
	}
}

func relation(a thread.Agent) string {
	if a.Validated {
		return "validated"
	}
	return "inferred"
}

func event(b *strings.Builder, e thread.Event, agent string) {
	b.WriteString("- ")
	if !e.Time.IsZero() {
		b.WriteString(code(stamp(e.Time)) + " ")
	}
	b.WriteString(code(e.Name))
	if agent != "" {
		b.WriteString(" " + code(agent))
	}
	if e.Detail != "" {
		b.WriteString(" " + strings.Join(strings.Fields(thread.Brief(e.Detail)), " "))
	}
	b.WriteByte('\n')
}
