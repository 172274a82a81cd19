// Package reviews has the operations on reviews and comments of artifacts, which
// Workspace.Reviews of package workspace returns.
package reviews

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/core"
	"github.com/agent-handoff/handoff/internal/trace/provenance"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/workspace/candidates"
)

// Options are what reviews use of other subjects, on behalf of the same caller.
type Options struct {
	// the IDs of the artifacts whose approval a gate needs
	Gated      func(ctx context.Context) ([]string, error)
	Candidates func(*thread.Set) candidates.Candidates
}

// A Reviews value records and reads reviews and comments for the caller of a workspace.
type Reviews struct {
	c  *core.Core
	by provenance.Attribution
	o  Options
}

// New returns the reviews of a workspace. Workspace.Reviews of package workspace calls it.
func New(c *core.Core, by provenance.Attribution, o Options) Reviews { return Reviews{c, by, o} }

// Candidates returns the operations on artifacts of which one is chosen, with the threads of a
// set, by which they are compared. To choose one, set may be nil.
func (d Reviews) Candidates(set *thread.Set) candidates.Candidates { return d.o.Candidates(set) }

// A Draft is a review, comments, or both, to record about one artifact.
type Draft struct {
	Decision handoff.Decision // "" for comments, replies and states only
	Text     string           // of the comment or, with ReplyTo, Resolve or Reopen, of the reply

	// Where the comment is; the zero value is the artifact as a whole. Lines are a number
	// or two with a dash; of a patch they are those of the patch file. Quote is a text that
	// occurs once.
	// With a Side, old or new, Path is a file that a patch changes, and Lines are those of
	// that side of it.
	Path, Lines, Quote, Side string

	ReplyTo         string   // the comment that Text answers
	Resolve, Reopen []string // comments

	User string // the name of the person, if no agent is known
	Via  string // the surface, see handoff.ArtifactReviewed

	AllowSecret bool // Text may have what looks like a secret
	Sign        bool // with the SSH key of git's user.signingKey
}

// A RecordedReview is what a Review recorded.
type RecordedReview struct {
	Artifact handoff.Artifact `json:"artifact"`           // after it
	Comments []string         `json:"comments,omitempty"` // IDs of the comments and replies
	Warnings []string         `json:"warnings,omitempty"`
}

// Review records what a draft says about the artifact that a ref names: comments first,
// then the decision. A decision is about the bytes that were published.
//
// Kinds: those of Workspace.Resolve; Invalid (the draft; a text with what looks like a
// secret), NotFound (a comment, the file or the quote), Conflict (the artifact has no
// digest, or its content was redacted, so that no decision can be about its bytes),
// Unavailable (its content can't be read for a place; no signature can be made).
func (d Reviews) Review(ctx context.Context, ref string, r Draft) (RecordedReview, error) {
	r.Text = strings.TrimSpace(r.Text)
	id, err := d.c.Resolve(ctx, ref)
	if err != nil {
		return RecordedReview{}, err
	}
	a, err := d.c.Hub.Artifact(ctx, id)
	if err == nil {
		err = cmp.Or(r.check(), d.checkDecision(ctx, a, r))
	}
	if err != nil {
		return RecordedReview{}, err
	}
	facts, err := d.comments(ctx, a, r)
	if err != nil {
		return RecordedReview{}, err
	}
	done := RecordedReview{Artifact: a}
	for _, f := range facts {
		if err := d.sign(ctx, r, f); err != nil {
			return done, err
		}
		rec, warnings, err := d.c.Hub.Record(ctx, f)
		if err != nil {
			return done, err
		}
		done.Comments, done.Warnings = append(done.Comments, rec.ID), append(done.Warnings, warnings...)
		if err := d.noteMade(ctx, handoff.Reply{ID: rec.ID, Body: f.(*handoff.ArtifactCommented).Body}); err != nil {
			done.Warnings = append(done.Warnings, "the comment is not handed to an agent of this machine: "+err.Error())
		}
	}
	if r.Decision != "" {
		f := &handoff.ArtifactReviewed{ArtifactID: id, Digest: a.Digest, Decision: r.Decision, Comments: done.Comments,
			User: r.User, Via: r.Via}
		if err := d.sign(ctx, r, f); err != nil {
			return done, err
		}
		rec, warnings, err := d.c.Hub.Record(ctx, f)
		if err != nil {
			return done, err
		}
		done.Warnings = append(done.Warnings, warnings...)
		if r.Decision == handoff.Approved || r.Decision == handoff.ChangesRequested { // others are no verdict
			if err := d.noteMade(ctx, decided(rec.ID, r.Decision, a.Digest)); err != nil {
				done.Warnings = append(done.Warnings, "no agent of this machine follows the decision: "+err.Error())
			}
		}
	}
	if a.Status == handoff.Superseded {
		done.Warnings = append(done.Warnings, fmt.Sprintf("%s is replaced by %s, which this does not review", id,
			strings.Join(a.ReplacedBy, " ")))
	}
	done.Warnings = append(done.Warnings, d.c.Finish(ctx, a.Producer.Session)...)
	if done.Artifact, err = d.c.Hub.Artifact(ctx, id); err != nil {
		return done, err
	}
	return done, nil
}

// check returns an error of kind Invalid unless the parts of the draft fit.
func (r Draft) check() error {
	refuse := func(reason, hint string) error {
		return handoff.E("review", "", handoff.Invalid, errors.New(reason), handoff.Advice(hint))
	}
	states := len(r.Resolve)+len(r.Reopen) > 0
	switch {
	case !slices.Contains([]handoff.Decision{"", handoff.Approved, handoff.ChangesRequested, handoff.Commented,
		handoff.Dismissed}, r.Decision):
		return refuse(fmt.Sprintf("unknown decision %q", r.Decision),
			"the decisions are approved, changes_requested, commented and dismissed")
	case (r.Path != "" || r.Lines != "" || r.Quote != "" || r.Side != "") && (r.Text == "" || r.ReplyTo != "" || states):
		return refuse("has a place and no comment of its own", "add the text of the comment, without a reply")
	case r.ReplyTo != "" && r.Text == "":
		return refuse("a reply has no text", "add the text")
	case r.ReplyTo != "" && states:
		return refuse("has both a reply and a state", "a text beside the state is the reply")
	case (r.Decision == handoff.Commented || r.Decision == handoff.ChangesRequested) && r.Text == "":
		return refuse("has no text", "write what should change, or what you noticed")
	case r.Decision == "" && r.Text == "" && !states:
		return refuse("says nothing", "approve, request changes, or write a comment")
	}
	return handoff.CommentText{Text: r.Text}.Check()
}

// checkDecision returns an error if no decision can be about the bytes of
// the artifact.
func (d Reviews) checkDecision(ctx context.Context, a handoff.Artifact, r Draft) error {
	switch {
	case r.Decision == "" || r.Decision == handoff.Dismissed:
	case a.Digest == (handoff.Digest{}):
		return handoff.E("review", a.ID, handoff.Conflict,
			errors.New("it has no digest, so that a review can't name its bytes"),
			handoff.Suggest("publish it with a copy", handoff.ActionPublishKept, a.ID))
	case !a.Kept && (a.Target == handoff.Modified || a.Target == handoff.Missing):
		return handoff.E("review", a.ID, handoff.Conflict,
			fmt.Errorf("its file is %s and no copy was kept: its bytes can't be read", a.Target),
			handoff.Suggest("publish it with a copy", handoff.ActionPublishKept, a.ID))
	case a.Redacted != nil && a.Redacted.Body != "":
		return handoff.E("review", a.ID, handoff.Conflict,
			errors.New("its content was redacted: the bytes are not those of its digest"),
			handoff.Suggest("publish a revision", handoff.ActionPublishAs, a.ID))
	default:
		return d.readable(ctx, a)
	}
	return nil
}

// readable returns an error if the bytes of an artifact can't be read as they were published.
// Kinds: those of Hub.Open.
func (d Reviews) readable(ctx context.Context, a handoff.Artifact) error {
	body, err := d.c.Hub.Open(ctx, a.ID)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, body) // to the end, at which it is verified
	return errors.Join(err, body.Close())
}

// comments returns the facts of the comment, replies and states of a draft. Their texts
// are kept.
func (d Reviews) comments(ctx context.Context, a handoff.Artifact, r Draft) (facts []handoff.Fact, err error) {
	if r.Text != "" && !r.AllowSecret {
		if _, found := handoff.RedactText(r.Text); found {
			return nil, handoff.E("review", a.ID, handoff.Invalid, errors.New("the text has what looks like a secret"),
				handoff.Suggest("leave it out: every agent can read it", handoff.ActionAllowSecret))
		}
	}
	fact := handoff.ArtifactCommented{ArtifactID: a.ID, User: r.User, Via: r.Via}
	text := handoff.CommentText{Text: r.Text}
	if r.ReplyTo == "" && len(r.Resolve)+len(r.Reopen) == 0 {
		if r.Text == "" {
			return nil, nil
		}
		if fact.Place, err = d.place(ctx, a, r, &text); err != nil {
			return nil, err
		}
	}
	if r.Text != "" {
		if fact.Body, err = d.keep(ctx, text); err != nil {
			return nil, err
		}
	}
	add := func(to string, state handoff.CommentState) error {
		c, err := d.find(ctx, a, to)
		if err == nil && state != "" && c.State == handoff.CommentWithdrawn {
			err = handoff.E("review", to, handoff.Conflict, errors.New("it was withdrawn"),
				handoff.Advice("write another comment"))
		}
		f := fact
		f.ArtifactID, f.ReplyTo, f.State = c.ArtifactID, c.ID, state
		facts = append(facts, &f)
		return err
	}
	switch {
	case r.ReplyTo != "":
		return facts, cmp.Or(add(r.ReplyTo, ""), err)
	case len(r.Resolve)+len(r.Reopen) == 0:
		return []handoff.Fact{&fact}, nil
	}
	for _, id := range r.Resolve {
		err = cmp.Or(err, add(id, handoff.CommentResolved))
	}
	for _, id := range r.Reopen {
		err = cmp.Or(err, add(id, handoff.CommentOpen))
	}
	return facts, err
}

// find returns a comment on an artifact or an earlier revision, by the ID of it or of a reply
// to it.
func (d Reviews) find(ctx context.Context, a handoff.Artifact, id string) (handoff.Comment, error) {
	if c, err := find(a, id); err == nil || !handoff.IsCommentID(id) {
		return c, err
	}
	of, err := d.artifactOf(ctx, id) // a comment of an earlier revision that is not open
	if err != nil {
		return handoff.Comment{}, err
	}
	q := handoff.ArtifactQuery{Family: a.ID, IDs: []string{of.ID}, IncludeInactive: true, Limit: 1}
	if a.Name != "" {
		q.Family, q.Namespace, q.Name = "", a.Namespace, a.Name
	}
	page, err := d.c.Hub.Artifacts(ctx, q)
	if err == nil && len(page.Artifacts) == 1 && of.Seq < a.Seq {
		return find(of, id)
	}
	return find(a, id)
}

// find returns a comment of an artifact, by the ID of it or of a reply to it.
func find(a handoff.Artifact, id string) (handoff.Comment, error) {
	for _, c := range slices.Backward(a.Comments) {
		for _, r := range append([]handoff.Reply{{ID: c.ID}}, c.Replies...) {
			if r.ID == id || handoff.ShortCommentID(r.ID) == id {
				return c, nil
			}
		}
	}
	return handoff.Comment{}, handoff.E("review", id, handoff.NotFound, errors.New("no such comment on "+a.ID),
		handoff.Suggest("see its comments", handoff.ActionShow, a.ID))
}

func (d Reviews) keep(ctx context.Context, text handoff.CommentText) (handoff.Digest, error) {
	b, err := handoff.EncodeJSON(text)
	if err != nil {
		return handoff.Digest{}, err
	}
	return d.c.Bodies.Put(ctx, strings.NewReader(string(b)+"\n"))
}

// Withdraw hides the comment, or the reply, with an ID. Its record stays. It returns
// the artifact.
//
// Kinds: NotFound, and those of Log.Append.
func (d Reviews) Withdraw(ctx context.Context, comment string) (handoff.Published, error) {
	a, err := d.artifactOf(ctx, comment)
	if err != nil {
		return handoff.Published{}, err
	}
	id, state := comment, handoff.CommentState("")
	for _, c := range a.Comments {
		for _, r := range append([]handoff.Reply{{ID: c.ID, State: c.State}}, c.Replies...) {
			if r.ID == comment || handoff.ShortCommentID(r.ID) == comment {
				id, state = r.ID, r.State
			}
		}
	}
	if state == handoff.CommentWithdrawn {
		return handoff.Published{Artifact: a, Existing: true}, nil
	}
	f := &handoff.ArtifactCommented{ArtifactID: a.ID, ReplyTo: id, State: handoff.CommentWithdrawn}
	_, warnings, err := d.c.Hub.Record(ctx, f)
	if err != nil {
		return handoff.Published{}, err
	}
	warnings = append(warnings, d.c.Finish(ctx, a.Producer.Session)...)
	after, err := d.c.Hub.Artifact(ctx, a.ID)
	return handoff.Published{Artifact: after, Warnings: warnings}, err
}

// artifactOf returns the artifact of a comment. Kind: NotFound.
func (d Reviews) artifactOf(ctx context.Context, comment string) (handoff.Artifact, error) {
	page, err := d.c.Hub.Artifacts(ctx, handoff.ArtifactQuery{Comment: comment, IncludeInactive: true, Limit: 1})
	if err == nil && len(page.Artifacts) == 0 {
		err = handoff.E("find comment", comment, handoff.NotFound, nil,
			handoff.Suggest("list every artifact", handoff.ActionListAll))
	}
	if err != nil {
		return handoff.Artifact{}, err
	}
	return page.Artifacts[0], nil
}

// BodyOf returns the artifact of a comment or reply, and the digest of the body that has its
// text, "" if it was withdrawn or has none. Kind: NotFound.
func (d Reviews) BodyOf(ctx context.Context, comment string) (handoff.Artifact, handoff.Digest, error) {
	a, err := d.artifactOf(ctx, comment)
	if err != nil {
		return a, handoff.Digest{}, err
	}
	for _, c := range a.Comments {
		for _, r := range remarks(c) {
			if (r.ID == comment || handoff.ShortCommentID(r.ID) == comment) && r.Body.Value != "" {
				return a, r.Body, nil
			}
		}
	}
	return a, handoff.Digest{}, nil
}

// Secrets returns the bodies of comments on an artifact that have one of the known secrets,
// or what looks like one; with all, also those that quote the artifact.
func (d Reviews) Secrets(ctx context.Context, a handoff.Artifact, known map[string]string,
	all bool) (bodies []handoff.Digest) {
	for _, c := range a.Comments {
		if c.ArtifactID != a.ID {
			continue
		}
		for _, r := range remarks(c) {
			text := d.text(ctx, r.Body, nil)
			found := all && text.Quote != ""
			for _, part := range []string{text.Text, text.Quote, text.Before, text.After} {
				_, secret := handoff.RedactText(part)
				found = found || secret
				for value := range known {
					found = found || strings.Contains(part, value)
				}
			}
			if found && r.Body.Value != "" {
				bodies = append(bodies, r.Body)
			}
		}
	}
	return bodies
}

// All stands for every open comment in the list that Resolved takes.
const All = "all"

// Resolved returns the IDs of the comments that a list names, by their IDs or short forms,
// or All for those that are open on the artifacts with the given IDs or on earlier
// revisions of them.
//
// Kinds: NotFound (a comment), Invalid (All without artifacts).
func (d Reviews) Resolved(ctx context.Context, list, artifacts []string) (ids []string, err error) {
	for _, word := range list {
		if word != All {
			a, err := d.artifactOf(ctx, word)
			if err != nil {
				return nil, err
			}
			c, err := find(a, word)
			if err != nil {
				return nil, err
			}
			ids = append(ids, c.ID)
			continue
		}
		if len(artifacts) == 0 {
			return nil, handoff.E("resolve", All, handoff.Invalid, errors.New("it replaces no artifact"),
				handoff.Advice("name the artifact that it replaces, or the comments"))
		}
		for _, id := range artifacts {
			a, err := d.c.Hub.Artifact(ctx, id)
			if err != nil {
				return nil, err
			}
			for _, c := range handoff.OpenComments(a.Comments) {
				ids = append(ids, c.ID)
			}
		}
	}
	return ids, nil
}

// Waiting returns the artifacts that wait for a review, newest first, and then those whose
// approval the gate of an open pipeline run needs. See handoff.Artifact.AwaitsReview.
func (d Reviews) Waiting(ctx context.Context, q handoff.ArtifactQuery) (handoff.ArtifactPage, error) {
	q.Discussed, q.Status, q.IncludeInactive = true, handoff.Active, false
	page, err := d.c.Hub.Artifacts(ctx, q)
	page.Artifacts = slices.DeleteFunc(page.Artifacts, func(a handoff.Artifact) bool { return !a.AwaitsReview() })
	if err != nil {
		return page, err
	}
	gated, err := d.o.Gated(ctx)
	for _, id := range gated {
		is := func(a handoff.Artifact) bool { return a.ID == id }
		if a, unknown := d.c.Hub.Artifact(ctx, id); unknown == nil && !slices.ContainsFunc(page.Artifacts, is) {
			page.Artifacts = append(page.Artifacts, a)
		}
	}
	d.by.Attribute(ctx, page.Artifacts...)
	return page, err
}
