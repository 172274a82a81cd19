package mcp

import (
	"context"
	"strings"

	"github.com/agent-handoff/handoff/workspace/pipelines"
)

// A StagePutInput has the arguments of stage_put.
type StagePutInput struct {
	Common
	Issue   string   `json:"issue"`
	Stage   string   `json:"stage" jsonschema:"such as plan, test"`
	Content string   `json:"content,omitempty"`
	Path    string   `json:"path,omitempty" jsonschema:"file or directory instead"`
	Outcome string   `json:"outcome,omitempty" jsonschema:"unless it is JSON: one word"`
	Lenient bool     `json:"lenient,omitempty" jsonschema:"record what violates the contract"`
	Agent   string   `json:"agent,omitempty" jsonschema:"who writes the stage"`
	From    []string `json:"from,omitempty"`
	Ticket  string   `json:"ticket,omitempty"`
}

var stagePut = tool[StagePutInput]{
	name:        "stage_put",
	description: "Validate and submit a stage's artifact for an issue. Returns every problem.",
	output:      []output{{pipelines.Submitted{}, publishedMembers}},
	do: func(ctx context.Context, c *call, in StagePutInput) (answer, error) {
		w := c.Workspace
		if in.Agent != "" {
			caller := w.Caller()
			caller.Producer.Agent = in.Agent
			w = w.As(caller)
		}
		sub := pipelines.Submission{Issue: in.Issue, Stage: in.Stage, Path: in.Path, From: in.From,
			Ticket: in.Ticket, Outcome: in.Outcome, Lenient: in.Lenient}
		if in.Path == "" || in.Content != "" {
			sub.Body = strings.NewReader(in.Content)
		}
		done, err := w.Pipelines().Put(ctx, sub)
		if err != nil {
			return answer{}, err
		}
		warnings := done.Warnings
		for _, p := range done.Report.Warnings {
			warnings = append(warnings, p.String())
		}
		text := warned("submitted "+described(c.Workspace, done.Artifact), warnings)
		return answer{data: done, text: text, links: links(done.Artifact)}, nil
	},
}
