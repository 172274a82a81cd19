package progress

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/internal/pipeline/folder"
	"github.com/agent-handoff/handoff/internal/pipeline/gate"
	"github.com/agent-handoff/handoff/internal/tool/git"
	"github.com/agent-handoff/handoff/pipeline"
)

// Gate checks a stage of a run, archived or not, with gate.Check. If the gate
// compares changed files, they are those since the merge base of HEAD and base, by
// default the main branch; otherwise base must be empty. Without git the
// gate of a merge only warns.
//
// Kinds: those of Find, Invalid (the stage, the base), NotFound (no git
// repository) and Unavailable.
func (r *Runs) Gate(ctx context.Context, issue, stage, base string) (pipeline.Gate, error) {
	s, err := r.Find(ctx, issue)
	if err != nil {
		return pipeline.Gate{}, err
	}
	st, err := r.Pipeline.Stage(stage)
	if err != nil {
		return pipeline.Gate{}, err
	}
	if base != "" && !gate.ComparesChanges(st) {
		return pipeline.Gate{}, handoff.E("gate", st.Name, handoff.Invalid,
			errors.New("a base applies to stages whose gate compares changed files"),
			handoff.Advice("leave it out"))
	}
	result, err := r.check(ctx, s, st, base)
	if err == nil {
		err = r.requireApproval(ctx, s, st, &result)
	}
	ids := s.rivals(st.Name)
	if len(ids) > 0 {
		result.Findings = append(result.Findings, pipeline.Finding{Level: pipeline.Warning,
			Check: string(handoff.NoticeCompeting), Text: ids[0] + " competes with " + strings.Join(ids[1:], " ")})
	}
	if r.edited != nil {
		result.Findings = append(result.Findings, pipeline.Finding{Level: pipeline.Warning, Check: "definition",
			Text: r.edited.String()})
	}
	g := pipeline.Gate{GateResult: result}
	if g.Rejected || len(ids) > 0 {
		step, failed := r.next(ctx, s)
		g.Next, err = &step, errors.Join(err, failed)
	}
	return g, err
}

// check checks a stage of a run, with the changes that its gate compares and the
// commands that it requires.
func (r *Runs) check(ctx context.Context, s State, stage *contract.Stage, base string) (pipeline.GateResult, error) {
	result, err := r.checkArtifacts(ctx, s, stage, base)
	if err == nil {
		err = r.require(ctx, s, stage, &result)
	}
	return result, err
}

func (r *Runs) checkArtifacts(ctx context.Context, s State, stage *contract.Stage, base string) (pipeline.GateResult,
	error) {
	if !gate.ComparesChanges(stage) {
		return gate.Check(r.Pipeline, stage.Name, s.Artifacts, nil), nil
	}
	scope, err := r.Repository.Changes(ctx, base)
	if err == nil && stage.Has(contract.CheckMerge) && s.Outputs[stage.Name].Report.Value != nil {
		err = r.Repository.LookUp(ctx, &scope, s.Outputs[stage.Name].Report.Value)
	}
	if missing := errors.Is(err, handoff.NotFound) || errors.Is(err, git.ErrNotInstalled); missing &&
		stage.Has(contract.CheckMerge) {
		g := gate.Check(r.Pipeline, stage.Name, s.Artifacts, nil)
		g.Findings = append(g.Findings, pipeline.Finding{Level: pipeline.Warning, Check: "git",
			Text: "the branch, the commit and the changed files were not compared: " + reasonOf(err)})
		return g, nil
	}
	if err != nil {
		return pipeline.GateResult{}, err
	}
	scope.PlannedBy = r.plannedBy(s.Issue)
	result := gate.Check(r.Pipeline, stage.Name, s.Artifacts, &scope)
	if at := s.last(stage.Name); stage.Has(contract.CheckMerge) && at >= 0 && s.Attempts[at].Adopted &&
		s.Attempts[at].Lenient {
		result = result.Advisory() // another clone may have merged it
	}
	return result, nil
}

// require adds a finding for each command that a stage requires and that is not
// verified. If all were when exactly these bytes were submitted, only a failure since then ends it.
func (r *Runs) require(ctx context.Context, s State, stage *contract.Stage, result *pipeline.GateResult) error {
	at := s.last(stage.Name)
	passed := at >= 0 && !r.Pipeline.IsPreset() && s.Attempts[at].Digest == s.Outputs[stage.Name].Digest &&
		s.Attempts[at].Gate != nil && s.Attempts[at].Gate.Pass
	for _, need := range stage.Gate.Verified {
		verdict, reason, err := r.Verify(ctx, need.Argv, need.Dir)
		if err != nil {
			return err
		}
		if verdict != handoff.VerdictVerified && (!passed || verdict == handoff.VerdictContradicted) {
			result.Pass = false
			result.Findings = append(result.Findings, pipeline.Finding{Level: pipeline.Error, Check: "requires",
				Text: fmt.Sprintf("%q in ./%s must be verified, but is %s: %s", need.Argv, need.Dir, verdict, reason)})
		}
	}
	return nil
}

// requireApproval adds a finding if the artifact of a stage is not approved as its gate needs.
func (r *Runs) requireApproval(ctx context.Context, s State, stage *contract.Stage, result *pipeline.GateResult) error {
	_, reason, _, err := r.unapproved(ctx, s, stage)
	if reason != "" {
		result.Pass = false
		result.Findings = append(result.Findings, pipeline.Finding{Level: pipeline.Error, Check: "approved", Text: reason})
	}
	return err
}

// Unapproved returns the IDs of the artifacts of open runs whose approval their gates need.
// A run that can't be read has none.
func (r *Runs) Unapproved(ctx context.Context) (ids []string, err error) {
	err = r.each(ctx, func(r *Runs, issue string) error {
		gated := slices.ContainsFunc(r.Pipeline.Stages, func(s *contract.Stage) bool { return s.Gate.Approved != nil })
		if !gated {
			return nil
		}
		s, err := r.Read(ctx, issue)
		if err != nil {
			return nil
		}
		for _, stage := range r.Pipeline.Stages {
			open, reason, _, err := r.unapproved(ctx, s, stage)
			if err != nil {
				return err
			}
			if reason != "" {
				ids = append(ids, open...)
			}
		}
		return nil
	})
	return ids, err
}

// unapproved returns the IDs of the artifacts of a stage that are not approved as its gate
// needs, and the reason, "" if there are none. Changes says that a reviewer requested some.
func (r *Runs) unapproved(ctx context.Context, s State, stage *contract.Stage) (ids []string, reason string,
	changes bool, err error) {
	out, ok := s.Outputs[stage.Name]
	if stage.Gate.Approved == nil || !ok {
		return nil, "", false, nil
	}
	at := s.last(stage.Name)
	if at < 0 || s.Attempts[at].Digest != out.Digest || s.Attempts[at].ID == "" {
		return nil, out.File + " must be approved, and is not recorded", false, nil
	}
	for _, id := range append(slices.Clone(s.Attempts[at].Others), s.Attempts[at].ID) {
		a, err := r.Hub.Artifact(ctx, id)
		if err != nil {
			return ids, "", false, err
		}
		if !a.IsApproved(stage.Gate.Approved...) {
			ids, changes = append(ids, id), changes || a.IsRefused(stage.Gate.Approved...)
		}
	}
	by := "a person or an agent that its author did not start"
	if len(stage.Gate.Approved) > 0 {
		by = strings.Trim(fmt.Sprint(stage.Gate.Approved), "[]")
	}
	switch {
	case len(ids) == 0:
		return nil, "", false, nil
	case changes:
		return ids, out.File + ": changes were requested", true, nil
	}
	return ids, fmt.Sprintf("%s must be approved by %s: %s", out.File, by, strings.Join(ids, " ")), false, nil
}

// A wait is what the gate of a stage waits for.
type wait struct {
	agent, reason string
	outcome       string // of a review that requests changes, otherwise ""
}

// changesRequested is the outcome of a stage whose artifact a reviewer wants to be changed.
const changesRequested = string(handoff.ChangesRequested)

// addWaits finds out which gates of a run that is not archived wait for an approval, or for
// a command to be verified: when the artifact was submitted, or now. No command is run.
func (r *Runs) addWaits(ctx context.Context, s *State) {
	s.Waits = map[string]wait{}
	for _, stage := range r.Pipeline.Stages {
		if _, ok := s.Outputs[stage.Name]; !ok || s.Archived {
			continue
		}
		_, reason, changes, err := r.unapproved(ctx, *s, stage)
		switch {
		case err != nil:
			s.Waits[stage.Name] = wait{agent: contract.Human, reason: reasonOf(err)}
		case changes:
			s.Waits[stage.Name] = wait{agent: contract.Human, reason: reason, outcome: changesRequested}
		case reason != "":
			s.Waits[stage.Name] = wait{agent: contract.Human, reason: reason}
		default:
			if reason := r.unverified(ctx, *s, stage); reason != "" {
				s.Waits[stage.Name] = wait{agent: stage.Writer, reason: reason}
			}
		}
	}
}

// unverified returns which command of the gate of a stage is not verified, "" if all are.
// The gates of the built-in pipeline check that themselves.
func (r *Runs) unverified(ctx context.Context, s State, stage *contract.Stage) string {
	if r.Pipeline.IsPreset() {
		return ""
	}
	var result pipeline.GateResult
	if err := r.require(ctx, s, stage, &result); err != nil {
		return reasonOf(err)
	}
	if len(result.Findings) == 0 {
		return ""
	}
	return s.Outputs[stage.Name].File + ": " + result.Findings[0].Text
}

// reasonOf returns the reason of an error without its operation.
func reasonOf(err error) string {
	var e *handoff.Error
	if errors.As(err, &e) && e.Err != nil {
		return e.Err.Error()
	}
	return err.Error()
}

// plannedBy returns a function that returns the issue of another open run that
// plans to change a file, or "". It reads the plans when it is first called.
func (r *Runs) plannedBy(issue string) func(file string) string {
	plans := sync.OnceValue(func() map[string]func(string) bool {
		plans := map[string]func(string) bool{}
		for _, other := range folder.Open(r.Files) {
			if s, err := Read(r.Files, r.Pipeline, other); err == nil && other != issue {
				_, plan := s.Checked(r.Pipeline, contract.CheckPlan)
				plans[other] = gate.Planned(plan)
			}
		}
		return plans
	})
	return func(file string) string {
		for _, other := range slices.Sorted(maps.Keys(plans())) {
			if plans()[other](file) {
				return other
			}
		}
		return ""
	}
}
