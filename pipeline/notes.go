package pipeline

import (
	"fmt"

	"go.yaml.in/yaml/v4"
)

// Notes are the content of state.yaml. They are derived from the artifacts; a
// planner may also write the file by hand.
type Notes struct {
	Issue string `yaml:"issue" json:"issue"`
	// 0 if the issue is not a number
	IssueNumber int `yaml:"issue_number,omitempty" json:"issue_number,omitempty"`
	// in_progress, completed, or paused: a person acts next
	Status       string               `yaml:"status" json:"status"`
	CurrentStage string               `yaml:"current_stage" json:"current_stage"`
	Complexity   string               `yaml:"complexity,omitempty" json:"complexity,omitempty"`
	Criteria     []Criterion          `yaml:"acceptance_criteria" json:"acceptance_criteria"`
	Stages       map[string]StageNote `yaml:"stages" json:"stages"`
	Retries      []Retry              `yaml:"retries" json:"retries"`
	Decisions    []Decision           `yaml:"routing_decisions" json:"routing_decisions"`
	Summary      string               `yaml:"running_summary" json:"running_summary"`

	// Drift are the differences from the run's own state.yaml.
	Drift []Drift `yaml:"-" json:"drift"`
}

// A Criterion is one acceptance criterion of the plan.
type Criterion struct {
	ID     string `yaml:"id" json:"id"`
	Text   string `yaml:"text" json:"text"` // as the plan has it
	Mapped bool   `yaml:"test_mapped" json:"test_mapped"`
	Status string `yaml:"status" json:"status"` // pending, implemented or verified
}

// A StageNote is the result of one stage.
type StageNote struct {
	Agent    string `yaml:"agent" json:"agent"`
	Result   string `yaml:"result" json:"result"`
	Summary  string `yaml:"summary" json:"summary"`
	Artifact string `yaml:"artifact_path" json:"artifact_path"`
}

// A Retry is the number of retries of a stage.
type Retry struct {
	Stage string `yaml:"stage" json:"stage"`
	Count int    `yaml:"count" json:"count"`
}

// A Decision is an attempt that another stage than the following one came after.
type Decision struct {
	From    string `yaml:"from" json:"from"`
	Outcome string `yaml:"outcome" json:"outcome"`
	To      string `yaml:"to" json:"to"`
}

// YAML returns the notes in the form of state.yaml.
func (n Notes) YAML() ([]byte, error) { return yaml.Dump(n, yaml.WithIndent(2)) }

// A Drift is a difference between a hand-written state.yaml and the artifacts.
type Drift struct {
	Pointer string `json:"pointer"`
	Written string `json:"written"`
	Derived string `json:"derived"`
}

func (d Drift) String() string {
	return fmt.Sprintf("%s is %q, the artifacts result in %q", d.Pointer, d.Written, d.Derived)
}
