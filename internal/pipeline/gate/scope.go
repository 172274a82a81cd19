package gate

import (
	"fmt"
	"slices"

	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/jsonschema"
)

// ComparesChanges reports whether the gate of a stage compares the files that
// changed in the repository.
func ComparesChanges(stage *contract.Stage) bool {
	return stage.Has(contract.CheckChanges) || stage.Has(contract.CheckMerge)
}

// Planned returns a function that reports whether a plan contains a file.
func Planned(plan map[string]any) func(file string) bool {
	return newPaths(contract.Texts(plan["affected_files"])).match
}

// implement compares three lists: the planned files, the files that the worker
// lists, and the files that changed according to git.
func (v checker) implement(p *contract.Pipeline, s Artifacts, a map[string]any) {
	planned, ok := v.planned(p, s)
	if !ok {
		return
	}
	claimed := contract.Texts(a["files_changed"])
	completed := contract.Text(a["status"]) == "completed"
	allowed, changed := newPaths(planned), newPaths(nil)
	if v.compared != nil {
		changed.exact = setOf(v.compared.Changed)
	}
	for i, file := range claimed {
		at := jsonschema.Pointer("files_changed", fmt.Sprint(i))
		if planned != nil && completed && !allowed.match(file) {
			v.error("claim_planned", at, "files_changed has %s, which is not in affected_files", file)
		} else if v.compared != nil && !changed.match(file) {
			v.error("claim_changed", at, "files_changed has %s, which did not change", file)
		}
	}
	v.scope(planned, claimed, a != nil)
}

// planned returns the files of the plan, nil if the issue needs no plan.
func (v checker) planned(p *contract.Pipeline, s Artifacts) ([]string, bool) {
	stage, plan := s.Checked(p, contract.CheckPlan)
	if stage == nil || plan == nil && (stage.Optional || stage.Skip != "" && stage.Skip == s.Complexity) {
		return nil, true
	}
	if plan == nil {
		v.error("plan_exists", "", "%s not found or empty", stage.Artifact)
		return nil, false
	}
	return append([]string{}, contract.Texts(plan["affected_files"])...), true
}

// scope compares the changed files with the planned ones and, if there is a
// worker result, with the files listed there.
func (v checker) scope(planned, claimed []string, hasResult bool) {
	if v.compared == nil {
		return
	}
	allowed, listed := newPaths(planned), setOf(claimed)
	for _, file := range v.compared.Changed {
		switch {
		case planned != nil && !allowed.match(file):
			v.error("scope_extra", "", "%s changed, which is not in affected_files%s", file, v.compared.planner(file))
		case hasResult && !listed[file]:
			v.error("change_claimed", "/files_changed", "%s changed, which is not in files_changed", file)
		}
	}
	for i, unused := range allowed.unused(v.compared.Changed) {
		if unused {
			v.warn("scope_missing", "", "%s is planned and did not change", planned[i])
		}
	}
}

// git checks that tests and review passed before anything is merged.
func (v checker) git(p *contract.Pipeline, s Artifacts) {
	for _, result := range s.outcomes(p, contract.CheckTests) {
		switch result {
		case "PASS":
		case "SKIP":
			v.warn("tests_passed", "", "the tests were skipped")
		default:
			v.error("tests_passed", "", "the tests did not pass%s", colon(result))
		}
	}
	for _, result := range s.outcomes(p, contract.CheckReview) {
		switch result {
		case "PASS":
		case "SKIP": // of an artifact that was accepted as it is
			v.warn("review_passed", "", "the review was skipped")
		default:
			v.error("review_passed", "", "the review did not pass%s", colon(result))
		}
	}
	_, plan := s.Checked(p, contract.CheckPlan)
	planned := contract.Texts(plan["affected_files"])
	if plan != nil {
		v.scope(append([]string{}, planned...), nil, false)
	}
	if v.compared != nil && v.compared.merge != nil {
		_, work := s.Checked(p, contract.CheckChanges)
		v.merge(*v.compared.merge, planned, contract.Texts(work["files_changed"]))
	}
}

// merge checks that the branch and the commit of a git result exist, and that the
// commit contains the change.
func (v checker) merge(m merge, planned, claimed []string) {
	switch {
	case m.commit == "":
		v.error("commit_exists", "/commit_sha", "commit %s does not exist", m.commitName)
	case m.branch != "" && !m.onBranch:
		v.error("commit_on_branch", "/commit_sha", "commit %s is not on branch %s", m.commitName, m.branchName)
	}
	switch {
	case m.branch == "" && m.merged:
		v.warn("branch_exists", "/branch", "branch %s does not exist; its commit is merged", m.branchName)
	case m.branch == "":
		v.error("branch_exists", "/branch", "branch %s does not exist", m.branchName)
	}
	if m.commit == "" {
		return
	}
	allowed := newPaths(planned)
	for _, file := range m.missing {
		if len(planned) > 0 && !allowed.match(file) {
			continue // scope_extra
		}
		v.error("commit_has_change", "/commit_sha", "commit %s does not contain the change to %s", m.commitName, file)
	}
	changed := setOf(m.changed)
	absent := slices.DeleteFunc(slices.Clone(claimed), func(file string) bool {
		return changed[clean(file)] || slices.Contains(m.missing, clean(file))
	})
	if m.merged && len(absent) < len(claimed) {
		return // the other files can be in earlier commits
	}
	for _, file := range absent {
		v.error("commit_has_change", "/commit_sha", "commit %s does not change %s, which is in files_changed", m.commitName,
			file)
	}
}

func colon(result string) string {
	if result == "" {
		return ""
	}
	return ": " + result
}
