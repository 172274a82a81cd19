package mcp

import (
	"context"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/workspace/sessions"
)

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
	description: "Publish a file in a session's folder and list it in its manifest.",
	output:      []output{{handoff.Published{}, publishedMembers}},
	do: func(ctx context.Context, c *call, in SessionOutputInput) (answer, error) {
		done, err := c.Sessions().AddOutput(ctx, in.Session, sessions.Output{
			File: in.File, Type: in.Type, Description: in.Description, Channel: in.Channel, Replaces: in.Replaces, From: in.From,
		})
		if err != nil {
			return answer{}, err
		}
		text := warned("added "+described(c.Workspace, done.Artifact), done.Warnings)
		return answer{data: done, text: text, links: links(done.Artifact)}, nil
	},
}
