package pipelines

import (
	"context"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/internal/pipeline/progress"
	"github.com/agent-handoff/handoff/pipeline"
)

// A Drawing is the definition of a pipeline as a Mermaid flowchart.
type Drawing struct {
	Pipeline string `json:"pipeline,omitempty"` // its name; "" for the one without a name
	Mermaid  string `json:"mermaid"`
}

// A Board has the open runs of one pipeline.
type Board struct {
	Pipeline string           // its name; "" for the one without a name
	Stages   []pipeline.Stage // its columns
	Runs     []BoardRun
}

// A BoardRun is a run in a board, with a cell for each stage.
type BoardRun struct {
	pipeline.RunSummary
	Cells []BoardCell
}

// A BoardCell is where a run is with a stage.
type BoardCell struct {
	State    string // done, next, stale, invalid, or "" for a stage that was not done
	Outcome  string
	Attempts int
	Open     []handoff.Work // of those who work on it
	Since    time.Time      // its last attempt, or since when it is next; zero if it is unknown
}

// Draw returns the definition of the pipeline as a flowchart, or that of the pipeline with a
// name. Kind: Invalid (no such pipeline).
func (c Contracts) Draw(name string) (Drawing, error) {
	return in(c.p, func(r *progress.Runs) (d Drawing, err error) {
		p := r.Pipeline
		if name != "" {
			p, err = r.Definitions.Named(name)
		}
		if err != nil {
			return d, err
		}
		d = Drawing{Pipeline: p.Name, Mermaid: p.Mermaid()}
		if p.IsPreset() && d.Pipeline == "" {
			d.Pipeline = contract.PresetJG
		}
		return d, nil
	})
}

// Boards returns the runs of a list that are not archived, by their pipelines, and the others.
// Of these are also the runs that can't be read.
func Boards(ctx context.Context, p Runs, list []pipeline.RunSummary) (boards []Board, rest []pipeline.RunSummary) {
	at := map[Drawing]int{}
	for _, run := range list {
		drawing, err := p.Contracts(run.Name).Draw("")
		stages, failed := p.Stages(run.Name)
		overview, unread := p.Overview(ctx, run.Name)
		if run.Archived || err != nil || failed != nil || unread != nil {
			rest = append(rest, run)
			continue
		}
		i, ok := at[drawing]
		if !ok {
			i = len(boards)
			at[drawing] = i
			boards = append(boards, Board{Pipeline: drawing.Pipeline, Stages: stages})
		}
		row := BoardRun{RunSummary: run}
		for _, stage := range stages {
			row.Cells = append(row.Cells, cell(stage.Name, overview))
		}
		boards[i].Runs = append(boards[i].Runs, row)
	}
	return boards, rest
}

// cell returns the cell of a stage in the row of a run.
func cell(stage string, o pipeline.Overview) (c BoardCell) {
	var last time.Time
	for _, a := range o.Attempts {
		if a.Attempt == 0 { // it was rejected
			continue
		}
		if a.At.After(last) {
			last = a.At
		}
		if a.Stage == stage {
			c.Since = a.At
		}
	}
	for _, result := range o.Stages {
		if result.Stage == stage {
			c.State, c.Outcome, c.Attempts = StateOf(result), result.Outcome, result.Attempts
		}
	}
	for _, next := range append([]pipeline.Step{o.Next}, o.Next.Parallel...) {
		if next.Stage == stage {
			c.State, c.Open, c.Since = "next", next.Open, last
		}
	}
	return c
}

// StateOf returns the state of a stage that was done: done, invalid or stale.
func StateOf(result pipeline.StageResult) string {
	switch {
	case result.Problems > 0:
		return "invalid"
	case result.Stale != "":
		return "stale"
	}
	return "done"
}
