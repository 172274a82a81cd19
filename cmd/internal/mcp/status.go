package mcp

import (
	"context"
	"strings"

	"github.com/agent-handoff/handoff/trace"
	"github.com/agent-handoff/handoff/transcript"
)

// A StatusInput has the arguments of status.
type StatusInput struct {
	Common
}

var status = tool[StatusInput]{
	name:        "status",
	description: "List running sessions and threads. Use it before you start other agents.",
	reads:       true,
	reports:     true,
	output: []output{{trace.Activity{}, []string{"sessions.id", "sessions.status", "sessions.displayName",
		"threads.uri", "threads.title", "collisions.path", "warnings"}}},
	do: func(ctx context.Context, c *call, _ StatusInput) (answer, error) {
		now, err := c.News(c.client.server.o.Threads).Now(ctx)
		if err != nil {
			return answer{}, err
		}
		var lines []string
		for _, s := range now.Sessions {
			lines = append(lines, "session "+s.ID+" "+quoted(s.DisplayName)+": "+s.Status+writing(c, s.Writing))
		}
		for _, t := range now.Threads {
			lines = append(lines, "thread "+t.URI+" "+quoted(t.Title)+writing(c, t.Writing))
		}
		for _, w := range now.Collisions {
			lines = append(lines, "changed by two of them: "+quoted(relative(c, w.Path)))
		}
		if lines == nil {
			lines = []string{"nothing is running"}
		}
		return answer{data: now, text: strings.Join(lines, "\n")}, nil
	},
}

// writing names the files that were changed last.
func writing(c *call, list []transcript.Write) string {
	text := ""
	for i, w := range list {
		if i == 0 {
			text = ", writing"
		}
		text += " " + quoted(relative(c, w.Path))
	}
	return text
}

// relative returns an absolute path relative to the workspace if it is inside.
func relative(c *call, path string) string { return strings.TrimPrefix(path, c.Root()+"/") }
