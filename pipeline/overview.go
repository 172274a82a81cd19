// Package pipeline has the types of pipelines: the state of a run, its next step, the results
// of gates and validations.
//
// It has nouns only. Package workspace/pipelines returns them.
package pipeline

import "github.com/agent-handoff/handoff"

// A Stage describes a stage of the pipeline.
type Stage struct {
	Name    string   `json:"name"`
	Purpose string   `json:"purpose"`
	By      string   `json:"by"`     // the agent that does it
	Writes  string   `json:"writes"` // its file, or a pattern of files
	Needs   []string `json:"needs"`  // the stages that it is made from
}

// An Overview is what is known of a run.
type Overview struct {
	Issue      string        `json:"issue"`
	Folder     string        `json:"folder"` // relative to the workspace, absolute in a linked worktree
	Complexity string        `json:"complexity,omitempty"`
	Stages     []StageResult `json:"stages"`   // the ones that were done, in the pipeline's order
	Attempts   []Attempt     `json:"attempts"` // of all stages and of the planner's notes, oldest first
	Next       Step          `json:"next"`

	Notices  []handoff.Notice `json:"notices,omitempty"`  // that the last attempt failed its gate
	Warnings []string         `json:"warnings,omitempty"` // that its folder was removed: only records are known
}

// A StageResult is the result of one stage.
type StageResult struct {
	Stage    string `json:"stage"`
	Agent    string `json:"agent"` // its writer
	Path     string `json:"path"`
	Ref      string `json:"ref,omitempty"` // "" if the content of the file has no record
	Outcome  string `json:"outcome"`
	Summary  string `json:"summary"`
	Attempts int    `json:"attempts"`
	Problems int    `json:"problems"`        // violations of its contract
	Stale    string `json:"stale,omitempty"` // why it is out of date
}
