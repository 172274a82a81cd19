package mcp

import (
	"context"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/printable"
	"github.com/agent-handoff/handoff/workspace/sessions"
)

// A SessionFindInput has the arguments of session_find.
type SessionFindInput struct {
	Common
	Agent    string `json:"agent,omitempty"`
	Workflow string `json:"workflow,omitempty" jsonschema:"regular expression for its name"`
	Status   string `json:"status,omitempty"`
	Type     string `json:"type,omitempty" jsonschema:"of an output it must have"`
	Notice   string `json:"notice,omitempty"`
	Tag      string `json:"tag,omitempty"`
	Since    string `json:"since,omitempty"`
	Runs     bool   `json:"runs,omitempty" jsonschema:"runs inside sessions too"`
	Limit    int    `json:"limit,omitempty" jsonschema:"default 20"`
	Cursor   string `json:"cursor,omitempty"`
}

// A sessionData is a session in a list: what is needed to choose it.
type sessionData struct {
	ID       string                  `json:"id"`
	Agent    handoff.SessionAgent    `json:"agent,omitzero"`
	Workflow handoff.SessionWorkflow `json:"workflow,omitzero"`
	Status   string                  `json:"status"`
	LongName string                  `json:"longName"`
	Started  time.Time               `json:"startedAt,omitzero"`
	Folder   string                  `json:"folder,omitempty"`
}

type sessionsData struct {
	Sessions []sessionData `json:"sessions"`
	Cursor   string        `json:"cursor,omitempty"`
}

var sessionFind = tool[SessionFindInput]{
	name:        "session_find",
	description: "Find sessions of agents, newest first.",
	reads:       true,
	output: []output{{sessionsData{}, []string{"sessions.id", "sessions.agent.name", "sessions.workflow.name",
		"sessions.status", "sessions.longName", "sessions.startedAt", "sessions.folder", "cursor"}}},
	do: func(ctx context.Context, c *call, in SessionFindInput) (answer, error) {
		if in.Limit == 0 {
			in.Limit = defaultLimit
		}
		page, err := c.Sessions().Find(ctx, sessions.Filter{
			Agent: in.Agent, Workflow: in.Workflow, Status: in.Status, OutputType: in.Type, Notice: in.Notice, Tag: in.Tag,
			Since: in.Since, IncludeRuns: in.Runs, Limit: in.Limit, Cursor: in.Cursor,
		})
		if err != nil {
			return answer{}, err
		}
		data, text := sessionsData{Sessions: make([]sessionData, len(page.Sessions)), Cursor: page.Cursor}, []string{
			"no sessions"}
		for i, s := range page.Sessions {
			data.Sessions[i] = sessionData{s.ID, handoff.SessionAgent{Name: s.Agent.Name},
				handoff.SessionWorkflow{Name: s.Workflow.Name}, s.Status, s.LongName, s.OpenedAt, s.Folder}
			entry := []string{s.ID, s.Status, printable.Word(s.Agent.Name), printable.Word(s.Workflow.Name), quoted(s.LongName)}
			if s.Folder != "" {
				entry = append(entry, printable.Word(s.Folder))
			}
			text = append(text[:i], strings.Join(entry, "  "))
		}
		return answer{data: data, text: strings.Join(text, "\n")}, nil
	},
}
