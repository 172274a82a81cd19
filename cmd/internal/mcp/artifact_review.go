package mcp

import (
	"context"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/workspace/reviews"
)

// A ReviewInput has the arguments of artifact_review.
type ReviewInput struct {
	Common
	Ref      string   `json:"ref"`
	Decision string   `json:"decision,omitempty" jsonschema:"approved, changes_requested, commented or dismissed"`
	Text     string   `json:"text,omitempty" jsonschema:"of the comment or reply"`
	Path     string   `json:"path,omitempty" jsonschema:"file of a directory"`
	Lines    string   `json:"lines,omitempty" jsonschema:"12-14"`
	Quote    string   `json:"quote,omitempty"`
	ReplyTo  string   `json:"replyTo,omitempty"`
	Resolve  []string `json:"resolve,omitempty"`
}

var artifactReview = tool[ReviewInput]{
	name: "artifact_review",
	description: "Review one artifact: a decision about its bytes, a comment, or replies to comments, by ID. " +
		"artifact_get has the comments.",
	output: []output{{reviews.RecordedReview{}, []string{"comments", "warnings"}}},
	do: func(ctx context.Context, c *call, in ReviewInput) (answer, error) {
		done, err := c.Reviews().Review(ctx, in.Ref, reviews.Draft{Decision: handoff.Decision(in.Decision), Text: in.Text,
			Path: in.Path, Lines: in.Lines, Quote: in.Quote, ReplyTo: in.ReplyTo, Resolve: in.Resolve, Via: handoff.ViaMCP})
		if err != nil {
			return answer{}, err
		}
		text := "recorded: " + described(c.Workspace, done.Artifact)
		if len(done.Comments) > 0 {
			text += "\ncomments: " + strings.Join(done.Comments, " ")
		}
		return answer{data: done, text: warned(text, done.Warnings), links: links(done.Artifact)}, nil
	},
}

// The limits of the comments of an answer.
const (
	maxDiscussion = 12 << 10 // bytes of the structured content
	maxSaid       = 500      // characters of each text, in the text
)

// discussed appends the open comments of an artifact to a text, as data of their authors, and
// the call that returns the rest.
func discussed(text string, list []reviews.ShownComment, next string) string {
	for _, c := range list {
		if c.State != handoff.CommentOpen {
			continue
		}
		text += "\ncomment " + c.ID + " by " + quoted(c.By.Name) + " (" + string(c.By.Relation) + ")"
		if at := c.At(); at != "" {
			text += " at " + quoted(at)
		}
		if c.Quote != "" {
			text += ", of " + quoted(cut(c.Quote))
		}
		text += ": " + quoted(cut(c.Text))
	}
	if next != "" {
		text += "\nmore comments: call artifact_get with comment: " + next
	}
	return text
}

// cut returns the first characters of a text.
func cut(text string) string {
	if r := []rune(text); len(r) > maxSaid {
		return string(r[:maxSaid]) + "…"
	}
	return text
}
