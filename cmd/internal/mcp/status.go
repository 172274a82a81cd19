package mcp

import (
	"context"
	"fmt"
	"strings"

	"github.com/agent-handoff/handoff/transcript"
	"github.com/agent-handoff/handoff/workspace/news"
)

// A StatusInput has the arguments of status.
type StatusInput struct {
	Common
}

// maxNeeds is the number of lines of text about what needs a person. The data has all.
const maxNeeds = 20

var status = tool[StatusInput]{
	name:        "status",
	description: "List what needs a person, and running sessions and threads. Use it before you start other agents.",
	reads:       true,
	reports:     true,
	output: []output{{news.Status{}, []string{"needs.ref", "needs.notice.code", "needs.notice.text", "sessions.id",
		"sessions.status", "sessions.displayName", "threads.uri", "threads.title", "collisions.path", "warnings"}}},
	do: func(ctx context.Context, c *call, _ StatusInput) (answer, error) {
		now, err := c.News(c.client.server.o.Threads).Status(ctx)
		if err != nil {
			return answer{}, err
		}
		var lines []string
		settling(now.Needs)
		for i, n := range now.Needs {
			if i == maxNeeds {
				lines = append(lines, fmt.Sprintf("%d more need a person: read the resource %s", len(now.Needs)-i, newsURI))
				break
			}
			lines = append(lines, "needs a person: "+strings.TrimSpace(string(n.Notice.Code)+" "+n.Ref)+" "+quoted(n.String())+
				"; "+n.How)
		}
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
			lines = []string{"nothing needs a person, and nothing is running"}
		}
		return answer{data: now, text: strings.Join(lines, "\n")}, nil
	},
}

// settling notes at what needs a person how that is settled.
func settling(needs []news.Need) {
	for i, n := range needs {
		needs[i].How = hintText(n.Settle)
	}
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
