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

// Overview returns the summary of a run, archived or not. Its kinds are those of
// Find.
func (r *Runs) Overview(ctx context.Context, name string) (pipeline.Overview, error) {
	s, err := r.find(ctx, name)
	if err != nil {
		return pipeline.Overview{}, err
	}
	o := OverviewOf(r.Pipeline, s)
	if stage := failedGate(HistoryOf(r.Pipeline, s)); stage != "" {
		o.Notices = []handoff.Notice{pipeline.GateFailed(stage)}
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

// History returns the attempts of a run, archived or not. A folder that was
// removed is a warning. Its kinds are those of Find.
func (r *Runs) History(ctx context.Context, name string) (pipeline.History, error) {
	s, err := r.Find(ctx, name)
	if err != nil {
		return pipeline.History{}, err
	}
	h := pipeline.History{Issue: s.Issue, Attempts: HistoryOf(r.Pipeline, s), Outdated: s.Outdated}
	if e := (*handoff.Error)(nil); s.Missing && errors.As(r.missing(ctx, s), &e) {
		h.Warnings = []string{e.Err.Error()}
	}
	return h, nil
}

// Trace returns the durations and retries of a run, archived or not. Its kinds
// are those of Find.
func (r *Runs) Trace(ctx context.Context, name string) (pipeline.Trace, error) {
	s, err := r.Find(ctx, name)
	if err != nil {
		return pipeline.Trace{}, err
	}
	return TraceOf(r.Pipeline, s), nil
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
