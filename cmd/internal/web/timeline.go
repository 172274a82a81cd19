package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/printable"
	"github.com/agent-handoff/handoff/thread"
)

// A timeline shows when a thread and its subagents worked, as bars.
type timeline struct {
	Start, End time.Time
	Rows       []barRow
	Left       int // subagents that are not shown

	list     string // the part of addresses that names the list from which the thread was opened
	prompt   int    // the message that starts the turn, 0 for what is before the first one
	calls    int    // of the turn
	turn     bar
	turns    []bar
	byPrompt map[int]turn
}

// A turn is what followed a message of the user.
type turn struct {
	calls int
	took  time.Duration
}

// A barRow is one line of a timeline.
type barRow struct {
	Name string
	URL  string // "" for the thread of the page
	Y    int
	Bars []bar
}

// A bar is work from Start to End. X and Width are in thousandths of the timeline.
type bar struct {
	Start, End time.Time
	X, Width   int
	Title      string
	URL        string
}

const (
	timelineRows = 40
	rowHeight    = 22
	maxTurns     = 2000
)

// add counts a message. A turn starts with a message of the user.
func (l *timeline) add(m thread.Message) {
	if m.Time.IsZero() || m.Inherited {
		return
	}
	if m.Role == thread.User && m.N > 0 {
		l.endTurn()
		l.turn = bar{Start: m.Time, End: m.Time, Title: fmt.Sprintf("turn from message %d", m.N),
			URL: fmt.Sprintf("?from=%d%s#M%d", m.N, strings.Replace(l.list, "?", "&", 1), m.N)}
		l.prompt = m.N
	} else if l.turn.Start.IsZero() {
		l.turn = bar{Start: m.Time, End: m.Time, Title: "first turn"}
	}
	l.calls += len(m.Tools)
	for _, t := range append([]time.Time{m.Time}, callTimes(m)...) {
		if t.After(l.turn.End) {
			l.turn.End = t
		}
	}
}

func callTimes(m thread.Message) (list []time.Time) {
	for _, c := range m.Tools {
		list = append(list, c.Time.Add(c.Took()))
	}
	return list
}

func (l *timeline) endTurn() {
	if !l.turn.Start.IsZero() && len(l.turns) < maxTurns {
		l.turns = append(l.turns, l.turn)
	}
	if l.prompt > 0 {
		if l.byPrompt == nil {
			l.byPrompt = map[int]turn{}
		}
		l.byPrompt[l.prompt] = turn{l.calls, l.turn.End.Sub(l.turn.Start)}
	}
	l.turn, l.prompt, l.calls = bar{}, 0, 0
}

// finish adds the subagents, and sets the positions.
func (l *timeline) finish(t *thread.Thread, agents []thread.Agent) {
	if l.turn.End.Before(t.Last) && !l.turn.Start.IsZero() {
		l.turn.End = t.Last
	}
	l.endTurn()
	if len(l.turns) == 0 {
		return
	}
	l.Rows = []barRow{{Name: "turns", Bars: l.turns}}
	for _, a := range agents {
		b := bar{Start: agentStart(a), End: a.Updated, Title: string(a.State.Status)}
		if b.Start.IsZero() {
			continue
		}
		if b.End.Before(b.Start) {
			b.End = b.Start
		}
		if len(l.Rows) > timelineRows {
			l.Left++
			continue
		}
		l.Rows = append(l.Rows, barRow{Name: agentName(a), URL: threadURL(a.URI.String()) + l.list, Bars: []bar{b}})
	}
	l.place()
}

// place sets the positions in the time from Start to End, or in that of the bars.
func (l *timeline) place() {
	if l.Start.IsZero() {
		l.Start, l.End = l.Rows[0].Bars[0].Start, l.Rows[0].Bars[0].End
	}
	for _, row := range l.Rows {
		for _, b := range row.Bars {
			if b.Start.Before(l.Start) {
				l.Start = b.Start
			}
			if b.End.After(l.End) {
				l.End = b.End
			}
		}
	}
	total := max(l.End.Sub(l.Start), time.Millisecond)
	scale := func(d time.Duration) int { return int(1000 * d.Seconds() / total.Seconds()) }
	for i := range l.Rows {
		l.Rows[i].Y = i * rowHeight
		for j := range l.Rows[i].Bars {
			b := &l.Rows[i].Bars[j]
			b.Width = max(3, scale(b.End.Sub(b.Start)))
			b.X = min(scale(b.Start.Sub(l.Start)), 1000-b.Width) // a short bar at the end is visible
			b.Title = fmt.Sprintf("%s, %s", b.Title, shortDuration(b.End.Sub(b.Start)))
		}
	}
}

// IsThin reports whether a bar has less than some pixels, which a line around it would cover.
func (b bar) IsThin() bool { return b.Width < 6 }

// Height returns the height of the rows.
func (l timeline) Height() int { return len(l.Rows) * rowHeight }

// Took returns the time from start to end.
func (l timeline) Took() string { return took(l.End.Sub(l.Start)) }

func agentStart(a thread.Agent) time.Time {
	if a.Thread != nil && !a.Thread.Started.IsZero() {
		return a.Thread.Started
	}
	for _, e := range a.Lifecycle {
		if !e.Time.IsZero() {
			return e.Time
		}
	}
	return time.Time{}
}

func agentName(a thread.Agent) string {
	for _, name := range []string{a.Name, a.Role} {
		if name != "" {
			return printable.Line(name)
		}
	}
	return printable.Line(shortID(a.ID))
}

// indented returns JSON over several lines, and other text as it is.
func indented(text string) string {
	var b bytes.Buffer
	if json.Indent(&b, []byte(text), "", "  ") != nil {
		return text
	}
	return b.String()
}

// briefInput returns the member of a call's input that says what it does, if it has
// one of the usual names.
func briefInput(input string) string {
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(input), &members) != nil {
		return input
	}
	for _, name := range []string{"command", "cmd", "description", "file_path", "path", "pattern", "query", "url",
		"prompt", "message"} {
		var text string
		if json.Unmarshal(members[name], &text) == nil && text != "" {
			return text
		}
		var words []string
		if json.Unmarshal(members[name], &words) == nil && len(words) > 0 {
			return words[len(words)-1]
		}
	}
	return input
}
