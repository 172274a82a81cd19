package progress

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
	"github.com/agent-handoff/handoff/pipeline"
	"go.yaml.in/yaml/v4"
)

// Derive returns the notes that follow from the artifacts.
func Derive(p *contract.Pipeline, s State) pipeline.Notes {
	next := Next(p, s)
	n := pipeline.Notes{Issue: s.Issue, Status: statusOf(next), CurrentStage: next.Stage, Complexity: s.Complexity,
		Criteria: criteria(p, s),
		Stages:   map[string]pipeline.StageNote{}, Retries: []pipeline.Retry{}, Decisions: decisions(p, s)}
	n.IssueNumber, _ = strconv.Atoi(s.Issue)
	if next.Done {
		n.CurrentStage = p.Stages[len(p.Stages)-1].Name
	}
	retries, lines := s.retries(), []string{}
	for _, stage := range p.Stages {
		if out, ok := s.Outputs[stage.Name]; ok {
			note := pipeline.StageNote{Agent: stage.Writer, Result: contract.Outcome(out.Report.Value),
				Summary: summarize(stage, out.Report.Value), Artifact: s.file(out.File)}
			n.Stages[stage.Name] = note
			lines = append(lines, strings.TrimSuffix(stage.Name+": "+note.Summary, ": "))
		}
		if retries[stage.Name] > 0 {
			n.Retries = append(n.Retries, pipeline.Retry{Stage: stage.Name, Count: retries[stage.Name]})
		}
	}
	n.Summary = strings.Join(lines, "; ")
	return n
}

// retries counts the attempts of each stage after its first one, without those that escalated
// to the next tier. Results of different writers for one attempt count once.
func (s *State) retries() map[string]int {
	retries, done := map[string]int{}, map[string]bool{}
	for i, a := range s.Attempts {
		if done[a.Stage] && a.Outcome != "escalate" && !s.isRival(i) {
			retries[a.Stage]++
		}
		done[a.Stage] = true
	}
	return retries
}

// criteria returns the acceptance criteria of the plan. One that is a sentence is
// numbered.
func criteria(p *contract.Pipeline, s State) []pipeline.Criterion {
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
	list := []pipeline.Criterion{}
	for i, text := range slices.Sorted(maps.Keys(mapping)) {
		id := text
		if contract.CheckIssue(text) != nil {
			id = fmt.Sprintf("AC%d", i+1)
		}
		list = append(list, pipeline.Criterion{ID: id, Text: text, Mapped: gate.HasTest(mapping[text]), Status: status})
	}
	return list
}

// decisions returns the attempts that another stage than the following one came
// after.
func decisions(p *contract.Pipeline, s State) []pipeline.Decision {
	list := []pipeline.Decision{}
	w := &walk{p: p, s: &s}
	for i := 1; i < len(s.Attempts); i++ {
		from, to := s.Attempts[i-1], s.Attempts[i]
		if stage := w.following(w.stage(from.Stage)); from.Outcome != "" && from.Stage != to.Stage &&
			(stage == nil || stage.Name != to.Stage) {
			list = append(list, pipeline.Decision{From: from.Stage, Outcome: from.Outcome, To: to.Stage})
		}
	}
	return list
}

// Compare is Derive and reports the differences from the run's state.yaml. Fields
// that are missing there are not compared. Agents match with and without their
// prefix, results in any case, and an issue also by its number or title. Its kind is Invalid if the file is not YAML.
func Compare(p *contract.Pipeline, s State) (pipeline.Notes, error) {
	derived := Derive(p, s)
	derived.Drift = []pipeline.Drift{}
	var written map[string]any
	if err := yaml.Load(s.Notes, &written); err != nil && len(strings.TrimSpace(string(s.Notes))) > 0 {
		return pipeline.Notes{}, handoff.E("read state", s.file(contract.StateFile), handoff.Invalid,
			plainfile.InvalidAt(err),
			handoff.Advice("make it a YAML mapping; the file is optional"))
	}
	differ := func(at string, value any, want string, same func(a, b string) bool) {
		if got := scalar(value); value != nil && got != "" && !same(got, want) {
			derived.Drift = append(derived.Drift, pipeline.Drift{Pointer: at, Written: got, Derived: want})
		}
	}
	if written != nil && !sameIssue(written, derived.Issue) {
		differ("/issue", written["issue"], derived.Issue, strings.EqualFold)
	}
	differ("/status", written["status"], derived.Status, strings.EqualFold)
	if derived.CurrentStage != "" {
		differ("/current_stage", written["current_stage"], derived.CurrentStage, func(a, b string) bool {
			return a == b || a == beforeStages && b == p.Stages[0].Name
		})
	}
	stages := contract.Object(written["stages"])
	for _, name := range slices.Sorted(maps.Keys(stages)) {
		note, known := derived.Stages[name]
		if !known {
			differ("/stages/"+name, stages[name], "", func(string, string) bool { return !declared(p, name) })
			continue
		}
		differ("/stages/"+name+"/agent", contract.Object(stages[name])["agent"], note.Agent, p.SameAgent)
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

// sameResult accepts that a stage that succeeded has passed, whatever the artifact
// calls it.
func sameResult(written, derived string) bool {
	succeeded := []string{"pass", "passed", "completed", "done"}
	return strings.EqualFold(written, derived) ||
		slices.Contains(succeeded, strings.ToLower(written)) &&
			(derived == "" || slices.Contains(succeeded, strings.ToLower(derived)))
}
