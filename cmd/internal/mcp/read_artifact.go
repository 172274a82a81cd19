package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/storage"
	"github.com/agent-handoff/handoff/workspace"
)

// A ReadInput has the arguments of read_artifact.
type ReadInput struct {
	Common
	Ref      string `json:"ref" jsonschema:"ID, or name such as context.md or RUN/context.md"`
	Revision int    `json:"revision,omitempty" jsonschema:"of a name, from 1"`
	Latest   bool   `json:"latest,omitempty" jsonschema:"of several with the name, the newest"`
	Offset   int64  `json:"offset,omitempty" jsonschema:"first line, from 0"`
	Limit    int64  `json:"limit,omitempty" jsonschema:"lines; default 500"`
	Bytes    bool   `json:"bytes,omitempty" jsonschema:"offset and limit are in bytes"`
	Session  string `json:"session,omitempty"`
	Run      string `json:"run,omitempty"`
}

// The limits of a page.
const (
	pageLines = 500
	pageBytes = 64 << 10
)

var readArtifact = tool[ReadInput]{
	name: "read_artifact",
	description: "Read an artifact as published, a page at a time; continue at next. For files as they are now, use " +
		"your file tool.",
	reads: true,
	output: []output{{storage.BodyPage{}, []string{"id", "content", "base64", "unit", "offset", "next", "total",
		"kept", "notices.code", "notices.text"}}},
	do: func(ctx context.Context, c *call, in ReadInput) (answer, error) {
		w := c.in(in.Session, in.Run)
		b, err := w.Read(ctx, in.Ref, workspace.ReadOptions{Revision: in.Revision, Latest: in.Latest})
		if err != nil {
			return answer{}, err
		}
		defer b.Close()
		page, err := b.Page(span(in.Offset, in.Limit, in.Bytes))
		if err != nil {
			return answer{}, err
		}
		text := fmt.Sprintf("%d bytes of binary data, base64 in the structured content", len(page.Base64))
		if page.Content != nil {
			text = *page.Content
		}
		if page.Next > 0 {
			text += fmt.Sprintf("\n[continue with offset: %d of %d %s]", page.Next, page.Total, page.Unit)
		}
		a := b.Artifact
		if about := sourceOf(b, in.Revision > 0); about != "" {
			text += "\n[" + strings.TrimPrefix(about, "\n") + "]"
		}
		return answer{data: page, text: text, done: func(ctx context.Context) { _ = w.Work(nil).Use(ctx, a) }}, nil
	},
}

// span bounds a page, so that no answer is larger than a model can take.
func span(offset, limit int64, bytes bool) storage.Span {
	largest := int64(pageLines)
	if bytes {
		largest = pageBytes
	}
	if limit <= 0 || limit > largest {
		limit = largest
	}
	return storage.Span{Offset: offset, Limit: limit, Bytes: bytes, Size: pageBytes}
}

// sourceOf returns on lines what a reader of a body should know: the notices of the
// artifact, and whether the body is what was published. That a revision was replaced is
// no news to a caller who named it.
func sourceOf(b workspace.Body, named bool) (text string) {
	a := b.Artifact
	if !b.Kept && a.Target != handoff.Available && (a.Redacted == nil || a.Redacted.Body == "") {
		text = warned(text, []string{"not verified: it has no digest, so it may have changed since it was published"})
	}
	if b.Saved {
		text = warned(text, []string{"the file was edited outside handoff; the edit was saved as " + a.ID})
	}
	if redacted := a.Redacted.Notice(); redacted != "" {
		text = warned(text, []string{redacted})
	}
	return text + noticed(slices.DeleteFunc(a.Notices(), func(n handoff.Notice) bool {
		return n.Severity == handoff.SeverityOK || named && n.Code == handoff.NoticeSuperseded
	}))
}
