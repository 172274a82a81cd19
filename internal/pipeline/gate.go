package pipeline

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/internal/jsonschema"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
)

// A Level says whether a finding stops a run.
type Level string

const (
	Error   Level = "ERROR"
	Warning Level = "WARNING"
)

// A Finding is one invariant that a stage's artifacts break.
type Finding struct {
	Level   Level  `json:"level"`
	Check   string `json:"check"`
	Pointer string `json:"pointer"` // into the stage's artifact; "" is all of it
	Text    string `json:"text"`
}

func (f Finding) String() string { return fmt.Sprintf("[%s] %s: %s", f.Level, f.Check, f.Text) }

// A Verdict is a gate's answer: everything that it found.
type Verdict struct {
	Stage    string    `json:"stage"`
	Findings []Finding `json:"findings"`
	Pass     bool      `json:"pass"`            // there are no errors: the stage may be built upon
	Scope    *Scope    `json:"scope,omitempty"` // what it was held against
}

// Errors are the findings that stop a run.
func (v Verdict) Errors() []Finding { return v.at(Error) }

// Warnings are the findings that don't.
func (v Verdict) Warnings() []Finding { return v.at(Warning) }

func (v Verdict) at(level Level) []Finding {
	var found []Finding
	for _, f := range v.Findings {
		if f.Level == level {
			found = append(found, f)
		}
	}
	return found
}

// String is the findings, a line each, and the line that sums them up.
func (v Verdict) String() string {
	var b strings.Builder
	for _, f := range v.Findings {
		fmt.Fprintln(&b, f)
	}
	switch errs, warnings := len(v.Errors()), len(v.Warnings()); {
	case errs > 0:
		fmt.Fprintf(&b, "%d error(s), %d warning(s) - FAIL\n", errs, warnings)
	case warnings > 0:
		fmt.Fprintf(&b, "%d warning(s) - PASS with warnings\n", warnings)
	default:
		fmt.Fprintf(&b, "All invariants passed for stage '%s' - PASS\n", v.Stage)
	}
	return b.String()
}

// Gate holds a stage's artifact against its contract, against itself, and
// against the artifacts before it. A scope, where there is one, says which files
// changed, and is held against the plan and the worker's own list. A stage that
// the pipeline hasn't gets one error. Gate only answers.
func Gate(p *contract.Pipeline, name string, s State, scope *Scope) Verdict {
	v := &Verdict{Stage: name, Findings: []Finding{}, Scope: scope}
	if stage, err := p.Stage(name); err != nil {
		v.error("stage", "", "there is no stage %s", name)
	} else {
		v.Stage = stage.Name
		v.gate(p, stage, s)
	}
	v.Pass = len(v.Errors()) == 0
	return *v
}

func (v *Verdict) gate(p *contract.Pipeline, stage *contract.Stage, s State) {
	out, there := s.Outputs[stage.Name]
	if !there || out.Report.Value == nil {
		v.error(existence(stage), "", "%s not found or empty%s", stage.Artifact, because(out))
	}
	a := out.Report.Value
	switch stage.Name {
	case "plan":
		v.plan(a, there && a != nil)
	case "implement":
		v.implement(p, s, a)
	case "test":
		v.test(a)
	case "review":
		v.review(a)
	case "git":
		v.git(s)
	}
	if a != nil {
		v.tiers(s, stage.Name, a)
		v.contract(out.Report)
	}
}

func because(out Output) string {
	if len(out.Report.Errors) == 0 {
		return ""
	}
	return ": " + out.Report.Errors[0].Text
}

// existence is the name of the check that a stage's artifact is there.
func existence(stage *contract.Stage) string {
	return strings.ReplaceAll(strings.TrimSuffix(stage.Artifact, ".json"), "-", "_") + "_exists"
}

func (v *Verdict) error(check, pointer, format string, args ...any) {
	v.Findings = append(v.Findings, Finding{Error, check, pointer, fmt.Sprintf(format, args...)})
}

func (v *Verdict) warn(check, pointer, format string, args ...any) {
	v.Findings = append(v.Findings, Finding{Warning, check, pointer, fmt.Sprintf(format, args...)})
}

// contract adds what the contract says, but for places that a check named.
func (v *Verdict) contract(r contract.Report) {
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

// maxCriterion is how much of an acceptance criterion a finding shows, in
// characters.
const maxCriterion = 80

func (v *Verdict) plan(a map[string]any, there bool) {
	if !there {
		return
	}
	planned, steps, mapping := texts(a["affected_files"]), list(a["steps"]), object(a["acceptance_mapping"])
	if len(planned) == 0 {
		v.error("affected_files", "/affected_files", "names no file")
	}
	if len(steps) == 0 {
		v.error("steps", "/steps", "has no step")
	}
	if len(mapping) == 0 {
		v.error("ac_mapping", "/acceptance_mapping", "maps no acceptance criterion")
	}
	for _, criterion := range sortedKeys(mapping) {
		if unmapped(mapping[criterion]) {
			v.error("ac_test_mapped", jsonschema.Pointer("acceptance_mapping", criterion), "no test proves: %s", clip(criterion, maxCriterion))
		}
	}
	names, mayChange := []string{}, newPaths(planned)
	if len(mayChange.patterns) == maxPatterns {
		v.warn("affected_files", "/affected_files", "has more than %d patterns, or as many; others are taken as they are written", maxPatterns)
	}
	for i, step := range steps {
		file := text(object(step)["file"])
		if file == "" {
			continue
		}
		names = append(names, file)
		if !mayChange.cover(file) {
			v.error("step_in_affected", jsonschema.Pointer("steps", fmt.Sprint(i), "file"), "step %d changes %s, which is not in affected_files", i+1, file)
		}
	}
	for i, idle := range mayChange.idle(names) {
		if idle {
			v.error("file_has_step", jsonschema.Pointer("affected_files", fmt.Sprint(i)), "no step changes %s", planned[i])
		}
	}
}

func unmapped(tests any) bool {
	if words, ok := tests.([]any); ok {
		return len(words) == 0 || slices.ContainsFunc(words, unmapped)
	}
	s, ok := tests.(string)
	return tests == nil || ok && strings.TrimSpace(s) == ""
}

func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n])
	}
	return s
}

// check is one of the checks of a test result.
type check struct{ name, pointer, result string }

// checks are the checks of a phase, whether they are listed by name or not. The
// older word for result is read as the newer one; of two, the worse counts.
func checks(v any, at ...string) []check {
	var found []check
	add := func(name string, item any) {
		c := check{name, jsonschema.Pointer(append(slices.Clone(at), name)...), text(item)}
		for _, field := range []string{"result", "status"} {
			if said := strings.ToUpper(text(object(item)[field])); said == "FAIL" || c.result == "" {
				c.result = said
			}
		}
		found = append(found, c)
	}
	for _, name := range sortedKeys(object(v)) {
		add(name, object(v)[name])
	}
	for i, item := range list(v) {
		add(fmt.Sprint(i), item)
	}
	return found
}

func failed(list []check) *check {
	for i := range list {
		if strings.EqualFold(list[i].result, "FAIL") {
			return &list[i]
		}
	}
	return nil
}

func (v *Verdict) test(a map[string]any) {
	if a == nil {
		return
	}
	first := checks(a["phase_1"], "phase_1")
	second := checks(object(a["phase_2"])["checks"], "phase_2", "checks")
	bad := failed(first)
	if bad != nil && a["phase_2"] != nil {
		v.error("phase_2_gated", "/phase_2", "phase 2 ran although %s failed in phase 1", bad.name)
	}
	switch c := a["classification"]; c {
	case nil, "fix_target", "plan_defect":
	default:
		v.error("classification_valid", "/classification", "the classification is null, fix_target or plan_defect")
	}
	if bad == nil {
		bad = failed(second)
	}
	trace := object(a["phase_2"])["stack_trace"]
	switch verdict := text(a["verdict"]); {
	case bad != nil && verdict != "FAIL":
		v.error("verdict_consistent", "/verdict", "the verdict is %s although %s failed", verdict, bad.name)
	case bad == nil && verdict == "FAIL" && (trace == nil || trace == ""):
		v.error("verdict_consistent", "/verdict", "the verdict is FAIL although no check failed")
	}
}

func (v *Verdict) review(a map[string]any) {
	if a == nil {
		return
	}
	blockers, concerns := list(a["blockers"]), list(a["concerns"])
	switch verdict := text(a["verdict"]); {
	case verdict == "PASS" && len(blockers)+len(concerns) > 0:
		v.error("verdict_consistent", "/verdict", "the verdict is PASS with %d blocker(s) and %d concern(s)", len(blockers), len(concerns))
	case verdict == "FAIL" && len(blockers)+len(concerns) == 0:
		v.error("verdict_consistent", "/verdict", "the verdict is FAIL with neither blockers nor concerns")
	}
	for _, kind := range []string{"blockers", "concerns"} {
		for i, item := range list(a[kind]) {
			finding, at := object(item), []string{kind, fmt.Sprint(i)}
			if finding == nil {
				v.error("finding_has_file", jsonschema.Pointer(at...), "%s is no object with a file and a line", path.Join(at...))
				continue
			}
			if strings.TrimSpace(text(finding["file"])) == "" {
				v.error("finding_has_file", jsonschema.Pointer(append(at, "file")...), "%s names no file", path.Join(at...))
			}
			if n, ok := integer(finding["line"]); !ok || n < 1 {
				v.error("finding_has_line", jsonschema.Pointer(append(at, "line")...), "%s names no line", path.Join(at...))
			}
		}
	}
}

// tiers holds the tiers that an artifact names against the plan's complexity and
// their order.
func (v *Verdict) tiers(s State, stage string, a map[string]any) {
	if stage != "plan" && s.Complexity == "complex" && text(a["tier_used"]) == "fast" {
		v.error("tier_complex_no_fast", "/tier_used", "the issue is complex, which the fast tier may not work on")
	}
	for i, step := range list(a["escalation_history"]) {
		from, to := slices.Index(tiers, text(object(step)["from_tier"])), slices.Index(tiers, text(object(step)["to_tier"]))
		if from >= 0 && to >= 0 && from >= to {
			v.error("escalation_tier_progression", jsonschema.Pointer("escalation_history", fmt.Sprint(i)),
				"the work went from tier %s to %s, which is no higher", tiers[from], tiers[to])
		}
	}
}
