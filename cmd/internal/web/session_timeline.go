package web

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/workspace/news"
)

// Limits of reading the commits that the timelines of sessions show.
const (
	commitDays  = 90
	commitsRead = 2000
	commitRest  = 10 * time.Second
	stageRuns   = 3 // pipeline runs whose attempts a timeline shows
)

// sessionTimeline returns when a session, its runs and threads worked, when its artifacts and
// stages of pipelines were recorded, and when somebody committed.
func (s *Server) sessionTimeline(ctx context.Context, v sessionPage) (l timeline) {
	if v.OpenedAt.IsZero() {
		return l
	}
	unit := time.Minute // as exact as the duration that the page shows; the page changes with it
	if s.o.Now().Sub(v.OpenedAt) < time.Hour {
		unit = time.Second
	}
	now := s.o.Now().Truncate(unit)
	end := func(t time.Time) time.Time {
		if t.IsZero() {
			return now
		}
		return t
	}
	add := func(name, url, title string, bars ...bar) {
		for i := range bars {
			if bars[i].Title == "" {
				bars[i].Title = title
			}
			if bars[i].End.Before(bars[i].Start) {
				bars[i].End = bars[i].Start
			}
		}
		if len(l.Rows) > timelineRows {
			l.Left++
		} else if len(bars) > 0 {
			l.Rows = append(l.Rows, barRow{Name: name, URL: url, Bars: bars})
		}
	}
	add("session", "", v.Status, bar{Start: v.OpenedAt, End: end(v.ClosedAt)})
	artifacts := v.artifacts()
	var published []bar
	for _, a := range artifacts {
		published = append(published, bar{Start: a.CreatedAt, Title: a.DisplayName(), URL: artifactURL(a.ID)})
	}
	add("artifacts", "", "", published...)
	add("stages", "", "", s.stageBars(ctx, artifacts)...)
	add("commits", "", "", s.commitBars(v.OpenedAt, end(v.ClosedAt))...)
	for _, r := range v.Runs {
		add(r.LongName, sessionURL(r.ID), r.Status, bar{Start: r.OpenedAt, End: end(r.ClosedAt)})
	}
	if v.Cost != nil {
		for _, t := range v.Cost.Tasks {
			if !t.StartedAt.IsZero() && t.Thread != "" {
				add(cmp.Or(t.Name, t.Agent, parsed(t.Thread).Provider), threadURL(t.Thread), t.Status,
					bar{Start: t.StartedAt, End: end(t.EndedAt)})
			}
		}
	}
	l.place()
	return l
}

// artifacts returns what a session published, as far as the page lists it.
func (v sessionPage) artifacts() (list []handoff.Artifact) {
	list = append(list, v.Published...)
	for _, o := range v.Outputs {
		if o.Artifact != nil {
			list = append(list, *o.Artifact)
		}
	}
	return list
}

// stageBars returns the attempts of stages of pipelines that are among artifacts.
func (s *Server) stageBars(ctx context.Context, artifacts []handoff.Artifact) (bars []bar) {
	ids, runs := map[string]bool{}, map[string]bool{}
	for _, a := range artifacts {
		ids[a.ID] = true
		if a.Namespace == "" || a.Namespace == a.Producer.Session || runs[a.Namespace] || len(runs) == stageRuns {
			continue
		}
		runs[a.Namespace] = true
	}
	for run := range runs {
		overview, _ := s.o.Source.Pipelines.Overview(ctx, run) // a namespace need not be a run
		for _, a := range overview.Attempts {
			if !ids[a.ID] {
				continue
			}
			title := fmt.Sprintf("%s: %s, attempt %d, %s", run, a.Stage, a.Attempt, a.Outcome)
			if a.Attempt == 0 {
				title = fmt.Sprintf("%s: %s, %s", run, a.Stage, strings.Join(a.Decisions, ", "))
			}
			bars = append(bars, bar{Start: a.At, URL: issueURL(run), Title: title})
		}
	}
	return bars
}

// commitBars returns the commits of the repository between two times.
func (s *Server) commitBars(from, to time.Time) (bars []bar) {
	if s.events == nil { // an export
		return nil
	}
	commits, _, _ := s.commits.get(s, reading[[]news.Commit]{wait: threadWait, least: commitRest,
		read: func(ctx context.Context) ([]news.Commit, error) {
			return s.o.Source.News.Commits(ctx, s.o.Now().AddDate(0, 0, -commitDays), commitsRead)
		}})
	for _, c := range commits {
		if !c.At.Before(from.Truncate(time.Second)) && !c.At.After(to) { // git notes seconds
			bars = append(bars, bar{Start: c.At, Title: fmt.Sprintf("%.10s %s", c.ID, c.Subject)})
		}
	}
	return bars
}

// A chain draws the sessions that a session builds on, at the left, and those that build on it.
type chain struct {
	Nodes []chainNode // the session of the page is the first
	Links []chainLink
	More  int // sessions that are not drawn
}

// A chainNode is a session in a chain.
type chainNode struct {
	X, Y              int
	Name, URL, Status string
}

// A chainLink leads from the right end of a node to the left end of another one.
type chainLink struct{ X1, Y1, X2, Y2 int }

// Sizes of the drawing of a chain.
const (
	chainWidth  = 250 // of a node
	chainHeight = 26
	chainStep   = 375 // from one column to the next
	chainRows   = 8
)

func chainOf(d session.Detail) (c chain) {
	columns := map[string][]session.Related{}
	for _, r := range d.Related {
		if len(columns[r.Link]) == chainRows {
			c.More++
			continue
		}
		columns[r.Link] = append(columns[r.Link], r)
	}
	if len(columns) == 0 {
		return c
	}
	rows := max(1, len(columns["from"]), len(columns["into"]))
	height := func(n, i int) int { return (rows-n)*(chainHeight+8)/2 + i*(chainHeight+8) }
	own := chainStep // the column of the session
	if len(columns["from"]) == 0 {
		own = 0
	}
	c.Nodes = []chainNode{{own, height(1, 0), d.LongName, "", d.Status}}
	for link, x := range map[string]int{"from": 0, "into": own + chainStep} {
		for i, r := range columns[link] {
			y := height(len(columns[link]), i)
			c.Nodes = append(c.Nodes, chainNode{x, y, cmp.Or(r.Name, r.ID), sessionURL(r.ID), cmp.Or(r.Status, "unknown")})
			of := chainLink{x + chainWidth, y + chainHeight/2, own, c.Nodes[0].Y + chainHeight/2}
			if link == "into" {
				of = chainLink{own + chainWidth, of.Y2, x, of.Y1}
			}
			c.Links = append(c.Links, of)
		}
	}
	return c
}

// Width returns the width of the drawing.
func (c chain) Width() (w int) {
	for _, n := range c.Nodes {
		w = max(w, n.X+chainWidth)
	}
	return w + 2
}

// Height returns the height of the drawing.
func (c chain) Height() (h int) {
	for _, n := range c.Nodes {
		h = max(h, n.Y+chainHeight)
	}
	return h + 2
}
