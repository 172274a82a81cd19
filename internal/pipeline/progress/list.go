package progress

import (
	"context"
	"path"
	"strings"

	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/internal/pipeline/folder"
	"github.com/agent-handoff/handoff/pipeline"
)

// List returns the runs of the workspace, open and archived. A run that can't be
// read has the status unreadable and a warning.
func (r *Runs) List(ctx context.Context) pipeline.List {
	list := pipeline.List{Runs: []pipeline.RunSummary{}}
	for _, issue := range folder.Open(r.Files) {
		addRun(&list, ctx, r, issue, func(r *Runs) (State, error) { return r.Read(ctx, issue) })
	}
	for _, name := range folder.Archived(r.Files) {
		addRun(&list, ctx, r, contract.Completed+"/"+name, func(r *Runs) (State, error) { return r.readArchived(ctx, name) })
	}
	return list
}

func addRun(l *pipeline.List, ctx context.Context, r *Runs, name string, read func(*Runs) (State, error)) {
	issue := contract.IssueOf(strings.TrimPrefix(name, contract.Completed+"/"))
	s := State{Issue: issue, Folder: path.Join(contract.Folder, name), Base: r.Base}
	r, err := r.Of(ctx, name)
	if err == nil {
		s, err = read(r)
	}
	step := pipeline.Step{}
	if err == nil {
		step, err = r.next(ctx, s)
	}
	run := pipeline.RunSummary{Name: name, Issue: s.Issue, Folder: s.file(""), Archived: s.Archived, Status: "unreadable"}
	if r.edited != nil {
		l.Warnings = append(l.Warnings, name+": "+r.edited.String())
	}
	if err != nil {
		l.Warnings = append(l.Warnings, name+": "+reasonOf(err))
	} else {
		run.Status, run.Stage, run.Agent = statusOf(step), step.Stage, step.Agent
		attempts := counted(HistoryOf(r.Pipeline, s))
		run.Attempts, run.GateFailed = len(attempts), failedGate(attempts)
	}
	l.Runs = append(l.Runs, run)
}

// failedGate returns the stage of the last attempt if it failed its gate when it was
// submitted, and otherwise "".
func failedGate(attempts []pipeline.Attempt) string {
	if attempts = counted(attempts); len(attempts) == 0 {
		return ""
	}
	if last := attempts[len(attempts)-1]; last.Current && last.Gate != nil && !last.Gate.Pass {
		return last.Stage
	}
	return ""
}

// statusOf returns the status of a run with a next step.
func statusOf(next pipeline.Step) string {
	switch {
	case next.Done:
		return "completed"
	case next.Agent == contract.Human:
		return "paused"
	}
	return "in_progress"
}
