package web

import (
	"net/http"

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
	Running   []workspace.SessionView
	Newest    []handoff.Artifact
	Stale     []handoff.Artifact
	Competing []handoff.Artifact
	Hidden    int
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
	a.Running = running.Sessions
	p.Data = a
	return p, nil
}

// warn adds an error to what the page shows.
func (p *page) warn(err error) {
	if err != nil {
		p.Warnings = append(p.Warnings, err.Error())
	}
}
