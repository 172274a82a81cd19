package progress

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/internal/pipeline/gate"
)

// summarize returns one line about an artifact: its outcome and counts. It contains
// no text of the artifact, because records and lists show it.
func summarize(stage *contract.Stage, a map[string]any) string {
	line := contract.Outcome(a)
	count := func(field, noun string) string { return countOf(len(contract.List(a[field])), noun) }
	switch {
	case stage.Has(contract.CheckPlan):
		criteria := "criteria"
		if len(contract.Object(a["acceptance_mapping"])) == 1 {
			criteria = "criterion"
		}
		return fmt.Sprintf("%s, %s, %d %s", count("affected_files", "file"), count("steps", "step"),
			len(contract.Object(a["acceptance_mapping"])), criteria)
	case stage.Has(contract.CheckChanges):
		return join(line, count("files_changed", "file"), count("blockers", "blocker"))
	case stage.Has(contract.CheckTests):
		return join(line, failures(a))
	case stage.Has(contract.CheckReview):
		return join(line, count("blockers", "blocker"), count("concerns", "concern"), count("nits", "nit"))
	}
	return line
}

func countOf(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// failures counts the checks of a test result and the failed ones.
func failures(a map[string]any) string {
	failed, all := gate.CountChecks(a)
	return fmt.Sprintf("%d of %s failed", failed, countOf(all, "check"))
}

func join(words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(word string) bool { return word == "" }), ", ")
}
