package progress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/fold"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/internal/pipeline/folder"
	"github.com/agent-handoff/handoff/internal/session/lifecycle"
	"github.com/agent-handoff/handoff/pipeline"
	"github.com/agent-handoff/handoff/session"
)

// harness is that of the work on stages: handoff itself reports it.
const harness = "handoff"

// Start records that the caller works on the next attempt of a stage, and returns the step as
// Next does, with the new work as the last one in Open. Put by the same caller records the
// inputs of the ticket and ends the work. The stage need not be the next one; a warning
// reports that.
//
// Kinds: those of Read, Invalid (the stage, an agent that is not its writer), Conflict
// (work with this ticket is open; not with again) and those of Log.Append.
func (r *Runs) Start(ctx context.Context, issue, name string, again bool) (pipeline.Step, error) {
	stage, err := r.Pipeline.Stage(name)
	if err != nil {
		return pipeline.Step{}, err
	}
	if agent := r.Producer.Agent; agent != "" && !r.Pipeline.IsAgent(stage.Writer, agent) {
		return pipeline.Step{}, handoff.E("start", issue+"/"+stage.Name, handoff.Invalid,
			fmt.Errorf("must be written by %s, not by %s", stage.Writer, agent),
			handoff.Suggest("see which agent acts next", handoff.ActionNext, issue))
	}
	if _, err := r.Read(ctx, issue); err != nil { // the lock would create the folder
		return pipeline.Step{}, err
	}
	var done pipeline.Step
	err = folder.Lock(ctx, r.Files, syscall.LOCK_EX, func(*os.Root) (err error) {
		done, err = r.start(ctx, issue, stage, again)
		return err
	})
	return done, err
}

// start is Start for a caller that has the lock.
func (r *Runs) start(ctx context.Context, issue string, stage *contract.Stage, again bool,
) (step pipeline.Step, err error) {
	s, err := r.Read(ctx, issue)
	if err != nil {
		return step, err
	}
	if step, err = r.next(ctx, s); err != nil {
		return step, err
	}
	if parallel := stepFor(step, stage.Name); step.Stage != stage.Name && parallel.Stage != "" {
		step = parallel
	} else if step.Stage != stage.Name {
		reason := step.Reason
		w := walk{p: r.Pipeline, s: &s}
		w.next()
		step = w.complete(w.write(stage, "it was started"))
		step.Warnings = []string{"this stage is not the next one: " + reason}
	}
	if err := r.addOpen(ctx, issue, &step); err != nil {
		return step, err
	}
	if len(step.Open) > 0 && !again {
		return step, handoff.E("start", issue+"/"+stage.Name, handoff.Conflict,
			errors.New("its work is open: "+pipeline.DescribeWork(step.Open[0])),
			handoff.Suggest("start it as well", handoff.ActionStartAgain, issue, stage.Name,
				cmp.Or(r.Producer.Agent, stage.Writer)))
	}
	attempts, _ := s.countAttempts(stage.Name, "")
	p, now := r.Producer, r.Now()
	id := fmt.Sprintf("%s/%s#%d-%.8s", issue, stage.Name, attempts+1,
		digestOf([]byte(fold.WriterOf(p)+now.Format(time.RFC3339Nano))))
	f := &handoff.WorkStarted{WorkID: id, ParentWorkID: issue, Kind: "task", Name: stage.Name, Agent: p.Agent,
		Model: p.Model, Thread: p.Thread, SessionID: r.Session, RunID: p.RunID, StartedAt: now, Process: r.Process,
		Ticket: step.Ticket}
	record, warnings, err := r.asReporter().Record(ctx, f)
	if err != nil {
		return step, err
	}
	work := handoff.Work{Harness: harness, ID: id, Status: handoff.Running}
	fold.ApplyWork(&work, record)
	step.Open, step.Warnings = append(step.Open, work), append(step.Warnings, warnings...)
	return step, nil
}

// asReporter returns the hub that records the work of the caller, also of one without an
// identity.
func (r *Runs) asReporter() *handoff.Hub {
	p := r.Producer
	if p.Harness = harness; p.Source == handoff.FromNone {
		p.Source = "" // with it, the harness would be unknown
	}
	return r.Hub.As(p)
}

// stepFor returns the step that can be taken at the same time as another one and is on a
// stage; without one, a step without a stage.
func stepFor(next pipeline.Step, stage string) pipeline.Step {
	for _, step := range next.Parallel {
		if step.Stage == stage {
			return step
		}
	}
	return pipeline.Step{}
}

// addOpen adds to a step, and to those that can be taken at the same time, the work that is
// open for it: that has its ticket, and was started less than lifecycle.StalledAfter ago by a
// process that may exist.
func (r *Runs) addOpen(ctx context.Context, issue string, step *pipeline.Step) error {
	if step.Ticket == "" && len(step.Parallel) == 0 {
		return nil
	}
	list, err := r.unended(ctx, issue)
	for _, w := range list {
		if w.Status != handoff.Running || r.Now().Sub(w.StartedAt) >= lifecycle.StalledAfter {
			continue
		}
		if w.Ticket == step.Ticket {
			step.Open = append(step.Open, w)
		}
		for i, other := range step.Parallel {
			if w.Ticket == other.Ticket {
				step.Parallel[i].Open = append(other.Open, w)
			}
		}
	}
	return err
}

// unended returns the work on the stages of an issue whose end is not recorded, by its start.
func (r *Runs) unended(ctx context.Context, issue string) ([]handoff.Work, error) {
	list, err := r.Hub.WorkUnder(ctx, harness, issue)
	list = slices.DeleteFunc(list, func(w handoff.Work) bool { return w.Ended != 0 || w.Ticket == "" })
	if len(list) > 0 {
		list = r.Conclude(ctx, list)
	}
	return list, err
}

// own returns the open work of the caller on a stage, the newest first. Of work in several
// threads of its session, that in its own thread counts, or else in one around or inside it.
func (r *Runs) own(ctx context.Context, issue string, stage *contract.Stage) ([]handoff.Work, error) {
	list, err := r.unended(ctx, issue)
	list = slices.DeleteFunc(list, func(w handoff.Work) bool { return w.Name != stage.Name || !r.did(w) })
	slices.Reverse(list)
	equal := func(a, b string) bool { return a == b }
	for _, fits := range []func(a, b string) bool{equal, related} {
		same := slices.DeleteFunc(slices.Clone(list), func(w handoff.Work) bool { return !fits(w.Thread, r.Producer.Thread) })
		if len(same) > 0 {
			return same, err
		}
	}
	return list, err
}

// related reports whether two threads are one, or one is a subagent of the other.
func related(a, b string) bool {
	return strings.HasPrefix(a+"/", b+"/") || strings.HasPrefix(b+"/", a+"/")
}

// did reports whether work is that of the caller. The first of run, session and thread that
// both have decides; without any, the agent, unless the process that started it is gone.
func (r *Runs) did(w handoff.Work) bool {
	p := r.Producer
	switch {
	case w.RunID != "" && p.RunID != "":
		return w.RunID == p.RunID
	case w.SessionID != "" && r.Session != "":
		return w.SessionID == r.Session
	case w.Thread != "" && p.Thread != "":
		return related(p.Thread, w.Thread)
	}
	return w.Agent != "" && w.Agent == p.Agent && w.Status != session.Failed
}

// startedWith returns what the open work of the caller was given, nil if there is none or the
// records contradict it.
func (r *Runs) startedWith(ctx context.Context, sub Submission, stage *contract.Stage,
	own []handoff.Work) (*made, error) {
	for _, w := range own {
		sub.Ticket = w.Ticket
		m, err := r.ticketed(ctx, sub, stage)
		if !errors.Is(err, handoff.Invalid) {
			return m, err
		}
	}
	return nil, nil
}

// end records that work of the caller ended. What fails is returned as warnings: the
// artifact is recorded.
func (r *Runs) end(ctx context.Context, own []handoff.Work, status string) (warnings []string) {
	for _, w := range own {
		f := &handoff.WorkEnded{WorkID: w.ID, EndedAt: r.Now(), Status: status}
		_, more, err := r.asReporter().Record(ctx, f)
		if warnings = append(warnings, more...); err != nil {
			warnings = append(warnings, err.Error())
		}
	}
	return warnings
}

// cancel records that the open work on an issue was cancelled: its run was archived, and the
// tickets of the next one may be the same. What fails is returned as warnings.
func (r *Runs) cancel(ctx context.Context, issue string) (warnings []string) {
	list, err := r.unended(ctx, issue)
	if err != nil {
		return []string{err.Error()}
	}
	list = slices.DeleteFunc(list, func(w handoff.Work) bool { return w.Status == session.Failed })
	return r.end(ctx, list, session.Cancelled)
}
