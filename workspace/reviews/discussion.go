package reviews

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
)

// A ShownComment is a comment with its text, as the reader of one revision sees it.
type ShownComment struct {
	ID         string               `json:"id"`
	ArtifactID string               `json:"artifactId"` // of the revision that it was made on
	State      handoff.CommentState `json:"state"`
	Place      handoff.Place        `json:"place,omitzero"`     // in the revision that is read
	Outdated   bool                 `json:"outdated,omitempty"` // its quote is not there any more: Place is in ArtifactID
	Text       string               `json:"text"`
	Quote      string               `json:"quote,omitempty"`
	By         handoff.Reviewer     `json:"by"`
	CreatedAt  time.Time            `json:"createdAt"`
	Signed     *handoff.Signed      `json:"signed,omitempty"`
	ResolvedBy string               `json:"resolvedBy,omitempty"` // an artifact, or the record of a reply
	ChangedBy  string               `json:"changedBy,omitempty"`  // the name of who resolved, withdrew or reopened it last
	Replies    []ShownReply         `json:"replies,omitempty"`
}

// Ref returns the short form of its ID.
func (c ShownComment) Ref() string { return handoff.ShortCommentID(c.ID) }

// At returns where the comment is, for people, "" for the artifact as a whole.
func (c ShownComment) At() string {
	at := c.Place.String()
	if c.Outdated {
		at = strings.TrimSpace(at + " of " + c.ArtifactID + " (outdated)")
	}
	return at
}

// ByLine returns comments by the line of the content of an artifact where each ends, and
// the rest: those about all of it, about a file of a directory, and outdated ones.
func ByLine(list []ShownComment) (at map[int][]ShownComment, rest []ShownComment) {
	at = map[int][]ShownComment{}
	for _, c := range list {
		if n := c.Place.LastLine; n > 0 && !c.Outdated && c.Place.Path == "" {
			at[n] = append(at[n], c)
			continue
		}
		rest = append(rest, c)
	}
	return at, rest
}

// A ShownReply is an answer to a comment, or a change of its state.
type ShownReply struct {
	ID        string               `json:"id"`
	State     handoff.CommentState `json:"state,omitempty"` // that it gave the comment
	Text      string               `json:"text,omitempty"`
	By        handoff.Reviewer     `json:"by"`
	CreatedAt time.Time            `json:"createdAt"`
	Signed    *handoff.Signed      `json:"signed,omitempty"`
}

// Discussion returns the comments of an artifact with their texts, and where they are in
// it now: the open ones first.
func (d Reviews) Discussion(ctx context.Context, a handoff.Artifact) (list []ShownComment, err error) {
	if len(a.Comments) == 0 {
		return nil, nil
	}
	redacted, err := d.c.Index.RedactedBodies(ctx)
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	for _, c := range a.Comments {
		text := d.textOf(ctx, a, c, redacted)
		shown := ShownComment{ID: c.ID, ArtifactID: c.ArtifactID, State: c.State, Place: c.Place,
			Text: text.Text, Quote: text.Quote,
			By: c.By, CreatedAt: c.CreatedAt, ResolvedBy: c.ResolvedBy,
			ChangedBy: c.ChangedBy, Signed: c.Signed}
		if c.ArtifactID != a.ID {
			shown.Place, shown.Outdated = d.moved(ctx, a, c, text, texts)
		}
		for _, r := range c.Replies {
			shown.Replies = append(shown.Replies, ShownReply{ID: r.ID, State: r.State,
				Text: d.text(ctx, r.Body, redacted).Text, By: r.By, CreatedAt: r.CreatedAt,
				Signed: r.Signed})
		}
		list = append(list, shown)
	}
	slices.SortStableFunc(list, func(a, b ShownComment) int { return cmp.Compare(a.rank(), b.rank()) })
	return list, nil
}

// TextOf returns the text of a comment on an artifact, "" if it is not known whether that is redacted.
func (d Reviews) TextOf(ctx context.Context, a handoff.Artifact, c handoff.Comment) string {
	redacted, err := d.c.Index.RedactedBodies(ctx)
	if err != nil {
		return ""
	}
	return d.textOf(ctx, a, c, redacted).Text
}

func (c ShownComment) rank() int {
	if c.State == handoff.CommentOpen {
		return 0
	}
	return 1
}

// maxHead is how many characters a comment has in a part that begins with a reply to it.
const maxHead = 200

// Part returns the comments of a list from the comment or reply with an ID on, "" for the
// first one, and the ID with which the next part begins, "" for none. The JSON of a part has at
// most size bytes, or one comment or reply. Kind: NotFound.
func Part(list []ShownComment, from string, size int) (part []ShownComment, next string, err error) {
	is := func(id string) bool { return from == "" || id == from || handoff.ShortCommentID(id) == from }
	for _, c := range list {
		replies := c.Replies
		c.Replies = nil
		if len(part) == 0 && !is(c.ID) {
			i := slices.IndexFunc(replies, func(r ShownReply) bool { return is(r.ID) })
			if i < 0 {
				continue
			}
			c.Text, replies = first(c.Text, maxHead)+"…", replies[i:]
			size -= sizeOf(c) + sizeOf(replies[0])
			c.Replies, replies = replies[:1:1], replies[1:]
		} else if size -= sizeOf(c); size < 0 && len(part) > 0 {
			return part, c.ID, nil
		}
		for _, r := range replies {
			if size -= sizeOf(r); size < 0 {
				return append(part, c), r.ID, nil
			}
			c.Replies = append(c.Replies, r)
		}
		part = append(part, c)
	}
	if from != "" && len(part) == 0 {
		return nil, "", handoff.E("find comment", from, handoff.NotFound, nil, handoff.Advice("begin with the first one"))
	}
	return part, "", nil
}

func sizeOf(v any) int {
	b, _ := handoff.EncodeJSON(v) // at worst it counts as nothing
	return len(b)
}

// textOf returns the content of the body of a comment, as it is shown with a revision of the
// artifact: without the quote if the content that it quotes was redacted.
func (d Reviews) textOf(ctx context.Context, a handoff.Artifact, c handoff.Comment,
	redacted []handoff.Digest) handoff.CommentText {
	text := d.text(ctx, c.Body, redacted)
	of := a
	if c.ArtifactID != a.ID && text.Quote != "" {
		var err error
		if of, err = d.c.Hub.Artifact(ctx, c.ArtifactID); err != nil {
			return handoff.CommentText{Text: text.Text}
		}
	}
	if of.Redacted != nil && of.Redacted.Body != "" {
		return handoff.CommentText{Text: text.Text}
	}
	return text
}

// maxBody is the size in bytes up to which the body of a comment is read.
const maxBody = 256 << 10

// text returns the content of the body of a comment. What can't be read says so.
func (d Reviews) text(ctx context.Context, body handoff.Digest, redacted []handoff.Digest) (text handoff.CommentText) {
	switch {
	case body.Value == "":
		return text
	case slices.ContainsFunc(redacted, func(r handoff.Digest) bool { return r.Value == body.Value }):
		return handoff.CommentText{Text: "(redacted)"}
	}
	b, err := d.read(ctx, body)
	if err == nil {
		err = json.Unmarshal(b, &text)
	}
	if err != nil {
		return handoff.CommentText{Text: fmt.Sprintf("(its text can't be read: %v)", err)}
	}
	return text
}
