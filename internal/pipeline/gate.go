package pipeline

import (
	"fmt"
	"strings"

	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/internal/pipeline/gate"
)

// A GateResult is the result of the gate of a stage of a run.
type GateResult struct {
	gate.Result
	Next *Step `json:"next,omitempty"` // the next step of the run, if the verdict is FAIL
}

// Gate checks a stage of a run with gate.Check.
func Gate(p *contract.Pipeline, stage string, s State, scope *gate.Scope) GateResult {
	g := GateResult{Result: gate.Check(p, stage, s.Artifacts, scope)}
	if g.Rejected {
		step := Next(p, s)
		g.Next = &step
	}
	return g
}

// Compat returns the result that the legacy script gives, for which a verdict of
// FAIL is no error.
func (g GateResult) Compat() GateResult { return GateResult{Result: g.Result.Compat()} }

// String returns the findings, one per line, a summary line and the next step.
func (g GateResult) String() string {
	if g.Next == nil {
		return g.Result.String()
	}
	return g.Result.String() + fmt.Sprintf("next: %s (%s)\n", strings.TrimSpace(g.Next.Agent+" "+g.Next.Stage), strings.ReplaceAll(g.Next.Reason, "\n", " "))
}
