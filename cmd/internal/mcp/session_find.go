package mcp

import (
	"context"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/workspace/sessions"

	"github.com/agent-handoff/handoff/internal/tool/printable"
)

// A SessionFindInput has the arguments of session_find.
type SessionFindInput struct {
	Common
	Agent    string `json:"agent,omitempty"`
	Workflow string `json:"workflow,omitempty" jsonschema:"regular expression for its name"`
	Status   string `json:"status,omitempty"`
	Type     string `json:"type,omitempty" jsonschema:"of an output it must have"`
	Tag      string `json:"tag,omitempty"`
	Since    string `json:"since,omitempty"`
	Runs     bool   `json:"runs,omitempty" jsonschema:"runs inside sessions too"`
	Limit    int    `json:"limit,omitempty" jsonschema:"default 20"`
	Cursor   string `json:"cursor,omitempty"`
}

type sessionData struct {
	ID       string    `json:"id"`
	Agent    string    `json:"agent,omitempty"`
	Workflow string    `json:"workflow,omitempty"`
	Status   string    `json:"status"`
	Name     string    `json:"name,omitempty"`
	Started  time.Time `json:"startedAt,omitzero"`
	Folder   string    `json:"folder,omitempty"`
}

type sessionsData struct {
	Sessions []sessionData `json:"sessions"`
	Cursor   string        `json:"cursor,omitempty"`
}

var sessionFind = tool[SessionFindInput]{
	name:        "session_find",
	description: "Find sessions of agents, newest first.",
	reads:       true,
	required:    []string{"sessions"},
	do: func(ctx context.Context, c *call, in SessionFindInput) (answer, error) {
		if in.Limit == 0 {
			in.Limit = defaultLimit
		}
		page, err := c.Sessions().Find(ctx, sessions.Filter{
			Agent: in.Agent, Workflow: in.Workflow, Status: in.Status, OutputType: in.Type, Tag: in.Tag, Since: in.Since,
			IncludeRuns: in.Runs, Limit: in.Limit, Cursor: in.Cursor,
		})
		if err != nil {
			return answer{}, err
		}
		data, text := sessionsData{Sessions: make([]sessionData, len(page.Sessions)), Cursor: page.Cursor}, []string{
			"no sessions"}
		for i, s := range page.Sessions {
			data.Sessions[i] = sessionData{s.ID, s.Agent.Name, s.Workflow.Name, s.Status, s.LongName, s.OpenedAt,
				c.Sessions().Folder(s.Session)}
			text = append(text[:i],
				strings.Join([]string{s.ID, s.Status, printable.Word(s.Agent.Name), printable.Word(s.Workflow.Name),
					quoted(s.LongName)}, "  "))
		}
		return answer{data: data, text: strings.Join(text, "\n")}, nil
	},
}
