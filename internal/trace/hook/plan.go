package hook

import (
	"bufio"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/trace"
)

// PlanChannel is the channel of plans that wait for a review.
const PlanChannel = "plan"

// PlanDraft returns what is published of the plan of an event.
func PlanDraft(e trace.HookEvent) handoff.Draft {
	title := "Plan"
	for lines := bufio.NewScanner(strings.NewReader(e.Plan)); lines.Scan(); {
		if heading := strings.TrimSpace(strings.TrimLeft(lines.Text(), "# ")); heading != "" {
			title = heading
			break
		}
	}
	title, _ = handoff.RedactText(title)
	return handoff.Draft{Channel: PlanChannel, Kind: "plan", Title: oneLine(title, handoff.MaxTitle),
		Body: strings.NewReader(e.Plan), Filename: "plan.md", AskReview: true}
}

// A planDecision is how the hook of a plan answers: the program takes the answer for that of
// its user. Without an answer it goes on to ask its user.
type planDecision struct {
	Behavior string `json:"behavior"`
	Message  string `json:"message,omitempty"`
	Input    any    `json:"updatedInput,omitempty"` // an answer without it does not allow a tool that asks its user
}

// AllowPlan returns what the hook of a plan prints so that the program carries it out.
func AllowPlan(e trace.HookEvent) ([]byte, error) {
	return answerPlan(planDecision{Behavior: "allow", Input: e.Input})
}

// DenyPlan returns what the hook of a plan prints so that the program changes it.
func DenyPlan(message string) ([]byte, error) {
	return answerPlan(planDecision{Behavior: "deny", Message: message})
}

func answerPlan(d planDecision) ([]byte, error) {
	type output struct {
		Event    string       `json:"hookEventName"`
		Decision planDecision `json:"decision"`
	}
	return handoff.EncodeJSON(map[string]any{"hookSpecificOutput": output{"PermissionRequest", d}})
}
