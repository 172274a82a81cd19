package pipeline

import (
	"context"
	"errors"
	"path"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/pipeline/folder"
)

// A StageSummary describes a stage of the pipeline.
type StageSummary struct {
	Name     string `json:"name"`
	Purpose  string `json:"purpose"`
	Artifact string `json:"artifact"` // its file name
	Writer   string `json:"writer"`
}

// A Started is the result of Init.
type Started struct {
	Issue    string   `json:"issue"`
	Path     string   `json:"path"`
	Restored []string `json:"restored,omitempty"` // the files that were written from records
}

// A File is the file of a stage's artifact.
type File struct {
	Issue string `json:"issue"`
	Stage string `json:"stage"`
	Path  string `json:"path"`
}

// A History has the attempts of a run, oldest first.
type History struct {
	Issue    string         `json:"issue"`
	Attempts []HistoryEntry `json:"attempts"`
	Outdated []Outdated     `json:"outdated,omitempty"` // files that are not the newest attempt
	Warnings []string       `json:"warnings,omitempty"`
}

// A BriefText is the text that tells an agent which files to read and write.
type BriefText struct {
	Issue string `json:"issue"`
	Agent string `json:"agent"`
	Brief string `json:"brief"`
}

// Stages describes the stages of the pipeline, in order.
func (r *Runs) Stages() []StageSummary {
	var list []StageSummary
	for _, s := range r.Pipeline.Stages {
		list = append(list, StageSummary{s.Name, s.Purpose, s.Artifact, s.Writer})
	}
	return list
}

// Init creates the folder of a run with folder.Init.
func (r *Runs) Init(issue, complexity string) (Started, error) {
	name, err := folder.Init(r.Files, issue, complexity)
	return Started{Issue: issue, Path: path.Join(r.Base, name)}, err
}

// Next returns the next step of a run. Its kinds are those of Read.
func (r *Runs) Next(ctx context.Context, issue string, acceptStale bool) (Step, error) {
	s, err := r.Read(ctx, issue)
	if err != nil {
		return Step{}, err
	}
	s.AcceptStale = acceptStale
	step, err := r.next(ctx, s)
	return step, errors.Join(err, r.addOpen(ctx, issue, &step))
}

// Brief returns the brief of an agent. Its kinds are those of Read and of Brief.
func (r *Runs) Brief(ctx context.Context, issue, agent string, limit int) (BriefText, error) {
	s, err := r.Read(ctx, issue)
	if err != nil {
		return BriefText{}, err
	}
	text, err := Brief(r.Pipeline, s, agent, limit)
	return BriefText{s.Issue, agent, text}, err
}

// Overview returns the summary of a run, archived or not. Its kinds are those of
// Find.
func (r *Runs) Overview(ctx context.Context, name string) (Overview, error) {
	s, err := r.find(ctx, name)
	if err != nil {
		return Overview{}, err
	}
	o := OverviewOf(r.Pipeline, s)
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
func (r *Runs) History(ctx context.Context, name string) (History, error) {
	s, err := r.Find(ctx, name)
	if err != nil {
		return History{}, err
	}
	h := History{Issue: s.Issue, Attempts: HistoryOf(r.Pipeline, s), Outdated: s.Outdated}
	if e := (*handoff.Error)(nil); s.Missing && errors.As(r.missing(ctx, s), &e) {
		h.Warnings = []string{e.Err.Error()}
	}
	return h, nil
}

// Trace returns the durations and retries of a run, archived or not. Its kinds
// are those of Find.
func (r *Runs) Trace(ctx context.Context, name string) (Trace, error) {
	s, err := r.Find(ctx, name)
	if err != nil {
		return Trace{}, err
	}
	return TraceOf(r.Pipeline, s), nil
}

// Notes returns the notes that follow from the artifacts of a run, archived or
// not, compared with its state.yaml. Its kinds are those of Find and of Compare.
func (r *Runs) Notes(ctx context.Context, name string) (Notes, error) {
	s, err := r.find(ctx, name)
	if err != nil {
		return Notes{}, err
	}
	return Compare(r.Pipeline, s)
}
