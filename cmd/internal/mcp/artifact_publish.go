package mcp

import (
	"context"
	"errors"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/workspace/claims"
)

// A PublishInput has the arguments of artifact_publish.
type PublishInput struct {
	Common
	Path     string   `json:"path,omitempty" jsonschema:"file or directory in the workspace"`
	Content  string   `json:"content,omitempty" jsonschema:"text instead of a path"`
	Filename string   `json:"filename,omitempty" jsonschema:"of content"`
	Channel  string   `json:"channel" jsonschema:"purpose: analysis, design, patch, verification, handoff, …"`
	Kind     string   `json:"kind,omitempty" jsonschema:"form: report, patch, json, log"`
	Title    string   `json:"title,omitempty" jsonschema:"at most 120 characters"`
	Summary  string   `json:"summary,omitempty" jsonschema:"at most 500 characters"`
	Tags     []string `json:"tags,omitempty"`
	Replaces []string `json:"replaces,omitempty" jsonschema:"refs it replaces"`
	From     []string `json:"from,omitempty" jsonschema:"refs it was made from"`
	Key      string   `json:"key,omitempty" jsonschema:"idempotency key"`
	Keep     string   `json:"keep,omitempty" jsonschema:"copy it: auto, always or never"`
	Claim    string   `json:"claim,omitempty" jsonschema:"such as tests pass"`
	Resolves []string `json:"resolves,omitempty" jsonschema:"comment IDs, or all"`
	Ask      bool     `json:"askReview,omitempty"`
	Evidence []string `json:"evidence,omitempty" jsonschema:"command:LINE, thread:URI#M3 or artifact:REF"`
}

var artifactPublish = tool[PublishInput]{
	name:   "artifact_publish",
	loaded: true,
	description: "Hand a finished file to other agents and sessions of this repository, in a channel. Returns its ID. " +
		"The file stays where it is. It shows nothing to the user.",
	output: []output{{handoff.Published{}, publishedMembers}},
	do: func(ctx context.Context, c *call, in PublishInput) (answer, error) {
		p := handoff.Draft{
			Path: in.Path, Filename: in.Filename, Channel: in.Channel, Kind: in.Kind, Title: in.Title, Summary: in.Summary,
			Tags: in.Tags, Replaces: in.Replaces, Parents: in.From, Key: in.Key, Keep: handoff.Keep(in.Keep),
			Resolves: in.Resolves, AskReview: in.Ask,
		}
		if in.Claim != "" || len(in.Evidence) > 0 {
			claim, err := claimOf(in)
			if err != nil {
				return answer{}, err
			}
			p.Claims = []handoff.Claim{claim}
		}
		if in.Content != "" {
			p.Body = strings.NewReader(in.Content)
		}
		done, err := c.Claims(c.client.server.o.Threads).Publish(ctx, p)
		if err != nil {
			return answer{}, err
		}
		text := "published " + described(c.Workspace, done.Artifact)
		if done.Queued {
			text = "queued until the log can be reached: " + described(c.Workspace, done.Artifact)
		}
		if done.Existing {
			text = "already published: " + described(c.Workspace, done.Artifact)
		}
		return answer{data: done, text: warned(text, done.Warnings), links: links(done.Artifact)}, nil
	},
}

// claimOf returns the claim of an input, with its evidence. Kind: Invalid.
func claimOf(in PublishInput) (claim handoff.Claim, err error) {
	if claim.Text = in.Claim; claim.Text == "" {
		return claim, handoff.E("publish", "evidence", handoff.Invalid, errors.New("requires a claim"),
			handoff.Advice("set claim to the statement that the evidence supports"))
	}
	for _, text := range in.Evidence {
		e, err := claims.ParseEvidence(text)
		if err != nil {
			return claim, err
		}
		claim.Evidence = append(claim.Evidence, e)
	}
	return claim, nil
}
