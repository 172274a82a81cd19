package pipeline

import (
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/jsonschema"
)

// An Adoption is the result of Adopt.
type Adoption struct {
	Issue    string         `json:"issue"`
	Adopted  []AdoptedStage `json:"adopted"`           // in the order in which they were recorded
	LeftOut  []string       `json:"leftOut,omitempty"` // files of stages under another name, and those that are not JSON
	DryRun   bool           `json:"dryRun,omitempty"`
	Warnings []string       `json:"warnings,omitempty"`
}

// An AdoptionList is the result of adopting the runs in a directory.
type AdoptionList struct {
	Runs    []Adoption `json:"runs"`
	Defined string     `json:"defined,omitempty"` // the definition that was written
	DryRun  bool       `json:"dryRun,omitempty"`
}

// An AdoptedStage is a stage whose artifact was recorded as it is.
type AdoptedStage struct {
	Stage    string               `json:"stage"`
	Path     string               `json:"path"`
	ID       string               `json:"id,omitempty"`
	Problems []jsonschema.Problem `json:"problems"` // violations of its contract
}

// A Run is the result of Init.
type Run struct {
	Issue    string   `json:"issue"`
	Path     string   `json:"path"`
	Pipeline string   `json:"pipeline,omitempty"` // its name; "" for the one without a name
	Restored []string `json:"restored,omitempty"` // the files that were written from records
}

// A File is the file of a stage's artifact.
type File struct {
	Issue   string           `json:"issue"`
	Stage   string           `json:"stage"`
	Path    string           `json:"path"`
	Notices []handoff.Notice `json:"notices,omitempty"`
}

// GateFailed returns the notice about a stage whose last attempt failed its gate.
func GateFailed(stage string) handoff.Notice {
	return handoff.NewNotice(handoff.NoticeGateFailed, stage+" failed its gate")
}

// A Move is the move of a run's folder. Paths are relative to the workspace.
type Move struct {
	Issue    string   `json:"issue"`
	From     string   `json:"from"`
	To       string   `json:"to"`
	Warnings []string `json:"warnings,omitempty"`
}

// ArchiveOptions say which runs Archive moves.
type ArchiveOptions struct {
	Force       bool // a run that is not finished, or whose gates fail
	AcceptStale bool // a run that is finished if stale artifacts are accepted
}

// A RunSummary is one run in a list.
type RunSummary struct {
	Name     string `json:"name"`  // what show takes: 42, or completed/42
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

// A Progress is where a run is that was not completed.
type Progress struct {
	RunSummary
	Reason string    // why its stage is next
	Since  time.Time // its last attempt: so long the next stage waits; zero if there is none
}

// A List has the runs of a workspace: first the open ones, then the archived
// ones, each sorted by name.
type List struct {
	Runs     []RunSummary `json:"runs"`
	Warnings []string     `json:"warnings,omitempty"`
}
