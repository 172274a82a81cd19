package pipeline

import (
	"context"

	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/internal/pipeline/folder"
)

// A RunSummary is one run in a list.
type RunSummary struct {
	Name     string `json:"name"`  // what show and history take: 42, or completed/42
	Issue    string `json:"issue"` // the issue of its records
	Folder   string `json:"folder"`
	Archived bool   `json:"archived"`
	Status   string `json:"status"` // in_progress, completed, paused: a person acts next, or unreadable
	Stage    string `json:"stage"`  // the next stage, "" if there is none
	Agent    string `json:"agent"`  // who acts next, "" if the run is completed
	Attempts int    `json:"attempts"`

	// GateFailed is the stage of the last attempt if it failed its gate when it was submitted.
	GateFailed string `json:"gateFailed,omitempty"`
}

// A RunList has the runs of a workspace: first the open ones, then the archived
// ones, each sorted by name.
type RunList struct {
	Runs     []RunSummary `json:"runs"`
	Warnings []string     `json:"warnings,omitempty"`
}

// List returns the runs of the workspace, open and archived. A run that can't be
// read has the status unreadable and a warning.
func (r *Runs) List(ctx context.Context) RunList {
	list := RunList{Runs: []RunSummary{}}
	for _, issue := range folder.Open(r.Files) {
		list.add(ctx, r, issue, func() (State, error) { return r.Read(ctx, issue) })
	}
	for _, name := range folder.Archived(r.Files) {
		list.add(ctx, r, contract.Completed+"/"+name, func() (State, error) { return r.readArchived(ctx, name) })
	}
	return list
}

func (l *RunList) add(ctx context.Context, r *Runs, name string, read func() (State, error)) {
	s, err := read()
	step := Step{}
	if err == nil {
		step, err = r.next(ctx, s)
	}
	run := RunSummary{Name: name, Issue: s.Issue, Folder: s.file(""), Archived: s.Archived, Status: "unreadable"}
	if err != nil {
		l.Warnings = append(l.Warnings, name+": "+reasonOf(err))
	} else {
		run.Status, run.Stage, run.Agent = statusOf(step), step.Stage, step.Agent
		attempts := HistoryOf(r.Pipeline, s)
		run.Attempts = len(attempts)
		if run.Attempts > 0 {
			if last := attempts[run.Attempts-1]; last.Current && last.Gate != nil && !last.Gate.Pass {
				run.GateFailed = last.Stage
			}
		}
	}
	l.Runs = append(l.Runs, run)
}

// statusOf returns the status of a run with a next step.
func statusOf(next Step) string {
	switch {
	case next.Done:
		return "completed"
	case next.Agent == contract.Human:
		return "paused"
	}
	return "in_progress"
}
