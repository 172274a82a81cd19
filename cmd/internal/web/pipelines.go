package web

import (
	"net/http"
	"path"

	"github.com/agent-handoff/handoff/pipeline"
	"github.com/agent-handoff/handoff/workspace/pipelines"
)

// board is what the page of a pipeline run shows.
type board struct {
	pipeline.Overview
	Name     string // of the run, as it was asked for
	Archived bool
	Stages   []boardStage
	Known    bool   // the next step could be read, and the folder exists
	Mermaid  string // its definition, drawn
}

// pipelineList is what the page of all runs shows: the open ones as boards, and the others.
type pipelineList struct {
	Boards []pipelines.Board
	Runs   []pipeline.RunSummary
}

// A boardStage is a stage of the pipeline, with what was done of it.
type boardStage struct {
	pipeline.Stage
	State    string // done, next, stale, invalid, or "" for a stage that was not done
	Result   *pipeline.StageResult
	Attempts []pipeline.Attempt
	Gate     *pipeline.GateVerdict // of its current attempt, when that was submitted; nil if it was not recorded
	Why      string                // the reason, if it is next
}

// pipelines lists the pipeline runs.
func (s *Server) pipelines(r *http.Request) (page, error) {
	list, err := s.o.Source.Pipelines.List(r.Context())
	if err != nil {
		return page{}, err
	}
	p := page{Name: "pipelines", Title: "Pipelines", Section: "/pipelines", Live: true,
		Warnings: list.Warnings, Styles: []string{"pipeline.css"}}
	boards, rest := s.o.Source.Boards(r.Context(), list.Runs)
	p.Data = pipelineList{boards, rest}
	return p, nil
}

// pipeline shows a pipeline run as a board of its stages.
func (s *Server) pipeline(r *http.Request) (page, error) {
	ctx, name := r.Context(), r.PathValue("issue")
	overview, err := s.o.Source.Pipelines.Overview(ctx, name)
	if err != nil && overview.Issue == "" {
		return page{}, err
	}
	b := board{Name: name, Archived: path.Dir(name) != ".", Overview: overview,
		Known: err == nil && len(overview.Warnings) == 0}
	p := page{Name: "pipeline", Title: "Issue " + name, Section: "/pipelines", Live: true,
		Crumbs: []crumb{{"Pipelines", "/pipelines"}}, Warnings: overview.Warnings,
		Styles: []string{"pipeline.css"}, Scripts: []string{"preview.js"}}
	p.warn(err)
	if drawing, err := s.o.Source.Draw(name); err == nil { // Stages reports an error
		b.Mermaid = drawing.Mermaid
	}
	stages, err := s.o.Source.Pipelines.Stages(name)
	p.warn(err)
	for _, stage := range stages {
		one := boardStage{Stage: stage}
		for _, a := range overview.Attempts {
			if a.Stage == stage.Name {
				if one.Attempts = append(one.Attempts, a); a.Current {
					one.Gate = a.Gate
				}
			}
		}
		b.Stages = append(b.Stages, judge(&b, one))
	}
	p.Data = b
	return p, nil
}

// judge adds the state of a stage.
func judge(b *board, one boardStage) boardStage {
	for i, result := range b.Overview.Stages {
		if result.Stage == one.Name {
			one.Result = &b.Overview.Stages[i]
		}
	}
	if one.Result != nil {
		one.State = pipelines.StateOf(*one.Result)
	}
	if b.Next.Stage == one.Name {
		one.State, one.Why = "next", b.Next.Reason
	}
	return one
}
