package pipeline

import (
	"fmt"
	"slices"
	"strings"
)

// Changes are the files that changed in the repository since a commit.
type Changes struct {
	Base    string   `json:"base"`    // the commit; "" before the first one
	Changed []string `json:"changed"` // relative to the workspace, sorted; ../ is outside of it
}

// A Level is the severity of a finding. An Error stops a run.
type Level string

const (
	Error   Level = "ERROR"
	Warning Level = "WARNING"
)

// A Finding is one violated invariant.
type Finding struct {
	Level   Level  `json:"level"`
	Check   string `json:"check"`
	Pointer string `json:"pointer"` // into the stage's artifact; "" is the document
	Text    string `json:"text"`
}

func (f Finding) String() string { return fmt.Sprintf("[%s] %s: %s", f.Level, f.Check, f.Text) }

// A GateResult is the result of a gate.
type GateResult struct {
	Stage    string    `json:"stage"`
	Findings []Finding `json:"findings"`
	Pass     bool      `json:"pass"`            // no finding is an error and the verdict is not FAIL
	Scope    *Changes  `json:"scope,omitempty"` // the changes that were compared, nil if there were none
	Rejected bool      `json:"-"`               // the verdict of the artifact is FAIL
}

// A GateVerdict is the result of a gate when its artifact was submitted, in the working tree
// of the one who submitted it.
type GateVerdict struct {
	Pass     bool      `json:"pass"`
	Findings []Finding `json:"findings"` // at most maxFindings
}

// maxFindings is how many findings a Verdict has, and maxText how long their texts are, in
// bytes.
const (
	maxFindings = 20
	maxText     = 500
)

// Verdict returns what is recorded of a result.
func (v GateResult) Verdict() *GateVerdict {
	short := &GateVerdict{Pass: v.Pass, Findings: slices.Clone(v.Findings[:min(maxFindings, len(v.Findings))])}
	for i, f := range short.Findings {
		if len(f.Text) > maxText {
			short.Findings[i].Text = strings.ToValidUTF8(f.Text[:maxText], "") + "…"
		}
	}
	return short
}

// Advisory returns the result with warnings in place of errors.
func (v GateResult) Advisory() GateResult {
	v.Findings = slices.Clone(v.Findings)
	for i := range v.Findings {
		if v.Findings[i].Level == Error {
			v.Findings[i].Level = Warning
		}
	}
	v.Pass = !v.Rejected
	return v
}

// Errors returns the findings that stop a run.
func (v GateResult) Errors() []Finding { return v.at(Error) }

// Warnings returns the findings that do not stop a run.
func (v GateResult) Warnings() []Finding { return v.at(Warning) }

func (v GateResult) at(level Level) []Finding {
	var found []Finding
	for _, f := range v.Findings {
		if f.Level == level {
			found = append(found, f)
		}
	}
	return found
}

// String returns the findings, one per line, and a summary line.
func (v GateResult) String() string {
	var b strings.Builder
	for _, f := range v.Findings {
		fmt.Fprintln(&b, f)
	}
	switch errs, warnings := len(v.Errors()), len(v.Warnings()); {
	case errs > 0:
		fmt.Fprintf(&b, "%d error(s), %d warning(s) - FAIL\n", errs, warnings)
	case v.Rejected:
		fmt.Fprintf(&b, "The verdict of stage '%s' is FAIL - FAIL\n", v.Stage)
	case warnings > 0:
		fmt.Fprintf(&b, "%d warning(s) - PASS with warnings\n", warnings)
	default:
		fmt.Fprintf(&b, "All invariants passed for stage '%s' - PASS\n", v.Stage)
	}
	return b.String()
}

// A Gate is the result of the gate of a stage of a run.
type Gate struct {
	GateResult
	Next *Step `json:"next,omitempty"` // the next step of the run, if the verdict is FAIL, or results of the stage compete
}

// String returns the findings, one per line, a summary line and the next step.
func (g Gate) String() string {
	if g.Next == nil {
		return g.GateResult.String()
	}
	return g.GateResult.String() + fmt.Sprintf("next: %s (%s)\n", strings.TrimSpace(g.Next.Agent+" "+g.Next.Stage),
		strings.ReplaceAll(g.Next.Reason, "\n", " "))
}
