package mcp

import (
	"context"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/workspace"
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
	description: "Find sessions of agents in this repository, newest first.",
	reads:       true,
	required:    []string{"sessions"},
	do: func(ctx context.Context, c *call, in SessionFindInput) (answer, error) {
		if in.Limit == 0 {
			in.Limit = defaultLimit
		}
		page, err := c.FindSessions(ctx, workspace.SessionFilter{
			Agent: in.Agent, Workflow: in.Workflow, Status: in.Status, OutputType: in.Type, Tag: in.Tag, Since: in.Since,
			IncludeRuns: in.Runs, Limit: in.Limit, Cursor: in.Cursor,
		})
		if err != nil {
			return answer{}, err
		}
		data, text := sessionsData{Sessions: make([]sessionData, len(page.Sessions)), Cursor: page.Cursor}, []string{"no sessions"}
		for i, s := range page.Sessions {
			data.Sessions[i] = sessionData{s.ID, s.Agent.Name, s.Workflow.Name, s.Status, s.LongName, s.OpenedAt, c.Folder(s.Session)}
			text = append(text[:i], strings.Join([]string{s.ID, s.Status, s.Agent.Name, s.Workflow.Name, quoted(s.LongName)}, "  "))
		}
		return answer{data: data, text: strings.Join(text, "\n")}, nil
	},
}

// A SessionOutputInput has the arguments of session_add_output.
type SessionOutputInput struct {
	Common
	File        string   `json:"file" jsonschema:"in the session's folder"`
	Type        string   `json:"type" jsonschema:"document, report, data or artifact"`
	Description string   `json:"description,omitempty"`
	Channel     string   `json:"channel,omitempty"`
	Session     string   `json:"session,omitempty" jsonschema:"default yours"`
	Replaces    []string `json:"replaces,omitempty"`
	From        []string `json:"from,omitempty"`
}

var sessionAddOutput = tool[SessionOutputInput]{
	name:        "session_add_output",
	description: "Publish a file in a session's folder and list it in the session's manifest.",
	required:    []string{"id", "path"},
	do: func(ctx context.Context, c *call, in SessionOutputInput) (answer, error) {
		done, err := c.AddOutput(ctx, in.Session, workspace.SessionOutput{
			File: in.File, Type: in.Type, Description: in.Description, Channel: in.Channel, Replaces: in.Replaces, From: in.From,
		})
		if err != nil {
			return answer{}, err
		}
		return answer{data: done, text: warned("added "+line(done.Artifact), done.Warnings), links: links(done.Artifact)}, nil
	},
}

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
	description: "Find the newest output of an agent's completed sessions and return its ID and file.",
	reads:       true,
	required:    []string{"id", "file"},
	do: func(ctx context.Context, c *call, in LatestInput) (answer, error) {
		a, file, err := c.LatestOutput(ctx, in.Agent, in.Workflow, in.Type)
		if err != nil {
			return answer{}, err
		}
		return answer{data: latestData{a.ID, file}, text: file + "\n" + line(a), links: links(a)}, nil
	},
}
