package mcp

import (
	"context"
)

// A LatestInput has the arguments of find_latest_output.
type LatestInput struct {
	Common
	Agent    string `json:"agent,omitempty"`
	Workflow string `json:"workflow,omitempty" jsonschema:"regular expression for its name"`
	Type     string `json:"type,omitempty" jsonschema:"document, report, data or artifact"`
}

type latestData struct {
	ID   string `json:"id"`
	File string `json:"file"`
}

var findLatestOutput = tool[LatestInput]{
	name:        "find_latest_output",
	description: "Return the newest output of an agent's completed sessions: its ID and file.",
	reads:       true,
	required:    []string{"id", "file"},
	do: func(ctx context.Context, c *call, in LatestInput) (answer, error) {
		a, file, err := c.Sessions().LatestOutput(ctx, in.Agent, in.Workflow, in.Type)
		if err != nil {
			return answer{}, err
		}
		return answer{data: latestData{a.ID, file}, text: file + "\n" + line(a), links: links(a)}, nil
	},
}
