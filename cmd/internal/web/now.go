package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/pipeline"
	"github.com/agent-handoff/handoff/trace"
	"github.com/agent-handoff/handoff/transcript"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/news"
	"github.com/agent-handoff/handoff/workspace/threads"
)

// How many of each kind the first page shows.
const (
	newestShown  = 20
	needsShown   = 30
	doneShown    = 30
	runningShown = 12
	lanesShown   = 40
)

// activity is what the first page shows.
type activity struct {
	newsReport
	Since   string // what the report was asked for: a time, or "" for what the reader has not seen
	Running []trace.ActiveSession
	MoreRun bool // more sessions are running
	Threads []runningThread
	Reading bool // threads, or the news, are being read

	Collisions []transcript.Collision
	Newest     []handoff.Artifact
	Hidden     int
	By         string // what the board is grouped by
	Board      []lane
	MoreLanes  int    // lanes that the board does not show
	Command    string // prints the same
	Timeline   timeline
	Busy       *busyChart // nil if nothing is known
}

// A runningThread is a thread with what it did last.
type runningThread struct {
	trace.RunningThread
	Call *call // its last tool call, nil if it is not known
}

// A newsReport has what needs a person, what was done, and where pipelines are, as they were last
// read.
type newsReport struct {
	news.Report
	Pipelines []pipeline.Progress
}

// now shows what needs a person, what is going on, and what was done since its reader looked.
func (s *Server) now(r *http.Request) (page, error) {
	ctx, q := r.Context(), r.URL.Query()
	a := activity{Since: q.Get("since"), By: cmp.Or(q.Get("board"), "agent")}
	p := page{Name: "now", Title: "Now", Section: "/", Live: true, Poll: threadRest,
		Styles: []string{"now.css", "thread.css"}}
	newest, err := s.o.Source.Artifacts.List(ctx, workspace.ListOptions{Limit: newestShown})
	p.warn(err)
	a.Newest, a.Hidden = newest.Artifacts, newest.HiddenCount
	at, _ := s.o.Source.Log.Position(ctx, "now")
	threads, known := s.activeThreads(&p)
	a.Collisions = threads.collisions
	running, active, err := s.activity(threads, at)
	p.warn(err)
	for _, t := range running.Threads {
		a.Threads = append(a.Threads, runningThread{t, threads.calls[t.URI].call})
	}
	a.MoreRun = len(running.Sessions) > runningShown || len(running.Warnings) > 0
	a.Running = running.Sessions[:min(runningShown, len(running.Sessions))]
	found, read, err := s.newsSince(a.Since, at)
	if errors.Is(err, handoff.Invalid) {
		return page{}, err
	}
	p.warn(err)
	for _, warning := range found.Warnings {
		if !slices.Contains(p.Warnings, warning) {
			p.Warnings = append(p.Warnings, warning)
		}
	}
	a.newsReport, a.Reading = found, !known || !active || !read
	board := found.Report
	board.Running = running
	lanes, err := board.Board(a.By)
	if err != nil {
		return page{}, err
	}
	a.MoreLanes = max(0, len(lanes)-lanesShown)
	a.Board = lanesOf(lanes[:len(lanes)-a.MoreLanes])
	a.Timeline, a.Busy = a.timeline(s.o.Now()), s.busy(&p)
	a.Command = cli.CommandLine(handoff.ActionNews)
	if a.Since != "" {
		a.Command = cli.CommandLine(handoff.ActionNewsSince, a.Since)
	}
	p.Data = a
	return p, nil
}

// activity returns the open sessions and the running threads, as they were last read. A record
// and a change of the threads are shown at once.
func (s *Server) activity(threads activeThreads, at handoff.Seq) (trace.Activity, bool, error) {
	return s.running.get(s, reading[trace.Activity]{wait: activityWait, least: threadRest,
		of: int64(at) + s.threads.version(), read: func(ctx context.Context) (trace.Activity, error) {
			return s.o.Source.News.Activity(ctx, threads.list, runningShown)
		}})
}

// newsSince returns the news since a time as they were last read. Nothing is noted as seen.
func (s *Server) newsSince(since string, at handoff.Seq) (newsReport, bool, error) {
	return s.news.of(since).get(s, reading[newsReport]{wait: threadWait, least: newsRest, of: int64(at),
		read: func(ctx context.Context) (n newsReport, err error) {
			r, err := s.o.Source.News.Report(ctx, news.ReportOptions{Since: since})
			if err != nil {
				return n, err
			}
			// without what is of the time of the report, so that pages are replaced only for news
			n.Report = news.Report{Since: r.Since, First: r.First, Needs: r.Needs, IsCut: r.IsCut, Done: r.Done,
				Artifacts: r.Artifacts, Replaced: r.Replaced, Commits: r.Commits, Warnings: r.Warnings}
			if r.First {
				n.Since = r.Since.Truncate(time.Hour)
			}
			if s.o.Source.Threads != nil {
				n.Usage = r.Usage
			}
			var warnings []string
			n.Pipelines, warnings, err = s.o.Source.Progress(ctx)
			n.Warnings = append(n.Warnings, warnings...)
			return n, err
		}})
}

// From is the time that the news are about.
func (a activity) From() time.Time { return a.newsReport.Report.Since }

// Groups are what the board can be grouped by.
func (a activity) Groups() []string { return []string{"agent", "task", "session"} }

// ShownNeeds returns the worst of Needs, and MoreNeeds how many there are besides.
func (a activity) ShownNeeds() []news.Need { return a.Needs[:min(needsShown, len(a.Needs))] }

// MoreNeeds is described at ShownNeeds.
func (a activity) MoreNeeds() int { return len(a.Needs) - len(a.ShownNeeds()) }

// ShownDone returns the last of Done, and MoreDone how many there are besides.
func (a activity) ShownDone() []news.Done { return a.Done[:min(doneShown, len(a.Done))] }

// MoreDone is described at ShownDone.
func (a activity) MoreDone() int { return len(a.Done) - len(a.ShownDone()) }

// IsNew reports whether something happened after the reader last looked.
func (a activity) IsNew(t time.Time) bool {
	return !a.First && !t.IsZero() && !t.Before(a.From())
}

// A lane is a row of the board, with as many cards of each kind as it shows.
type lane struct {
	news.Lane
	Columns []column
}

// A column is a cell of the board.
type column struct {
	Name  string
	Cards []news.Card
	More  int
}

// cardsShown is how many cards a cell of the board shows.
const cardsShown = 3

func lanesOf(lanes []news.Lane) (list []lane) {
	for _, l := range lanes {
		one := lane{Lane: l}
		for _, c := range []column{{Name: "Waiting", Cards: l.Waiting}, {Name: "Running", Cards: l.Running},
			{Name: "Review", Cards: l.Review}, {Name: "Done", Cards: l.Done}} {
			c.More = max(0, len(c.Cards)-cardsShown)
			c.Cards = c.Cards[:len(c.Cards)-c.More]
			one.Columns = append(one.Columns, c)
		}
		list = append(list, one)
	}
	return list
}

// Limits of reading threads for the first page.
const (
	threadWait     = 20 * time.Millisecond
	activityWait   = time.Second
	threadRest     = 2 * time.Second
	newsRest       = 10 * time.Second // what needs a person can arise without a record: sessions become silent
	collisionsFrom = "24h"            // as those of the command line
	collisionsMost = 10
)

// activeThreads are the running threads of this repository, and the newest
// files that two of its threads changed at the same time.
type activeThreads struct {
	list       []trace.RunningThread
	collisions []transcript.Collision
	calls      map[string]lastCall // by the URI of a running thread
	warnings   []string
}

// A lastCall is the last tool call of a thread that was active at a time.
type lastCall struct {
	at   time.Time
	call *call
}

// lastCalls returns the last tool calls of threads. Only what has changed is read again.
func (s *Server) lastCalls(ctx context.Context, list []trace.RunningThread) map[string]lastCall {
	s.threads.mu.Lock()
	known := s.threads.value.calls
	s.threads.mu.Unlock()
	calls := map[string]lastCall{}
	for _, t := range list[:min(runningShown, len(list))] {
		c := known[t.URI]
		if !c.at.Equal(t.ActiveAt) {
			c = lastCall{at: t.ActiveAt}
			if last, err := s.o.Source.Conversations.LastCall(ctx, t.URI); err == nil && last != nil {
				c.call = &call{Call: *last}
			}
		}
		calls[t.URI] = c
	}
	return calls
}

// activeThreads returns the threads as they were last read; known is false if
// they have not been read yet.
func (s *Server) activeThreads(p *page) (list activeThreads, known bool) {
	if s.o.Source.Threads == nil {
		return list, true
	}
	list, known, err := s.threads.get(s, reading[activeThreads]{wait: threadWait, least: threadRest,
		read: func(ctx context.Context) (activeThreads, error) {
			var a activeThreads
			var err error
			if a.list, a.warnings, err = s.o.Source.Conversations.Running(ctx); err != nil {
				return a, err
			}
			a.calls = s.lastCalls(ctx, a.list)
			found, err := s.o.Source.Conversations.Collisions(ctx, threads.ListOptions{Since: collisionsFrom})
			order.Sort(found.Collisions, func(x, y transcript.Collision) int {
				return y.Second.At.Compare(x.Second.At)
			})
			a.collisions = found.Collisions[:min(collisionsMost, len(found.Collisions))]
			return a, err
		}})
	p.warn(err)
	p.Warnings = append(p.Warnings, list.warnings...)
	return list, known
}

// warn adds an error to what the page shows.
func (p *page) warn(err error) {
	if err != nil {
		p.Warnings = append(p.Warnings, err.Error())
	}
}
