package web

import (
	"context"
	"net/http"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/workspace"
)

// How many of each kind the first page shows.
const (
	newestShown  = 20
	runningShown = 12
)

// activity is what the first page shows.
type activity struct {
	Running   []runningSession
	MoreRun   bool // more sessions are running
	Newest    []handoff.Artifact
	Stale     []handoff.Artifact
	Competing []handoff.Artifact
	Hidden    int
}

// A runningSession is a session that is running, with what it did last and what
// it is expected to leave.
type runningSession struct {
	workspace.SessionView
	Activity time.Time
	Newest   *handoff.Artifact
	Expects  []workspace.Expected
}

// now shows what is going on.
func (s *Server) now(r *http.Request) (page, error) {
	ctx, src := r.Context(), s.o.Source
	var a activity
	p := page{Name: "now", Title: "Now", Section: "/", Live: true}
	newest, err := src.Artifacts.List(ctx, workspace.ListOptions{Limit: newestShown})
	p.warn(err)
	a.Newest, a.Hidden = newest.Artifacts, newest.HiddenCount
	for _, art := range newest.Artifacts {
		if len(art.Competing) > 0 {
			a.Competing = append(a.Competing, art)
		}
	}
	stale, err := src.Artifacts.List(ctx, workspace.ListOptions{Filter: workspace.Filter{Stale: true}, Limit: newestShown})
	p.warn(err)
	a.Stale = stale.Artifacts
	running, err := src.Sessions.FindSessions(ctx, workspace.SessionFilter{Status: handoff.Running, IncludeRuns: true, Limit: runningShown})
	p.warn(err)
	for _, v := range running.Sessions {
		a.Running = append(a.Running, s.running(ctx, &p, v))
	}
	a.MoreRun = running.Cursor != ""
	p.Data = a
	return p, nil
}

// running returns what a running session does.
func (s *Server) running(ctx context.Context, p *page, v workspace.SessionView) runningSession {
	r := runningSession{SessionView: v, Activity: v.NewestAt}
	newest, err := s.o.Source.Records.Artifacts(ctx, handoff.ArtifactQuery{Producer: producerOf(v.Session), IncludeInactive: true, Limit: 1})
	p.warn(err)
	if len(newest.Artifacts) > 0 {
		r.Newest = &newest.Artifacts[0]
		if r.Newest.CreatedAt.After(r.Activity) {
			r.Activity = r.Newest.CreatedAt
		}
	}
	if len(v.Expected) > 0 {
		d, err := s.findSession(ctx, v.ID)
		p.warn(err)
		r.Expects = d.Expectations
	}
	return r
}

// warn adds an error to what the page shows.
func (p *page) warn(err error) {
	if err != nil {
		p.Warnings = append(p.Warnings, err.Error())
	}
}
