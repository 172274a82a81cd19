// Package work has the operations on the work of agents, and on what it used and
// cost, which Workspace.Work of package workspace returns.
package work

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/core"
	"github.com/agent-handoff/handoff/internal/session/lifecycle"
	"github.com/agent-handoff/handoff/internal/trace/cost"
	"github.com/agent-handoff/handoff/internal/trace/outcome"
	"github.com/agent-handoff/handoff/internal/trace/provenance"
	"github.com/agent-handoff/handoff/internal/transcript/keep"
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/trace"
	"github.com/agent-handoff/handoff/workspace/sessions"
	"github.com/agent-handoff/handoff/workspace/threads"
)

// Units are the units of work of a workspace, as its caller uses them, with the
// threads in which they were done.
type Units struct {
	c       *core.Core
	known   *lifecycle.Sessions
	all     keep.Transcripts // whose set is nil to record work
	threads threads.Collection
	names   Names
}

// Names know what a name is of.
type Names interface {
	// Named returns the zero value for nothing.
	Named(ctx context.Context, name string) (Meaning, error)
}

// A Meaning is what a name is of.
type Meaning struct {
	What string       // in words, "" for nothing
	By   string       // the group of costs whose rows it has, "" for none
	Keys []string     // of those rows
	Show handoff.Hint // how to show it
}

// New returns the units of work of a workspace. Workspace.Work of package workspace calls it.
func New(c *core.Core, s *lifecycle.Sessions, all keep.Transcripts, t threads.Collection, n Names) Units {
	return Units{c, s, all, t, n}
}

// attribution finds who published artifacts.
func (u Units) attribution() provenance.Attribution { return provenance.Attribution{Threads: u.all} }

// conclude returns work with the status of what has no end.
func (u Units) conclude(ctx context.Context, work []handoff.Work) []handoff.Work {
	return outcome.Conclude(ctx, u.known, u.all.Set, u.c.Now(), work)
}

// A Unit is a unit of work to record: a prompt, a task, a skill or a tool call of a
// harness. What is empty is taken from the caller.
type Unit struct {
	ID     string // that the harness gave it; required
	Parent string // ID of the work that it is part of
	Kind   string // one of Kinds
	Name   string
	Thread string // URI of its thread
}

// An End is how a unit of work ended.
type End struct {
	ID     string
	Status string         // completed, failed or cancelled; "" is completed
	Usage  *handoff.Usage // without that of its children; nil if the harness does not report it
}

// Kinds returns the kinds of work.
func Kinds() []string { return []string{"session", "prompt", "task", "skill", "tool"} }

// Start records that the caller's harness started a unit of work. A start may
// be recorded again, and after the end.
//
// Kinds: Invalid, and those of Log.Append.
func (u Units) Start(ctx context.Context, unit Unit) (Change, error) {
	if err := u.c.Hub.Closed(); err != nil {
		return Change{}, err
	}
	p := u.c.Producer
	switch {
	case unit.ID == "":
		return Change{}, handoff.E("start work", `""`, handoff.Invalid, errors.New("has no ID"),
			handoff.Advice("name the ID that the harness gave it"))
	case unit.Kind != "" && !slices.Contains(Kinds(), unit.Kind):
		return Change{}, handoff.E("start work", unit.Kind, handoff.Invalid, errors.New("unknown kind"),
			handoff.Advice("the kinds are "+strings.Join(Kinds(), ", ")))
	}
	f := &handoff.WorkStarted{WorkID: unit.ID, ParentWorkID: unit.Parent, Kind: unit.Kind, Name: unit.Name, Agent: p.Agent,
		Model:  p.Model,
		Thread: p.Thread, SessionID: u.c.OwnSession(), RunID: p.RunID, StartedAt: u.c.Now()}
	if unit.Thread != "" {
		uri, err := thread.ParseURI(unit.Thread)
		if err != nil {
			return Change{}, err
		}
		f.Thread = uri.String()
	}
	return u.record(ctx, unit.ID, f)
}

// End records that a unit of work of the caller's harness ended. The end may be
// recorded before the start, and again with usage that was not known before.
//
// Kinds: Invalid, and those of Log.Append.
func (u Units) End(ctx context.Context, end End) (Change, error) {
	if err := u.c.Hub.Closed(); err != nil {
		return Change{}, err
	}
	switch {
	case end.ID == "":
		return Change{}, handoff.E("end work", `""`, handoff.Invalid, errors.New("has no ID"),
			handoff.Advice("name the ID that the harness gave it"))
	case end.Status == "":
		end.Status = session.Completed
	case !slices.Contains([]string{session.Completed, session.Failed, session.Cancelled}, end.Status):
		return Change{}, handoff.E("end work", end.Status, handoff.Invalid, errors.New("unknown status"),
			handoff.Advice("the statuses are completed, failed and cancelled"))
	}
	f := &handoff.WorkEnded{WorkID: end.ID, EndedAt: u.c.Now(), IsError: end.Status == session.Failed, Status: end.Status,
		Usage: end.Usage}
	if used := end.Usage; used != nil {
		f.UsageSource = handoff.UsageFromHarness
		if err := cost.CheckUsage(used); err != nil {
			return Change{}, handoff.E("end work", end.ID, handoff.Invalid, errors.New(err.Error()),
				handoff.Advice("leave out what is not known"))
		}
	}
	return u.record(ctx, end.ID, f)
}

// A Tree has the work that no other recorded work contains, by start.
type Tree struct {
	Work []*trace.Node `json:"work"`
}

// Tree returns the work of a session or run, or of the workspace if it is "",
// with the usage that harnesses reported. Each unit is counted once, at itself and
// at everything that contains it.
//
// Kinds: those of ResolveSession.
func (u Units) Tree(ctx context.Context, session string) (Tree, error) {
	if session != "" {
		id, err := sessions.New(u.c, u.known).Resolve(ctx, session)
		if err != nil {
			return Tree{}, err
		}
		session = id
	}
	work, err := u.c.Hub.WorkIn(ctx, session)
	if err != nil {
		return Tree{}, err
	}
	prices, err := cost.OpenPrices(u.c.Prices())
	if err != nil {
		return Tree{}, err
	}
	roots := cost.Rollup(u.conclude(ctx, work), func(unit handoff.Work) trace.Usage { return cost.OfWork(unit, prices) })
	return Tree{append([]*trace.Node{}, roots...)}, nil
}

// A Change is the result of recording the start or the end of work: the work as
// all records together describe it.
type Change struct {
	handoff.Work
	Warnings []string `json:"warnings,omitempty"`
}

func (u Units) record(ctx context.Context, id string, f handoff.Fact) (Change, error) {
	r, warnings, err := u.c.Hub.Record(ctx, f)
	if err != nil {
		return Change{}, err
	}
	view, err := u.c.Hub.Work(ctx, r.Producer.Harness, id)
	if err != nil { // the record is stored, and the index is behind
		warnings, view.ID = append(warnings, err.Error()), id
	}
	return Change{view, append(warnings, u.c.Finish(ctx, "")...)}, nil
}

// Use records that the caller's work read an artifact, at most once. Outside a
// run and a session nothing is recorded. Call it after the answer is out: use is
// recorded on a best-effort basis.
func (u Units) Use(ctx context.Context, a handoff.Artifact) error { return u.c.Hub.Use(ctx, a) }
