package progress

import (
	"context"
	"errors"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/pipeline"
)

// Stages describes the stages of the pipeline, in order.
func (r *Runs) Stages() []pipeline.Stage {
	var list []pipeline.Stage
	for _, s := range r.Pipeline.Stages {
		list = append(list, pipeline.Stage{Name: s.Name, Purpose: s.Purpose, By: s.Writer, Writes: s.Artifact,
			Needs: s.Needs})
	}
	return list
}

// Next returns the next step of a run. Its kinds are those of Read.
func (r *Runs) Next(ctx context.Context, issue string, acceptStale bool) (pipeline.Step, error) {
	s, err := r.Read(ctx, issue)
	if err != nil {
		return pipeline.Step{}, err
	}
	s.AcceptStale = acceptStale
	step, err := r.next(ctx, s)
	return step, errors.Join(err, r.addOpen(ctx, issue, &step))
}

// Overview returns what is known of a run, archived or not. A folder that was removed is a
// warning, and the reason for that there is no next step. Its kinds are those of Find. If only
// the next step can't be read, the rest is returned with the error.
func (r *Runs) Overview(ctx context.Context, name string) (pipeline.Overview, error) {
	s, err := r.Find(ctx, name)
	if err != nil {
		return pipeline.Overview{}, err
	}
	o := OverviewOf(r.Pipeline, s)
	if stage := failedGate(o.Attempts); stage != "" {
		o.Notices = []handoff.Notice{pipeline.GateFailed(stage)}
	}
	if e := (*handoff.Error)(nil); s.Missing && errors.As(r.missing(ctx, s), &e) {
		o.Next = pipeline.Step{Reads: []string{}, Reason: e.Err.Error()}
		o.Warnings = []string{e.Err.Error()}
		return o, nil
	}
	o.Next, err = r.next(ctx, s)
	return o, errors.Join(err, r.addOpen(ctx, s.Issue, &o.Next))
}

// find is Find for callers that need the files of the run.
func (r *Runs) find(ctx context.Context, name string) (State, error) {
	s, err := r.Find(ctx, name)
	if err == nil && s.Missing {
		err = r.missing(ctx, s)
	}
	return s, err
}

// Notes returns the notes that follow from the artifacts of a run, archived or
// not, compared with its state.yaml. Its kinds are those of Find and of Compare.
func (r *Runs) Notes(ctx context.Context, name string) (pipeline.Notes, error) {
	s, err := r.find(ctx, name)
	if err != nil {
		return pipeline.Notes{}, err
	}
	return Compare(r.Pipeline, s)
}
