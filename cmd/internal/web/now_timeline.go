package web

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/printable"
)

// How many agents and programs the timeline of the first page shows, and how much that ended.
const (
	workRows  = 12
	endedBars = 100
)

// timeline returns when sessions and threads worked in the time of the page, a row for each agent
// or program, the last active first. It starts with the first of them; if more ended than it shows,
// later.
func (a activity) timeline(now time.Time) (l timeline) {
	now = now.Truncate(time.Minute) // the page changes with it
	if l.Start, l.End = a.From(), now; l.Start.IsZero() || !l.Start.Before(l.End) {
		return timeline{} // the news are not read yet
	}
	first := now
	rows := map[string]*barRow{}
	last := map[string]time.Time{}
	add := func(name, title, url string, start, end time.Time) {
		if start.IsZero() || end.Before(l.Start) {
			return
		}
		if rows[name] == nil {
			rows[name] = &barRow{Name: printable.Line(name)}
		}
		b := bar{Start: later(start, l.Start), Title: printable.Line(title), URL: url}
		b.End, first = later(b.Start, earlier(end, now)), earlier(first, b.Start)
		rows[name].Bars, last[name] = append(rows[name].Bars, b), later(last[name], b.End)
	}
	if len(a.Done) > endedBars {
		l.Start = later(l.Start, a.Done[endedBars].Ended)
	}
	for _, d := range a.Done[:min(endedBars, len(a.Done))] {
		url := sessionURL(d.Session)
		if d.Session == "" {
			url = threadURL(d.Thread)
		}
		add(cmp.Or(d.Agent, d.Program, "unknown"), cmp.Or(d.Title, d.Session, d.Thread), url, d.Started, d.Ended)
	}
	for _, s := range a.Running {
		add(cmp.Or(s.Agent.Name, "unknown"), s.LongName, sessionURL(s.ID), s.OpenedAt, s.ActiveAt)
	}
	for _, t := range a.Threads {
		if t.Session == "" {
			add(parsed(t.URI).Provider, cmp.Or(t.Title, t.URI), threadURL(t.URI), t.Started, t.ActiveAt)
		}
	}
	for _, name := range slices.SortedFunc(maps.Keys(rows), func(x, y string) int {
		return cmp.Or(last[y].Compare(last[x]), cmp.Compare(x, y))
	}) {
		l.Rows = append(l.Rows, *rows[name])
	}
	l.Left = max(0, len(l.Rows)-workRows)
	if l.Rows = l.Rows[:len(l.Rows)-l.Left]; len(l.Rows) > 0 {
		l.Start = first
		l.place()
	}
	return l
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.After(b) {
		return b
	}
	return a
}
