// Package gate checks whether a stage of a pipeline is ready to build on.
//
// A gate checks one artifact against its contract, for consistency, against the
// artifacts of earlier stages, and against the files that changed in the git
// repository. Which rules a stage has is part of its definition.
package gate

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/jsonschema"
	"github.com/agent-handoff/handoff/pipeline"
)

// rejected reports whether the verdict of an artifact is FAIL. In a stage whose
// contract has no verdict, the key is unknown and means nothing.
func rejected(r pipeline.Report) bool {
	unknown := func(p jsonschema.Problem) bool { return p.Pointer == "/verdict" }
	return strings.EqualFold(contract.Text(r.Value["verdict"]), "FAIL") && !slices.ContainsFunc(r.Warnings, unknown)
}

// Check checks a stage's artifact against its contract, for consistency, and
// against the artifacts of earlier stages. A scope, if there is one, contains the
// changed files; they are compared with the plan and with the worker's own list.
// A stage that is not in the pipeline is one error. An artifact whose verdict is
// FAIL does not pass, even if it is consistent. Check changes nothing.
func Check(p *contract.Pipeline, name string, s Artifacts, scope *Scope) pipeline.GateResult {
	v := checker{GateResult: &pipeline.GateResult{Stage: name, Findings: []pipeline.Finding{}}, compared: scope}
	if scope != nil {
		v.Scope = &scope.Changes
	}
	if stage, err := p.Stage(name); err != nil {
		v.error("stage", "", "unknown stage %s", name)
	} else {
		v.Stage = stage.Name
		v.gate(p, stage, s)
		report := s.Outputs[stage.Name].Report
		v.Rejected = rejected(report) || !p.IsPreset() && contract.IsNegative(report.Value)
	}
	v.Pass = len(v.Errors()) == 0 && !v.Rejected
	return *v.GateResult
}

// A checker adds what it finds to a result.
type checker struct {
	*pipeline.GateResult
	compared *Scope // nil if no changes are compared
}

func (v checker) gate(p *contract.Pipeline, stage *contract.Stage, s Artifacts) {
	out, ok := s.Outputs[stage.Name]
	switch {
	case !ok:
		v.error(existsCheck(stage), "", "%s not found or empty", stage.Artifact)
	case out.Report.Value == nil:
		v.error(existsCheck(stage), "", "%s: %s", out.File, out.Unusable())
	}
	a := out.Report.Value
	for _, check := range stage.Checks {
		switch check {
		case contract.CheckPlan:
			v.own(out, func() { v.plan(a) })
		case contract.CheckChanges:
			v.implement(p, s, a)
		case contract.CheckTests:
			v.own(out, func() { v.test(a) })
		case contract.CheckReview:
			v.own(out, func() { v.review(a) })
		case contract.CheckMerge:
			v.git(p, s)
		}
	}
	if a != nil {
		v.own(out, func() {
			v.tiers(s, stage, a)
			v.contract(out.Report)
		})
	}
}

// own runs a check of the artifact itself, whose findings are warnings if the
// artifact was accepted as it is.
func (v checker) own(out Output, check func()) {
	before := len(v.Findings)
	check()
	for i := before; out.Accepted && i < len(v.Findings); i++ {
		v.Findings[i].Level = pipeline.Warning
	}
}

// existsCheck returns the name of the check that a stage's artifact exists.
func existsCheck(stage *contract.Stage) string {
	return strings.ReplaceAll(strings.TrimSuffix(stage.Artifact, ".json"), "-", "_") + "_exists"
}

func (v checker) error(check, pointer, format string, args ...any) {
	v.Findings = append(v.Findings, pipeline.Finding{Level: pipeline.Error, Check: check, Pointer: pointer,
		Text: fmt.Sprintf(format, args...)})
}

func (v checker) warn(check, pointer, format string, args ...any) {
	v.Findings = append(v.Findings, pipeline.Finding{Level: pipeline.Warning, Check: check, Pointer: pointer,
		Text: fmt.Sprintf(format, args...)})
}

// contract adds the problems of a report, except for pointers that already have
// a finding.
func (v checker) contract(r pipeline.Report) {
	named := map[string]bool{}
	for _, f := range v.Findings {
		named[f.Pointer] = f.Pointer != ""
	}
	for _, problem := range r.Errors {
		if !named[problem.Pointer] {
			v.error("contract", problem.Pointer, "%s", problem)
		}
	}
	for _, problem := range r.Warnings {
		v.warn("contract", problem.Pointer, "%s", problem)
	}
}

// maxCriterion is the maximum length of an acceptance criterion in a finding, in
// characters.
const maxCriterion = 80

func (v checker) plan(a map[string]any) {
	if a == nil {
		return
	}
	planned, steps, mapping := contract.Texts(a["affected_files"]), contract.List(a["steps"]),
		contract.Object(a["acceptance_mapping"])
	if len(planned) == 0 {
		v.error("affected_files", "/affected_files", "affected_files is empty")
	}
	if len(steps) == 0 {
		v.error("steps", "/steps", "steps is empty")
	}
	if len(mapping) == 0 {
		v.error("ac_mapping", "/acceptance_mapping", "acceptance_mapping is empty")
	}
	for _, criterion := range slices.Sorted(maps.Keys(mapping)) {
		if !HasTest(mapping[criterion]) {
			v.error("ac_test_mapped", jsonschema.Pointer("acceptance_mapping", criterion), "no test for criterion: %s",
				clip(criterion, maxCriterion))
		}
	}
	names, allowed := []string{}, newPaths(planned)
	if len(allowed.patterns) == maxPatterns {
		v.warn("affected_files", "/affected_files", "has %d or more patterns; the rest are matched literally", maxPatterns)
	}
	for i, step := range steps {
		file := contract.Text(contract.Object(step)["file"])
		if file == "" {
			continue
		}
		names = append(names, file)
		if !allowed.match(file) {
			v.error("step_in_affected", jsonschema.Pointer("steps", fmt.Sprint(i), "file"),
				"step %d changes %s, which is not in affected_files", i+1, file)
		}
	}
	for i, unused := range allowed.unused(names) {
		if unused {
			v.error("file_has_step", jsonschema.Pointer("affected_files", fmt.Sprint(i)), "no step changes %s", planned[i])
		}
	}
}

// HasTest reports whether the value of an acceptance criterion in a plan names
// its tests.
func HasTest(tests any) bool {
	if words, ok := tests.([]any); ok {
		return len(words) > 0 && !slices.ContainsFunc(words, func(word any) bool { return !HasTest(word) })
	}
	s, ok := tests.(string)
	return tests != nil && (!ok || strings.TrimSpace(s) != "")
}

func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n])
	}
	return s
}

// check is one of the checks of a test result.
type check struct{ name, pointer, result string }

// checks returns the checks of a phase, an object by name or a list. The
// deprecated field status is read as result; if a check has both, the worse one
// counts.
func checks(v any, at ...string) []check {
	var found []check
	add := func(name string, item any) {
		c := check{name, jsonschema.Pointer(append(slices.Clone(at), name)...), contract.Text(item)}
		for _, field := range []string{"result", "status"} {
			if result := strings.ToUpper(contract.Text(contract.Object(item)[field])); result == "FAIL" || c.result == "" {
				c.result = result
			}
		}
		found = append(found, c)
	}
	for _, name := range slices.Sorted(maps.Keys(contract.Object(v))) {
		add(name, contract.Object(v)[name])
	}
	for i, item := range contract.List(v) {
		add(fmt.Sprint(i), item)
	}
	return found
}

// CountChecks returns the number of checks in a test result and of the failed
// ones.
func CountChecks(a map[string]any) (failed, all int) {
	list := append(checks(a["phase_1"]), checks(contract.Object(a["phase_2"])["checks"])...)
	for _, c := range list {
		if c.result == "FAIL" {
			failed++
		}
	}
	return failed, len(list)
}

func failed(list []check) *check {
	for i := range list {
		if strings.EqualFold(list[i].result, "FAIL") {
			return &list[i]
		}
	}
	return nil
}

func (v checker) test(a map[string]any) {
	if a == nil {
		return
	}
	first := checks(a["phase_1"], "phase_1")
	second := checks(contract.Object(a["phase_2"])["checks"], "phase_2", "checks")
	bad := failed(first)
	if bad != nil && a["phase_2"] != nil {
		v.error("phase_2_gated", "/phase_2", "phase 2 was run although %s failed in phase 1", bad.name)
	}
	switch c := a["classification"]; c {
	case nil, "fix_target", "plan_defect":
	default:
		v.error("classification_valid", "/classification", "classification must be null, fix_target or plan_defect")
	}
	if bad == nil {
		bad = failed(second)
	}
	trace := contract.Object(a["phase_2"])["stack_trace"]
	switch verdict := contract.Text(a["verdict"]); {
	case bad != nil && verdict != "FAIL":
		v.error("verdict_consistent", "/verdict", "verdict is %s although %s failed", verdict, bad.name)
	case bad == nil && verdict == "FAIL" && (trace == nil || trace == ""):
		v.error("verdict_consistent", "/verdict", "verdict is FAIL although no check failed")
	}
}

func (v checker) review(a map[string]any) {
	if a == nil {
		return
	}
	blockers, concerns := contract.List(a["blockers"]), contract.List(a["concerns"])
	switch verdict := contract.Text(a["verdict"]); {
	case verdict == "PASS" && len(blockers)+len(concerns) > 0:
		v.error("verdict_consistent", "/verdict", "verdict is PASS with %d blocker(s) and %d concern(s)", len(blockers),
			len(concerns))
	case verdict == "FAIL" && len(blockers)+len(concerns) == 0:
		v.error("verdict_consistent", "/verdict", "verdict is FAIL without blockers or concerns")
	}
	for _, kind := range []string{"blockers", "concerns"} {
		for i, item := range contract.List(a[kind]) {
			finding, at := contract.Object(item), []string{kind, fmt.Sprint(i)}
			if finding == nil {
				v.error("finding_has_file", jsonschema.Pointer(at...), "%s is not an object with a file and a line",
					path.Join(at...))
				continue
			}
			if strings.TrimSpace(contract.Text(finding["file"])) == "" {
				v.error("finding_has_file", jsonschema.Pointer(append(at, "file")...), "%s has no file", path.Join(at...))
			}
			if n, ok := contract.Integer(finding["line"]); !ok || n < 1 {
				v.error("finding_has_line", jsonschema.Pointer(append(at, "line")...), "%s has no line", path.Join(at...))
			}
		}
	}
}

// tiers checks the tiers in an artifact: a complex issue can't be worked on in the
// fast tier, and an escalation leads to a higher tier.
func (v checker) tiers(s Artifacts, stage *contract.Stage, a map[string]any) {
	if !stage.Has(contract.CheckPlan) && s.Complexity == "complex" && contract.Text(a["tier_used"]) == "fast" {
		v.error("tier_complex_no_fast", "/tier_used", "the fast tier is not allowed for a complex issue")
	}
	for i, step := range contract.List(a["escalation_history"]) {
		from, to := slices.Index(contract.Tiers, contract.Text(contract.Object(step)["from_tier"])),
			slices.Index(contract.Tiers, contract.Text(contract.Object(step)["to_tier"]))
		if from >= 0 && to >= 0 && from >= to {
			v.error("escalation_tier_progression", jsonschema.Pointer("escalation_history", fmt.Sprint(i)),
				"escalation from tier %s to %s, which is not higher", contract.Tiers[from], contract.Tiers[to])
		}
	}
}
