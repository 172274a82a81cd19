package mcp

import (
	"context"

	"github.com/agent-handoff/handoff"
)

// A LatestInput has the arguments of find_latest_output.
type LatestInput struct {
	Common
	Agent    string `json:"agent,omitempty"`
	Workflow string `json:"workflow,omitempty" jsonschema:"regular expression for its name"`
	Type     string `json:"type,omitempty" jsonschema:"document, report, data or artifact"`
}

var findLatestOutput = tool[LatestInput]{
	name:        "find_latest_output",
	description: "Return the newest output of an agent's completed sessions: its ID and file.",
	reads:       true,
	output:      []output{{handoff.Artifact{}, artifactMembers}},
	do: func(ctx context.Context, c *call, in LatestInput) (answer, error) {
		a, file, err := c.Sessions().LatestOutput(ctx, in.Agent, in.Workflow, in.Type)
		if err != nil {
			return answer{}, err
		}
		return answer{data: a, text: file + "\n" + described(c.Workspace, a), links: links(a)}, nil
	},
}
