package mcp

import (
	"context"
	"strings"

	"github.com/agent-handoff/handoff"

	"github.com/agent-handoff/handoff/workspace"
)

// A WriteInput has the arguments of write_artifact.
type WriteInput struct {
	Common
	Name    string   `json:"name" jsonschema:"such as context.md"`
	Content string   `json:"content,omitempty"`
	Path    string   `json:"path,omitempty" jsonschema:"file with the content instead"`
	Channel string   `json:"channel,omitempty" jsonschema:"default handoff"`
	Title   string   `json:"title,omitempty"`
	Summary string   `json:"summary,omitempty"`
	From    []string `json:"from,omitempty" jsonschema:"refs it was made from"`
	Session string   `json:"session,omitempty"`
	Run     string   `json:"run,omitempty"`
}

var writeArtifact = tool[WriteInput]{
	name: "write_artifact",
	description: "Store text under a name of your run: other agents can use the same one. Writing it again makes a " +
		"revision.",
	output: []output{{handoff.Published{}, publishedMembers}},
	do: func(ctx context.Context, c *call, in WriteInput) (answer, error) {
		n := handoff.Draft{Name: in.Name, Path: in.Path, Channel: in.Channel, Title: in.Title, Summary: in.Summary,
			Parents: in.From}
		if in.Path == "" || in.Content != "" {
			n.Body = strings.NewReader(in.Content)
		}
		w := c.in(in.Session, in.Run)
		done, err := w.Write(ctx, n)
		if err != nil {
			return answer{}, err
		}
		text := "wrote " + described(c.Workspace, done.Artifact)
		if done.Existing {
			text = "unchanged: " + described(c.Workspace, done.Artifact)
		}
		return answer{data: done, text: warned(text, done.Warnings), links: links(done.Artifact)}, nil
	},
}

// in returns the workspace on behalf of the caller in another session or run,
// if they are given.
func (c *call) in(session, run string) *workspace.Workspace {
	if session == "" && run == "" {
		return c.Workspace
	}
	caller := c.Caller()
	if session != "" {
		caller.Producer.Session = session
		caller.SessionDir = ""
	}
	if run != "" {
		caller.Producer.RunID = run
	}
	return c.As(caller)
}
