package web

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/trace"
	"github.com/agent-handoff/handoff/transcript"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/threads"
)

// How many of each kind the first page shows.
const (
	newestShown  = 20
	runningShown = 12
)

// activity is what the first page shows.
type activity struct {
	Running    []trace.ActiveSession
	MoreRun    bool // more sessions are running
	Threads    []trace.RunningThread
	Reading    bool // threads are being read
	Collisions []transcript.Collision
	Newest     []handoff.Artifact
	Stale      []handoff.Artifact
	Competing  []handoff.Artifact
	Hidden     int
}

// now shows what is going on.
func (s *Server) now(r *http.Request) (page, error) {
	ctx := r.Context()
	var a activity
	p := page{Name: "now", Title: "Now", Section: "/", Live: true, Poll: threadRest}
	list := func(f workspace.Filter) handoff.ArtifactPage {
		found, err := s.o.Source.Artifacts.List(ctx, workspace.ListOptions{Filter: f, Limit: newestShown})
		p.warn(err)
		return found
	}
	newest := list(workspace.Filter{})
	a.Newest, a.Hidden = newest.Artifacts, newest.HiddenCount
	a.Competing = list(workspace.Filter{Competing: true}).Artifacts
	a.Stale = list(workspace.Filter{Stale: true}).Artifacts
	threads, known := s.activeThreads(&p)
	a.Reading, a.Collisions = !known, threads.collisions
	running, err := s.o.Source.Activity.Activity(ctx, threads.list, runningShown)
	p.warn(err)
	a.Threads = running.Threads
	if a.MoreRun = len(running.Sessions) > runningShown ||
		len(running.Warnings) > 0; len(running.Sessions) > runningShown {
		running.Sessions = running.Sessions[:runningShown]
	}
	a.Running = running.Sessions
	p.Data = a
	return p, nil
}

// Limits of reading threads for the first page.
const (
	threadWait     = 20 * time.Millisecond
	threadRest     = 2 * time.Second
	collisionsFrom = "24h" // as those of the command line
	collisionsMost = 10
)

// activeThreads are the running threads of this repository, and the newest
// files that two of its threads changed at the same time.
type activeThreads struct {
	list       []trace.RunningThread
	collisions []transcript.Collision
	warnings   []string
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
			found, err := s.o.Source.Conversations.Collisions(ctx, threads.ListOptions{Since: collisionsFrom})
			slices.SortStableFunc(found.Collisions, func(x, y transcript.Collision) int {
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
