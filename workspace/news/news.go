// Package news tells a person what needs them, what was done since they last looked, and
// what runs now, as package workspace returns it by Workspace.News.
package news

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/core"
	"github.com/agent-handoff/handoff/internal/session/lifecycle"
	"github.com/agent-handoff/handoff/internal/tool/git"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/internal/trace/activity"
	"github.com/agent-handoff/handoff/internal/trace/cost"
	"github.com/agent-handoff/handoff/internal/trace/provenance"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/trace"
	"github.com/agent-handoff/handoff/transcript"
	"github.com/agent-handoff/handoff/workspace/pipelines"
	"github.com/agent-handoff/handoff/workspace/store"
	"github.com/agent-handoff/handoff/workspace/threads"
	"github.com/agent-handoff/handoff/workspace/work"
)

// Options are the other subjects that news use, on behalf of the same caller.
type Options struct {
	Threads   threads.Collection // with the threads of no program, what is in the log only
	Work      work.Units
	Pipelines pipelines.Runs
	Store     store.Store
}

// A Source answers what is new in a workspace or repository.
type Source struct {
	c        *core.Core
	o        Options
	sessions *lifecycle.Sessions
	by       provenance.Attribution
	branch   string // of the worktree, "" for none
}

// New returns the news of a workspace. Workspace.News of package workspace calls it.
func New(c *core.Core, all *lifecycle.Sessions, by provenance.Attribution, o Options) Source {
	return Source{c, o, all, by, c.Dirs.Branch()}
}

// Activity returns the sessions of the workspace that were not closed, at most so many
// of one status, and the threads with the sessions that they belong to.
//
// A session is running while its process is, and stalled if it shows no activity
// for long.
func (s Source) Activity(ctx context.Context, threads []trace.RunningThread, most int) (trace.Activity, error) {
	ctx, err := s.c.Anonymous.CatchUpOnce(ctx)
	if err != nil {
		return trace.Activity{Sessions: []trace.ActiveSession{}, Threads: threads}, err
	}
	f := activity.Finder{Reader: s.c.Anonymous, Sessions: s.sessions, Observer: lifecycle.ThisObserver(), Now: s.c.Now()}
	return f.Find(ctx, threads, most)
}

// maxActive is the number of sessions of one status that Now describes.
const maxActive = 100

// Now is Activity with the running threads of this repository. A thread is as its
// transcript ends; those that were not active for a week are left out.
func (s Source) Now(ctx context.Context) (trace.Activity, error) {
	threads, warnings, err := s.o.Threads.Running(ctx)
	if err != nil {
		return trace.Activity{Sessions: []trace.ActiveSession{}, Threads: threads}, err
	}
	a, err := s.Activity(ctx, threads, maxActive)
	a.Warnings = append(warnings, a.Warnings...)
	return a, err
}

// ReportOptions select what a Report is about.
type ReportOptions struct {
	Since string // a time, see ParseTime of package workspace; "" for what this user has seen on this machine
}

// A Report is what needs a person, what was done in a time, and what runs.
type Report struct {
	Since time.Time `json:"sinceAt"`
	Until time.Time `json:"untilAt"`

	// First reports that the reader has seen nothing before: Since is FirstDays ago.
	First bool `json:"first,omitempty"`

	Needs   []Need         `json:"needs"`   // the worst first, whatever the time
	IsCut   bool           `json:"-"`       // there may be more Needs, about older artifacts
	Done    []Done         `json:"done"`    // ended in the time, the last first
	Running trace.Activity `json:"running"` // now

	Artifacts int          `json:"artifacts"`         // published in the time
	Replaced  int          `json:"replaced"`          // those of them that replace another
	Usage     *trace.Usage `json:"usage,omitempty"`   // of the requests in the time, also of what runs
	Commits   []Commit     `json:"commits,omitempty"` // of all branches in the time, at most 20, newest first

	// Collisions are the files that two threads changed in the time while both were active.
	Collisions []transcript.Collision `json:"collisions,omitempty"`

	Warnings []string `json:"warnings,omitempty"`

	seen  seen                   // what Mark stores
	made  map[origin]published   // in the time
	spent map[string]trace.Usage // in the time, by session or thread
}

// FirstDays is how far a report goes back for a reader that has seen nothing.
const FirstDays = 7

// A Commit is a commit of the repository.
type Commit struct {
	ID      string    `json:"id"`
	Subject string    `json:"subject"`
	At      time.Time `json:"committedAt"`
}

const maxCommits = 20

// Report returns what needs a person, what was done since a time, and what runs. What
// can't be read is a warning.
//
// Kinds: Invalid (the time, the reader), and those of reading the index.
func (s Source) Report(ctx context.Context, o ReportOptions) (r Report, err error) {
	if ctx, err = s.c.Anonymous.CatchUpOnce(ctx); err != nil {
		return r, err
	}
	r = Report{Until: s.c.Now(), Needs: []Need{}, Done: []Done{}, made: map[origin]published{}}
	log, err := s.o.Store.Status(ctx)
	if err != nil {
		return r, err
	}
	if r.seen, err = s.since(ctx, o, log, &r); err != nil {
		return r, err
	}
	list, err := s.found(ctx, r.Since)
	if err != nil {
		return r, err
	}
	work, err := s.recorded(ctx, &r, list)
	if err == nil {
		err = s.state(ctx, &r, log, list, work)
	}
	if err == nil {
		err = s.silent(ctx, &r, work)
	}
	for _, add := range []func(context.Context, *Report, []found) error{s.done, s.totals} {
		if err != nil {
			return r, err
		}
		err = add(ctx, &r, list)
	}
	return r, cmp.Or(err, ctx.Err())
}

// A Status is what needs a person, and what runs.
type Status struct {
	Needs []Need `json:"needs"` // the worst first
	IsCut bool   `json:"-"`     // as in a Report
	trace.Activity
}

// Status returns the part of a Report that does not depend on a time.
//
// Kinds: those of reading the index.
func (s Source) Status(ctx context.Context) (Status, error) {
	if err := s.c.Anonymous.Closed(); err != nil {
		return Status{}, err
	}
	work, err := s.c.Anonymous.WorkIn(ctx, "")
	if err != nil {
		return Status{}, err
	}
	return s.statusOf(ctx, work)
}

// statusOf returns the status with all work.
func (s Source) statusOf(ctx context.Context, work []handoff.Work) (Status, error) {
	log, err := s.o.Store.Status(ctx)
	if err != nil {
		return Status{}, err
	}
	now := s.c.Now()
	r := Report{Since: now, Until: now, Needs: []Need{}, made: map[origin]published{}}
	list, err := s.found(ctx, now)
	if err != nil {
		return Status{}, err
	}
	err = s.state(ctx, &r, log, list, work)
	r.Running.Warnings = r.Warnings
	return Status{r.Needs, r.IsCut, r.Running}, err
}

// state adds what needs a person and what runs, and the threads of sessions.
func (s Source) state(ctx context.Context, r *Report, log store.LogStatus, list []found,
	work []handoff.Work) (err error) {
	if r.Running, err = s.Now(ctx); err != nil {
		return err
	}
	r.Warnings, r.Running.Warnings = append(r.Warnings, r.Running.Warnings...), nil
	if err := s.addThreads(ctx, r, list, work); err != nil {
		return err
	}
	for _, add := range []func(context.Context, *Report, []found) error{
		s.artifactNeeds, s.sessionNeeds, s.threadNeeds, s.pipelineNeeds,
	} {
		if err := add(ctx, r, list); err != nil {
			return err
		}
	}
	s.queueNeeds(r, log)
	order.Sort(r.Needs, compareNeeds)
	return ctx.Err()
}

// recorded adds what was published and used in the time. It returns all work.
func (s Source) recorded(ctx context.Context, r *Report, list []found) ([]handoff.Work, error) {
	known := map[string]handoff.Session{}
	for _, f := range list {
		known[f.ID] = f.Session
	}
	spent, warnings, err := s.o.Work.Spent(ctx, r.Since, known)
	if err != nil {
		return nil, err
	}
	r.spent, r.Warnings = spent.By, append(r.Warnings, warnings...)
	for _, u := range spent.By {
		if r.Usage == nil {
			r.Usage = &trace.Usage{Completeness: thread.Exact}
		}
		cost.Add(r.Usage, u)
	}
	made, err := s.c.Anonymous.Productions(ctx, handoff.ProductionQuery{By: "session", Since: r.Since})
	if err != nil {
		return nil, err
	}
	mains, err := s.mains(ctx, nil, made, nil)
	if err != nil {
		return nil, err
	}
	for _, p := range made {
		r.Artifacts += p.Count
		r.Replaced += p.Revisions
		r.count(p.Count, origins(p.Session, p.RunID, mains(p.Thread))...)
	}
	unrecorded, err := s.by.Unrecorded(ctx, r.Since)
	for _, a := range unrecorded {
		r.count(1, origin{"thread", mainThread(a)})
	}
	return spent.Work, err
}

// Commits returns the newest commits of all branches since a time, none without a repository.
func (s Source) Commits(ctx context.Context, since time.Time, most int) (list []Commit, err error) {
	if err := s.c.Anonymous.Closed(); err != nil {
		return nil, err
	}
	repository, err := git.Open(ctx, s.c.Dirs.Root)
	if errors.Is(err, git.ErrNone) || errors.Is(err, git.ErrNotInstalled) {
		return nil, nil
	}
	var commits []git.Commit
	if err == nil {
		commits, err = repository.Since(ctx, since, most)
	}
	for _, c := range commits {
		list = append(list, Commit{c.ID, c.Subject, c.CommittedAt})
	}
	return list, err
}

// totals adds the collisions and the commits of the time.
func (s Source) totals(ctx context.Context, r *Report, _ []found) error {
	collisions, err := s.o.Threads.Collisions(ctx, threads.ListOptions{Since: r.Since.Format(time.RFC3339Nano)})
	if err != nil {
		return err
	}
	r.Collisions, r.Warnings = collisions.Collisions, append(r.Warnings, collisions.Warnings...)
	r.Commits, err = s.Commits(ctx, r.Since, maxCommits)
	if err != nil && ctx.Err() == nil {
		r.Warnings = append(r.Warnings, "the commits can't be read: "+err.Error())
	}
	return ctx.Err()
}
