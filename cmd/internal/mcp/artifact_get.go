package mcp

import (
	"context"
	"slices"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/reviews"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A GetInput has the arguments of artifact_get.
type GetInput struct {
	Common
	Ref     string `json:"ref" jsonschema:"ID, name, path or CHANNEL:latest; also a session or issue"`
	History bool   `json:"history,omitempty" jsonschema:"list every revision"`

	Comment string   `json:"comment,omitempty" jsonschema:"nextComment of the last answer"`
	Compare []string `json:"compare,omitempty" jsonschema:"refs to show beside it; * for what competes with it"`
}

var artifactGet = tool[GetInput]{
	name: "artifact_get",
	description: "Look up one artifact, session or issue: who made it, from what, whether it is current, and " +
		"where its file is. " +
		"Returns no content.",
	reads: true,
	output: []output{
		{workspace.Shown{Artifact: &handoff.Artifact{}}, slices.Concat(artifactMembers, []string{
			"producer.agent", "producer.harness", "producer.session", "producer.thread", "title", "replacedBy",
			"discussion.id", "discussion.text", "nextComment"})},
		{workspace.Revisions{}, []string{"artifacts"}}, {workspace.Shown{Session: &session.Detail{}}, []string{"outputs"}},
		{workspace.Shown{}, []string{"stages"}},
		{comparedData{}, []string{"candidates.artifact.id", "candidates.by", "candidates.files", "candidates.added",
			"candidates.removed", "candidates.tests", "candidates.review", "candidates.cost.usd"}},
	},
	do: func(ctx context.Context, c *call, in GetInput) (answer, error) {
		if len(in.Compare) > 0 {
			return compared(ctx, c, in.Ref, in.Compare)
		}
		if in.History {
			h, err := c.History(ctx, in.Ref)
			if err != nil {
				return answer{}, err
			}
			return answer{data: h, text: lines(c.Workspace, h.Artifacts)}, nil
		}
		shown, err := c.Show(ctx, in.Ref, false)
		if err != nil {
			return answer{}, err
		}
		if err := c.AddTranscripts(ctx, c.client.server.o.Threads, &shown); err != nil {
			return answer{}, err
		}
		switch {
		case shown.Artifact != nil:
			a := *shown.Artifact
			var err error
			shown.Discussion, shown.NextComment, err = reviews.Part(shown.Discussion, in.Comment, maxDiscussion)
			if err != nil {
				return answer{}, err
			}
			text := discussed(described(c.Workspace, a), shown.Discussion, shown.NextComment)
			return answer{data: shown, text: text, links: links(a),
				done: func(ctx context.Context) { _ = c.Work(nil).Use(ctx, a) }}, nil
		case shown.Session != nil:
			return answer{data: shown, text: "session " + shown.Session.ID}, nil
		}
		return answer{data: shown, text: "pipeline run of issue " + in.Ref}, nil
	},
}

// links returns the links of an answer about one artifact.
func links(a handoff.Artifact) []sdk.Content { return []sdk.Content{link(a)} }
