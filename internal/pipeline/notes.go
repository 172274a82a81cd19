package pipeline

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/internal/pipeline/gate"
	"github.com/agent-handoff/handoff/internal/plainfile"
	"go.yaml.in/yaml/v4"
)

// Notes are the content of state.yaml. They are derived from the artifacts; a
// planner may also write the file by hand.
type Notes struct {
	Issue        string               `yaml:"issue" json:"issue"`
	Status       string               `yaml:"status" json:"status"` // in_progress, completed, or paused: a person acts next
	CurrentStage string               `yaml:"current_stage" json:"current_stage"`
	Complexity   string               `yaml:"complexity,omitempty" json:"complexity,omitempty"`
	Criteria     []Criterion          `yaml:"acceptance_criteria" json:"acceptance_criteria"`
	Stages       map[string]StageNote `yaml:"stages" json:"stages"`
	Retries      map[string]int       `yaml:"retries" json:"retries"`

	// Drift are the differences from the run's own state.yaml.
	Drift []Drift `yaml:"-" json:"drift"`
}

// A Criterion is one acceptance criterion of the plan.
type Criterion struct {
	ID     string `yaml:"id" json:"id"`
	Mapped bool   `yaml:"test_mapped" json:"test_mapped"`
	Status string `yaml:"status" json:"status"` // pending, implemented or verified
}

// A StageNote is the result of one stage.
type StageNote struct {
	Agent    string `yaml:"agent" json:"agent"`
	Result   string `yaml:"result" json:"result"`
	Artifact string `yaml:"artifact_path" json:"artifact_path"`
}

// Derive returns the notes that follow from the artifacts.
func Derive(p *contract.Pipeline, s State) Notes {
	next := Next(p, s)
	n := Notes{Issue: s.Issue, Status: statusOf(next), CurrentStage: next.Stage, Complexity: s.Complexity, Criteria: []Criterion{}, Stages: map[string]StageNote{}, Retries: TraceOf(p, s).Retries}
	if next.Done {
		n.CurrentStage = p.Stages[len(p.Stages)-1].Name
	}
	for _, stage := range p.Stages {
		if out, ok := s.Outputs[stage.Name]; ok {
			n.Stages[stage.Name] = StageNote{Agent: stage.Writer, Result: contract.Outcome(out.Report.Value), Artifact: s.file(out.File)}
		}
	}
	status := "pending"
	if _, work := s.Checked(p, contract.CheckChanges); contract.Outcome(work) == "completed" {
		status = "implemented"
	}
	if test, result := s.Checked(p, contract.CheckTests); contract.Outcome(result) == "PASS" && gate.Check(p, test.Name, s.Artifacts, nil).Pass {
		status = "verified"
	}
	_, plan := s.Checked(p, contract.CheckPlan)
	mapping := contract.Object(plan["acceptance_mapping"])
	for _, id := range slices.Sorted(maps.Keys(mapping)) {
		n.Criteria = append(n.Criteria, Criterion{ID: id, Mapped: gate.HasTest(mapping[id]), Status: status})
	}
	return n
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

// Compare is Derive and reports the differences from the run's state.yaml. Fields
// that are missing there are not compared. Agents match with and without their
// prefix, and results in any case. Its kind is Invalid if the file is not YAML.
func Compare(p *contract.Pipeline, s State) (Notes, error) {
	derived := Derive(p, s)
	derived.Drift = []Drift{}
	var written map[string]any
	if err := yaml.Load(s.Notes, &written); err != nil && len(strings.TrimSpace(string(s.Notes))) > 0 {
		return Notes{}, &handoff.Error{Op: "read state", Name: s.file(contract.StateFile), Kind: handoff.Invalid, Err: plainfile.InvalidAt(err, "YAML"),
			Hint: handoff.Advice("make it a YAML mapping; the file is optional")}
	}
	differ := func(at string, value any, want string, same func(a, b string) bool) {
		if got := fmt.Sprint(value); value != nil && got != "" && !same(got, want) {
			derived.Drift = append(derived.Drift, Drift{at, got, want})
		}
	}
	differ("/issue", written["issue"], derived.Issue, strings.EqualFold)
	differ("/status", written["status"], derived.Status, strings.EqualFold)
	if derived.CurrentStage != "" {
		differ("/current_stage", written["current_stage"], derived.CurrentStage, sameStage)
	}
	stages := contract.Object(written["stages"])
	for _, name := range slices.Sorted(maps.Keys(stages)) {
		note, known := derived.Stages[name]
		if !known {
			differ("/stages/"+name, stages[name], "", func(string, string) bool { return !declared(p, name) })
			continue
		}
		differ("/stages/"+name+"/agent", contract.Object(stages[name])["agent"], note.Agent, sameAgent)
		differ("/stages/"+name+"/result", contract.Object(stages[name])["result"], note.Result, strings.EqualFold)
	}
	return derived, nil
}

func declared(p *contract.Pipeline, name string) bool {
	return slices.ContainsFunc(p.Stages, func(s *contract.Stage) bool { return s.Name == name })
}

// sameStage accepts triage, which comes before the first stage.
func sameStage(written, derived string) bool {
	return written == derived || written == "triage" && derived == "plan"
}

func sameAgent(written, derived string) bool {
	return strings.TrimPrefix(written, "jg-") == strings.TrimPrefix(derived, "jg-")
}
