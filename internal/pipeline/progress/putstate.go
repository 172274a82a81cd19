package progress

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/internal/pipeline/folder"
	"github.com/agent-handoff/handoff/internal/tool/plainfile"
	"github.com/agent-handoff/handoff/jsonschema"
	"github.com/agent-handoff/handoff/pipeline"
	"go.yaml.in/yaml/v4"
)

// beforeStages is the current stage in notes that were written before the first stage.
const beforeStages = "triage"

// isState reports whether a name is that of the planner's notes. A project's
// stage can have it.
func (r *Runs) isState(name string) bool {
	_, err := r.Pipeline.Stage(name)
	return err != nil && r.Pipeline.Planner != "" && (name == contract.State || name == contract.StateFile)
}

// putState records the planner's notes as the newest revision of state.yaml and
// writes them to the run's folder, as they are. The same notes again add no
// revision. Its kinds are those of Put.
func (r *Runs) putState(ctx context.Context, sub Submission) (Receipt, error) {
	receipt := Receipt{Report: checkNotes(r.Pipeline, sub.Issue, sub.Body)}
	if sub.Agent != "" && !r.Pipeline.IsAgent(r.Pipeline.Planner, sub.Agent) {
		return receipt, handoff.E("put", sub.Issue+"/"+contract.StateFile, handoff.Invalid,
			fmt.Errorf("must be written by %s, not by %s", r.Pipeline.Planner, sub.Agent),
			handoff.Suggest("see which agent acts next", handoff.ActionNext, sub.Issue))
	}
	if sub.Ticket != "" {
		return receipt, handoff.E("put", sub.Issue+"/"+contract.StateFile, handoff.Invalid,
			errors.New("a ticket is for a stage that has inputs"), handoff.Advice("leave the ticket out"))
	}
	if sub.Lenient {
		receipt.Report = lenient(receipt.Report)
	}
	if errs := receipt.Report.Errors; len(errs) > 0 {
		return receipt, violation(sub.Issue+"/"+contract.StateFile, errs,
			handoff.Suggest("see what follows from the artifacts", handoff.ActionDerive, sub.Issue))
	}
	if err := r.checkUnused(ctx, sub.Issue); err != nil {
		return receipt, err
	}
	err := folder.Lock(ctx, r.Files, syscall.LOCK_SH, func(*os.Root) error {
		s, records, err := r.read(ctx, sub.Issue)
		if err != nil && !errors.Is(err, handoff.NotFound) { // the run's first file
			return err
		}
		digest := digestOf(sub.Body)
		repeats := s.Notes == nil || digestOf(s.Notes) == digest || s.isOutdated(contract.State)
		receipt.Written, err = r.writer(sub.Issue).Write(ctx, handoff.Draft{
			Channel: contract.State, Name: contract.StateFile, Body: bytes.NewReader(sub.Body), MediaType: "application/yaml",
			Title: title(contract.State, sub.Issue), Summary: summaryOf(sub.Body), Parents: sub.From,
			Key: keyOf(records, s, contract.StateFile, digest, []byte(s.Issue+" state "+digest), func(handoff.Artifact) bool {
				return repeats
			}),
		})
		return err
	})
	return receipt, err
}

// checkNotes validates the planner's notes: a YAML mapping about this issue, whose
// status and stages are known.
func checkNotes(p *contract.Pipeline, issue string, b []byte) pipeline.Report {
	r := pipeline.Report{Errors: []jsonschema.Problem{}, Warnings: []jsonschema.Problem{}}
	add := func(list *[]jsonschema.Problem, text string, at ...string) {
		*list = append(*list, jsonschema.Problem{Pointer: jsonschema.Pointer(at...), Text: text})
	}
	if len(b) > contract.MaxArtifact {
		add(&r.Errors, fmt.Sprintf("is larger than %d bytes", contract.MaxArtifact))
		return r
	}
	if err := yaml.Load(b, &r.Value); err != nil || r.Value == nil {
		reason := "is not a YAML mapping"
		if err != nil {
			reason = plainfile.InvalidAt(err).Error()
		}
		add(&r.Errors, reason)
		return r
	}
	if !sameIssue(r.Value, issue) {
		add(&r.Errors, fmt.Sprintf("is %q, must be %q", fmt.Sprint(r.Value["issue"]), issue), "issue")
	}
	if status := contract.Text(r.Value["status"]); !slices.Contains([]string{"in_progress", "completed", "failed",
		"paused"}, status) {
		add(&r.Errors, fmt.Sprintf("is %q, must be in_progress, completed, failed or paused", status), "status")
	}
	if stage := contract.Text(r.Value["current_stage"]); stage != "" && stage != beforeStages && !declared(p, stage) {
		add(&r.Warnings, fmt.Sprintf("is %q, which is not a stage", stage), "current_stage")
	}
	return r
}

// sameIssue reports whether notes are about an issue: by their issue_number, or by
// their issue, unless that is a title.
func sameIssue(notes map[string]any, issue string) bool {
	if number := notes["issue_number"]; number != nil {
		return strings.EqualFold(fmt.Sprint(number), issue) || strings.EqualFold(fmt.Sprint(notes["issue"]), issue)
	}
	name := fmt.Sprint(notes["issue"])
	return notes["issue"] == nil || strings.EqualFold(name, issue) || contract.CheckIssue(name) != nil
}

// summaryOf returns one line about notes.
func summaryOf(b []byte) string {
	var notes map[string]any
	_ = yaml.Load(b, &notes) // it was validated
	stage := contract.Text(notes["current_stage"])
	if !slices.Contains(strings.Fields(stage), stage) {
		stage = ""
	}
	return join(contract.Text(notes["status"]), stage)
}
