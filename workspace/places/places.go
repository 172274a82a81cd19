// Package places answers for all workspaces and repositories that the user has opened on
// this machine: their list is in the directory of the user's state.
package places

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/config"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/internal/trace/cost"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/trace"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/work"
)

// In reports whether a directory is in a workspace or a repository.
func In(dir string, o workspace.Options) bool {
	w, err := config.Find(dir, environment(o))
	return err != nil || w.IsPlace()
}

// environment returns Getenv, or an empty environment.
func environment(o workspace.Options) func(string) string {
	if o.Getenv == nil {
		return func(string) string { return "" }
	}
	return o.Getenv
}

// Opened returns the workspaces and repositories that the user has opened on this
// machine and that exist, in the order in which they were first opened.
func Opened(o workspace.Options) []string { return config.Opened(environment(o)) }

// Each calls do with the workspaces and repositories of Opened, and with that of a
// directory, one after the other, while each is open. It returns the warnings of do, each
// with its place. Errors are warnings, too, but for one of do of kind Invalid: a call that is
// wrong in one place is wrong in all. HANDOFF_WORKSPACE counts only for the directory.
//
// Kinds: Invalid; the error of ctx.
func Each(ctx context.Context, dir string, o workspace.Options,
	do func(place string, w *workspace.Workspace) ([]string, error)) (warnings []string, err error) {
	list := with(dir, o)
	o.Getenv = config.Without(environment(o), "HANDOFF_WORKSPACE")
	for _, place := range list {
		var more []string
		w, err := open(place, o)
		if err == nil {
			more, err = do(place, w)
			if err = cmp.Or(err, w.Close()); errors.Is(err, handoff.Invalid) {
				return warnings, err
			}
		}
		if ctx.Err() != nil {
			return warnings, ctx.Err()
		}
		if err != nil {
			more = append(more, err.Error())
		}
		for _, text := range more {
			warnings = append(warnings, place+": "+text)
		}
	}
	return warnings, nil
}

// open opens the workspace of a place, unless it is a part of another one now.
func open(place string, o workspace.Options) (*workspace.Workspace, error) {
	found, err := config.Find(place, o.Getenv)
	if err == nil && found.Home() != place {
		err = handoff.E("open workspace", place, handoff.NotFound, errors.New("it is in "+found.Home()+" now"))
	}
	if err != nil {
		return nil, err
	}
	return workspace.Open(place, o)
}

// with returns Opened, and the workspace or repository that a directory is in.
func with(dir string, o workspace.Options) []string {
	list := Opened(o)
	w, err := config.Find(dir, environment(o))
	if err == nil && w.IsPlace() && !slices.Contains(list, w.Home()) {
		list = append(list, w.Home())
	}
	return list
}

// A Spending is what was used in a workspace or repository.
type Spending struct {
	Dir string `json:"directory,omitempty"` // "" for threads in other directories
	work.CostReport
}

// A Costs is what was used in all places.
type Costs struct {
	Places   []Spending  `json:"places"` // the most expensive first
	Total    trace.Usage `json:"total"`
	Warnings []string    `json:"warnings,omitempty"`
}

// Cost reports the cost of each workspace and repository that Each visits, and of threads in
// other directories. A thread counts to the innermost place that its directory is in.
//
// Kinds: those of Cost of package work.
func Cost(ctx context.Context, dir string, o workspace.Options, set *thread.Set, c work.CostOptions) (
	r Costs, err error) {
	if c.Prices != "" && !filepath.IsAbs(c.Prices) {
		c.Prices = filepath.Join(dir, c.Prices)
	}
	r.Places = []Spending{}
	getenv := config.Without(environment(o), "HANDOFF_WORKSPACE")
	worktrees := func(place string) []string {
		found, err := config.Find(place, getenv)
		if err != nil {
			return nil
		}
		return found.Worktrees()
	}
	for _, place := range with(dir, o) {
		c.Places = append(c.Places, worktrees(place)...)
	}
	var known []string
	add := func(place string, w *workspace.Workspace) ([]string, error) {
		report, err := w.Work(set).Cost(ctx, c)
		if err != nil {
			return nil, err
		}
		known = append(known, worktrees(place)...)
		warnings := report.Warnings
		report.Warnings = nil
		r.Places = append(r.Places, Spending{place, report})
		return warnings, nil
	}
	if r.Warnings, err = Each(ctx, dir, o, add); err != nil {
		return r, err
	}
	w, err := workspace.Open(dir, o)
	if err != nil {
		return r, err
	}
	c.Places, c.Elsewhere = known, true
	more, err := add("", w)
	r.Warnings = append(r.Warnings, more...)
	for _, p := range r.Places {
		if u := p.Total.Amount; u.Completeness != thread.NoUsage || u.Reason != "" { // something was used
			cost.Add(&r.Total, u)
		}
	}
	order.Sort(r.Places, func(a, b Spending) int { return cost.Compare(b.Total.Amount, a.Total.Amount) })
	return r, cmp.Or(err, w.Close())
}
