package mcp

import (
	"context"

	"github.com/agent-handoff/handoff/pipeline"
)

// A StageNextInput has the arguments of stage_next.
type StageNextInput struct {
	Common
	Issue       string `json:"issue"`
	AcceptStale bool   `json:"acceptStale,omitempty" jsonschema:"do not repeat stages whose inputs changed"`
}

var stageNext = tool[StageNextInput]{
	name:        "stage_next",
	description: "Return the next stage of an issue's pipeline run: its agent, inputs and outputs.",
	reads:       true,
	output: []output{{pipeline.Step{}, []string{"stage", "agent", "reads", "writes", "ticket", "findings", "reason",
		"done", "open.id", "outdated.path"}}},
	do: func(ctx context.Context, c *call, in StageNextInput) (answer, error) {
		step, err := c.Pipelines().Next(ctx, in.Issue, in.AcceptStale)
		if err != nil {
			return answer{}, err
		}
		text := step.String()
		for _, c := range step.Decide {
			for _, hint := range c.Settle() {
				text += hintText(hint) + "\n"
			}
		}
		for _, o := range step.Outdated {
			text += o.String() + "\n"
		}
		return answer{data: step, text: text}, nil
	},
}
