package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/internal/pipeline/contract"
)

// Summary says in one line what came of a stage, in its outcome and in numbers:
// nothing of what its artifact says in words, for records and lists show it.
func Summary(stage *contract.Stage, a map[string]any) string {
	line := outcome(a)
	count := func(field, word string) string { return fmt.Sprintf("%d %s", len(list(a[field])), word) }
	switch stage.Name {
	case "plan":
		return fmt.Sprintf("%s, %s, %d criteria", count("affected_files", "files"), count("steps", "steps"), len(object(a["acceptance_mapping"])))
	case "implement":
		return join(line, count("files_changed", "files"), count("blockers", "blockers"))
	case "test":
		return join(line, failures(a))
	case "review":
		return join(line, count("blockers", "blockers"), count("concerns", "concerns"), count("nits", "nits"))
	}
	return line
}

// failures counts the checks of a test result, and those that failed.
func failures(a map[string]any) string {
	all := append(checks(a["phase_1"]), checks(object(a["phase_2"])["checks"])...)
	bad := 0
	for _, c := range all {
		if c.result == "FAIL" {
			bad++
		}
	}
	return fmt.Sprintf("%d of %d checks failed", bad, len(all))
}

func join(words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(word string) bool { return word == "" }), ", ")
}
