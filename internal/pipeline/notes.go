package pipeline

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/internal/pipeline/gate"
	"github.com/agent-handoff/handoff/internal/tool/plainfile"
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

// Derive returns the notes that follow from the artifacts.
func Derive(p *contract.Pipeline, s State) Notes {
	next := Next(p, s)
	n := Notes{Issue: s.Issue, Status: statusOf(next), CurrentStage: next.Stage, Complexity: s.Complexity,
		Criteria: criteria(p, s),
		Stages:   map[string]StageNote{}, Retries: []Retry{}, Decisions: decisions(p, s)}
	n.IssueNumber, _ = strconv.Atoi(s.Issue)
	if next.Done {
		n.CurrentStage = p.Stages[len(p.Stages)-1].Name
	}
	retries, lines := TraceOf(p, s).Retries, []string{}
	for _, stage := range p.Stages {
		if out, ok := s.Outputs[stage.Name]; ok {
			note := StageNote{Agent: stage.Writer, Result: contract.Outcome(out.Report.Value),
				Summary: summarize(stage, out.Report.Value), Artifact: s.file(out.File)}
			n.Stages[stage.Name] = note
			lines = append(lines, strings.TrimSuffix(stage.Name+": "+note.Summary, ": "))
		}
		if retries[stage.Name] > 0 {
			n.Retries = append(n.Retries, Retry{stage.Name, retries[stage.Name]})
		}
	}
	n.Summary = strings.Join(lines, "; ")
	return n
}

// criteria returns the acceptance criteria of the plan. One that is a sentence is
// numbered.
func criteria(p *contract.Pipeline, s State) []Criterion {
	status := "pending"
	if _, work := s.Checked(p, contract.CheckChanges); contract.Outcome(work) == "completed" {
		status = "implemented"
	}
	if test, result := s.Checked(p, contract.CheckTests); contract.Outcome(result) == "PASS" &&
		gate.Check(p, test.Name, s.Artifacts, nil).Pass {
		status = "verified"
	}
	_, plan := s.Checked(p, contract.CheckPlan)
	mapping := contract.Object(plan["acceptance_mapping"])
	list := []Criterion{}
	for i, text := range slices.Sorted(maps.Keys(mapping)) {
		id := text
		if contract.CheckIssue(text) != nil {
			id = fmt.Sprintf("AC%d", i+1)
		}
		list = append(list, Criterion{ID: id, Text: text, Mapped: gate.HasTest(mapping[text]), Status: status})
	}
	return list
}

// decisions returns the attempts that another stage than the following one came
// after.
func decisions(p *contract.Pipeline, s State) []Decision {
	list := []Decision{}
	w := &walk{p: p, s: &s}
	for i := 1; i < len(s.Attempts); i++ {
		from, to := s.Attempts[i-1], s.Attempts[i]
		if stage := w.following(w.stage(from.Stage)); from.Outcome != "" && from.Stage != to.Stage &&
			(stage == nil || stage.Name != to.Stage) {
			list = append(list, Decision{from.Stage, from.Outcome, to.Stage})
		}
	}
	return list
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
// prefix, results in any case, and an issue also by its number or title. Its kind is Invalid if the file is not YAML.
func Compare(p *contract.Pipeline, s State) (Notes, error) {
	derived := Derive(p, s)
	derived.Drift = []Drift{}
	var written map[string]any
	if err := yaml.Load(s.Notes, &written); err != nil && len(strings.TrimSpace(string(s.Notes))) > 0 {
		return Notes{}, handoff.E("read state", s.file(contract.StateFile), handoff.Invalid, plainfile.InvalidAt(err),
			handoff.Advice("make it a YAML mapping; the file is optional"))
	}
	differ := func(at string, value any, want string, same func(a, b string) bool) {
		if got := scalar(value); value != nil && got != "" && !same(got, want) {
			derived.Drift = append(derived.Drift, Drift{at, got, want})
		}
	}
	if written != nil && !sameIssue(written, derived.Issue) {
		differ("/issue", written["issue"], derived.Issue, strings.EqualFold)
	}
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
		differ("/stages/"+name+"/result", contract.Object(stages[name])["result"], note.Result, sameResult)
	}
	return derived, nil
}

// scalar returns a value of a YAML file as text.
func scalar(v any) string {
	switch v.(type) {
	case map[string]any, map[any]any:
		return "a mapping"
	case []any:
		return "a list"
	}
	return fmt.Sprint(v)
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

// sameResult accepts that a stage that succeeded has passed, whatever the artifact
// calls it.
func sameResult(written, derived string) bool {
	succeeded := []string{"pass", "passed", "completed", "done"}
	return strings.EqualFold(written, derived) ||
		slices.Contains(succeeded, strings.ToLower(written)) &&
			(derived == "" || slices.Contains(succeeded, strings.ToLower(derived)))
}
