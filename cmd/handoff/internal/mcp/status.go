package mcp

import (
	"context"
	"strings"
)

// A StatusInput has the arguments of status.
type StatusInput struct {
	Common
}

var status = tool[StatusInput]{
	name:        "status",
	description: "List running sessions and conversations. Use it before you start other agents.",
	reads:       true,
	required:    []string{"sessions", "threads"},
	do: func(ctx context.Context, c *call, _ StatusInput) (answer, error) {
		now, err := c.Activity(ctx, c.client.server.o.Threads)
		if err != nil {
			return answer{}, err
		}
		var lines []string
		for _, s := range now.Sessions {
			lines = append(lines, "session "+s.ID+" "+s.DisplayName+": "+s.Status)
		}
		for _, t := range now.Threads {
			lines = append(lines, "conversation "+t.URI+" "+t.Title)
		}
		if lines == nil {
			lines = []string{"nothing is running"}
		}
		return answer{data: now, text: strings.Join(lines, "\n")}, nil
	},
}
