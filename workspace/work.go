package workspace

import (
	"context"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/cost"
	"github.com/agent-handoff/handoff/internal/price"
	"github.com/agent-handoff/handoff/thread"
)

// Work is a unit of work to record: a prompt, a task, a skill or a tool call of a
// harness. What is empty is taken from the caller.
type Work struct {
	ID     string // that the harness gave it; required
	Parent string // ID of the work that it is part of
	Kind   string // one of WorkKinds
	Name   string
	Thread string // URI of its conversation
}

// A WorkEnd is how a unit of work ended.
type WorkEnd struct {
	ID     string
	Status string         // one of SessionStatuses with which a session is closed; "" is completed
	Usage  *handoff.Usage // without that of its children; nil if the harness does not report it
}

// WorkKinds returns the kinds of work.
func WorkKinds() []string { return []string{"session", "prompt", "task", "skill", "tool"} }

// StartWork records that the caller's harness started a unit of work. A start may
// be recorded again, and after the end.
//
// Kinds: Invalid, and those of Log.Append.
func (w *Workspace) StartWork(ctx context.Context, work Work) (WorkChange, error) {
	if err := w.hub.Closed(); err != nil {
		return WorkChange{}, err
	}
	p := w.caller.Producer
	switch {
	case work.ID == "":
		return WorkChange{}, invalid("start work", `""`, "has no ID", "name the ID that the harness gave it")
	case work.Kind != "" && !slices.Contains(WorkKinds(), work.Kind):
		return WorkChange{}, invalid("start work", work.Kind, "unknown kind", "the kinds are "+strings.Join(WorkKinds(), ", "))
	}
	f := &handoff.WorkStarted{WorkID: work.ID, ParentWorkID: work.Parent, Kind: work.Kind, Name: work.Name, Agent: p.Agent, Model: p.Model,
		Thread: p.Thread, SessionID: w.ownSession(), RunID: p.RunID, StartedAt: w.now()}
	if work.Thread != "" {
		u, err := thread.ParseURI(work.Thread)
		if err != nil {
			return WorkChange{}, err
		}
		f.Thread = u.String()
	}
	return w.recordWork(ctx, work.ID, f)
}

// EndWork records that a unit of work of the caller's harness ended. The end may be
// recorded before the start, and again with usage that was not known before.
//
// Kinds: Invalid, and those of Log.Append.
func (w *Workspace) EndWork(ctx context.Context, end WorkEnd) (WorkChange, error) {
	if err := w.hub.Closed(); err != nil {
		return WorkChange{}, err
	}
	switch {
	case end.ID == "":
		return WorkChange{}, invalid("end work", `""`, "has no ID", "name the ID that the harness gave it")
	case end.Status == "":
		end.Status = Completed
	case !slices.Contains([]string{Completed, Failed, Cancelled}, end.Status):
		return WorkChange{}, invalid("end work", end.Status, "unknown status", "the statuses are completed, failed and cancelled")
	}
	f := &handoff.WorkEnded{WorkID: end.ID, EndedAt: w.now(), IsError: end.Status == Failed, Status: end.Status, Usage: end.Usage}
	if u := end.Usage; u != nil {
		f.UsageSource = handoff.UsageFromHarness
		if err := cost.CheckUsage(u); err != nil {
			return WorkChange{}, invalid("end work", end.ID, err.Error(), "leave out what is not known")
		}
	}
	return w.recordWork(ctx, end.ID, f)
}

// A WorkNode is a unit of work with its children, and the usage that was reported
// for it alone and for all of them.
type WorkNode = cost.Node

// A WorkTree has the work that no other recorded work contains, by start.
type WorkTree struct {
	Work []*WorkNode `json:"work"`
}

// WorkTree returns the work of a session or run, or of the workspace if it is "",
// with the usage that harnesses reported. Each unit is counted once, at itself and
// at everything that contains it.
//
// Kinds: those of ResolveSession.
func (w *Workspace) WorkTree(ctx context.Context, session string) (WorkTree, error) {
	if session != "" {
		id, err := w.ResolveSession(ctx, session)
		if err != nil {
			return WorkTree{}, err
		}
		session = id
	}
	work, err := w.hub.WorkIn(ctx, session)
	if err != nil {
		return WorkTree{}, err
	}
	prices := cost.NewPricer(price.Embedded())
	roots := cost.Rollup(work, func(unit handoff.Work) cost.Amount { return cost.OfWork(unit, prices) })
	return WorkTree{append([]*WorkNode{}, roots...)}, nil
}

// A WorkChange is the result of recording the start or the end of work: the work as
// all records together describe it.
type WorkChange struct {
	handoff.Work
	Warnings []string `json:"warnings,omitempty"`
}

func (w *Workspace) recordWork(ctx context.Context, id string, f handoff.Fact) (WorkChange, error) {
	r, warnings, err := w.as.Record(ctx, f)
	if err != nil {
		return WorkChange{}, err
	}
	view, err := w.hub.Work(ctx, r.Producer.Harness, id)
	if err != nil { // the record is stored, and the index is behind
		warnings, view.ID = append(warnings, err.Error()), id
	}
	return WorkChange{view, append(warnings, w.finish(ctx, "")...)}, nil
}
