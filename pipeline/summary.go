package pipeline

import (
	"fmt"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/contract"
)

// Summary says in one line of at most handoff.MaxSummary characters what an
// artifact says.
func Summary(stage *contract.Stage, a map[string]any) string {
	line := outcome(a)
	count := func(field, word string) string { return fmt.Sprintf("%d %s", len(list(a[field])), word) }
	switch stage.Name {
	case "plan":
		line = fmt.Sprintf("%s, %s, %d criteria", count("affected_files", "files"), count("steps", "steps"), len(object(a["acceptance_mapping"])))
	case "implement":
		line = join(line, count("files_changed", "files"), text(a["summary"]))
	case "test":
		line = join(line, failures(a))
	case "debug":
		line = join(line, text(a["root_cause"]), text(a["root_cause_file"]))
	case "review":
		line = join(line, count("blockers", "blockers"), count("concerns", "concerns"), count("nits", "nits"))
	case "git":
		line = join(text(a["commit_message"]), text(a["branch"]))
	default:
		line = join(line, text(a["summary"]))
	}
	return clip(strings.Join(strings.Fields(strings.ToValidUTF8(line, "")), " "), handoff.MaxSummary)
}

// failures names the checks of a test result that failed, or counts those that
// did not.
func failures(a map[string]any) string {
	all := append(checks(a["phase_1"]), checks(object(a["phase_2"])["checks"])...)
	var failed []string
	for _, c := range all {
		if c.result == "FAIL" {
			failed = append(failed, c.name)
		}
	}
	if len(failed) > 0 {
		return strings.Join(failed, " ")
	}
	return fmt.Sprintf("%d checks", len(all))
}

func join(words ...string) string {
	var said []string
	for _, word := range words {
		if word != "" {
			said = append(said, word)
		}
	}
	return strings.Join(said, ", ")
}
