package fold

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/agent-handoff/handoff"
)

// CommentSpace is the space of pointers to the artifact of a comment, by the ID of the
// comment and by its short form.
const CommentSpace = "comment"

// discussionSpace is the space of the lines of remarks about an artifact.
const discussionSpace = "discussion"

// A remark is a review or a comment of an artifact, or that another artifact resolves
// comments of it.
type remark struct {
	ID         string                     `json:"id"` // of the record
	Seq        handoff.Seq                `json:"seq,omitempty"`
	At         time.Time                  `json:"at"`
	Import     string                     `json:"import,omitempty"`
	Origin     string                     `json:"origin,omitempty"`
	Producer   handoff.Producer           `json:"by,omitzero"`
	Comment    *handoff.ArtifactCommented `json:"comment,omitempty"`
	Review     *handoff.ArtifactReviewed  `json:"review,omitempty"`
	ResolvedBy string                     `json:"resolvedBy,omitempty"` // an artifact
	Resolved   []string                   `json:"resolved,omitempty"`   // the comments
}

func foldCommented(k Keeper, r handoff.Record, f *handoff.ArtifactCommented) error {
	id := f.ArtifactID
	if f.ReplyTo != "" {
		of, err := k.Pointer(CommentSpace, f.ReplyTo)
		if err != nil || of == "" {
			return err // what it answers is not known
		}
		id = of
	}
	for _, key := range []string{r.ID, handoff.ShortCommentID(r.ID)} {
		if err := k.PutPointer(CommentSpace, key, id); err != nil {
			return err
		}
	}
	return addRemark(k, id, remark{ID: r.ID, At: r.CreatedAt, Import: r.Import, Origin: r.Origin, Producer: r.Producer,
		Comment: f})
}

func foldReviewed(k Keeper, r handoff.Record, f *handoff.ArtifactReviewed) error {
	return addRemark(k, f.ArtifactID, remark{ID: r.ID, Seq: r.Seq, At: r.CreatedAt, Import: r.Import, Origin: r.Origin,
		Producer: r.Producer, Review: f})
}

// foldDiscussed does what follows for a new artifact from remarks about others.
func foldDiscussed(k Keeper, a *ArtifactState) error {
	if err := setLater(k, a); err != nil {
		return err
	}
	return foldResolves(k, a)
}

// foldResolves adds to the artifacts of comments that a resolves them.
func foldResolves(k Keeper, a *ArtifactState) error {
	of := map[string][]string{}
	var order []string
	for _, id := range a.Published.Resolves {
		artifact, err := k.Pointer(CommentSpace, id)
		if err != nil {
			return err
		}
		if artifact == "" {
			continue
		}
		if of[artifact] == nil {
			order = append(order, artifact)
		}
		of[artifact] = append(of[artifact], id)
	}
	for _, artifact := range order {
		m := remark{ID: a.ID, At: a.Record.CreatedAt, Import: a.Import, ResolvedBy: a.ID,
			Producer: a.Record.Producer, Resolved: of[artifact]}
		if err := addRemark(k, artifact, m); err != nil {
			return err
		}
	}
	return nil
}

// addRemark adds a remark to an artifact, and notes with its later revisions that it has
// one.
func addRemark(k Keeper, id string, m remark) error {
	a, err := k.Artifact(id)
	if err != nil {
		return err
	}
	if m.Import != "" && (!a.known() || a.Import != m.Import) {
		return nil // an import says nothing of what it did not bring
	}
	if a == nil {
		a = &ArtifactState{ID: id}
	}
	line, err := handoff.EncodeJSON(m)
	if err != nil {
		return err
	}
	if err := putLine(k, discussionSpace, id, a.Remarks, string(line)); err != nil {
		return err
	}
	a.Remarks++
	if err := k.PutArtifact(a); err != nil || a.Remarks > 1 || !a.known() {
		return err
	}
	return markLater(k, a)
}

// markLater notes with every later revision of a that an earlier one has remarks.
func markLater(k Keeper, a *ArtifactState) error {
	todo := slices.Clone(a.ReplacedBy)
	if a.Published.Name != "" {
		id, err := k.Pointer(newestSpace, nameKey(a.Published))
		for err == nil && id != "" && id != a.ID {
			todo = append(todo, id)
			var b *ArtifactState
			if b, err = k.Artifact(id); err == nil {
				id = b.Before
			}
		}
		if err != nil {
			return err
		}
	}
	for ; len(todo) > 0; todo = todo[1:] {
		b, err := k.Artifact(todo[0])
		if err != nil {
			return err
		}
		if b.Later {
			continue
		}
		b.Later = true
		if err := k.PutArtifact(b); err != nil {
			return err
		}
		todo = append(todo, b.ReplacedBy...)
	}
	return nil
}

// setLater sets whether an earlier revision of a new artifact has remarks.
func setLater(k Keeper, a *ArtifactState) error {
	for _, id := range previous(a) {
		b, err := k.Artifact(id)
		if err != nil {
			return err
		}
		a.Later = a.Later || (b != nil && (b.Remarks > 0 || b.Later))
	}
	switch {
	case a.Remarks > 0: // they came before it
		return markLater(k, a)
	case a.Later:
		return k.PutArtifact(a)
	}
	return nil
}

// previous returns the artifacts that a replaces directly, and the revision of its name
// before it.
func previous(a *ArtifactState) []string {
	if a.Before == "" {
		return a.Replaced
	}
	return append(slices.Clip(a.Replaced), a.Before)
}

// IsDiscussed reports whether a query by Discussed selects the artifact.
func (a *ArtifactState) IsDiscussed() bool {
	return a.Remarks > 0 || a.Later || (a.Published != nil && a.Published.AskReview)
}

// addDiscussion sets the reviews and comments of a view.
func addDiscussion(s Store, a *ArtifactState, v *handoff.Artifact) error {
	if a.Remarks == 0 && !a.Later {
		return nil
	}
	d, err := discussionOf(s, a)
	if err != nil {
		return err
	}
	if v.Redacted == nil || v.Redacted.Body == "" { // otherwise the bytes are others
		v.Reviews, v.SignedReviews = d.reviews(), d.signed
	}
	v.Comments = d.comments
	if !a.Later || v.Status != handoff.Active {
		return nil
	}
	return addEarlier(s, a, v)
}

// addEarlier adds what was said about earlier revisions, the nearest first.
func addEarlier(s Store, a *ArtifactState, v *handoff.Artifact) error {
	seen := map[string]bool{a.ID: true}
	decided := v.IsReviewed()
	for todo := slices.Clone(previous(a)); len(todo) > 0; todo = todo[1:] {
		if seen[todo[0]] {
			continue
		}
		seen[todo[0]] = true
		b, err := s.Artifact(todo[0])
		if err != nil {
			return err
		}
		if b.Later {
			todo = append(todo, previous(b)...)
		}
		if b.Remarks == 0 {
			continue
		}
		d, err := discussionOf(s, b)
		if err != nil {
			return err
		}
		v.Comments = append(v.Comments, handoff.OpenComments(d.comments)...)
		earlier := handoff.Artifact{Reviews: d.reviews()}
		if !decided && v.EarlierReview == nil && earlier.IsReviewed() {
			v.EarlierReview = &handoff.EarlierReview{ArtifactID: b.ID, Revision: b.Predecessors + 1,
				Reviews: earlier.Reviews}
		}
	}
	return nil
}

// A discussion is what the remarks about one artifact say.
type discussion struct {
	comments  []handoff.Comment
	decisions []decision
	signed    []handoff.Review // also those that others replaced
}

// A decision is a review with what tells its reviewer apart.
type decision struct {
	reviewer string
	review   handoff.Review
}

func discussionOf(s Store, a *ArtifactState) (d discussion, err error) {
	author := newAuthor(s, a)
	for line, err := range lines(s, discussionSpace, a.ID, a.Remarks) {
		var m remark
		if err == nil {
			err = json.Unmarshal([]byte(line), &m)
		}
		if err != nil {
			return d, err
		}
		switch {
		case m.Comment != nil:
			by, err := author.reviewer(m, m.Comment.User, m.Comment.Via)
			if err != nil {
				return d, err
			}
			d.comment(a, m, by)
		case m.Review != nil:
			by, err := author.reviewer(m, m.Review.User, m.Review.Via)
			if err != nil {
				return d, err
			}
			d.decide(a, m, by)
		default:
			if err := d.resolve(s, m); err != nil {
				return d, err
			}
		}
	}
	return d, nil
}

// comment adds a comment, or a reply to one.
func (d *discussion) comment(a *ArtifactState, m remark, by handoff.Reviewer) {
	f := m.Comment
	if f.ReplyTo == "" {
		d.comments = append(d.comments, handoff.Comment{ID: m.ID, ArtifactID: a.ID, State: handoff.CommentOpen,
			Place: f.Place, Body: f.Body, By: by, CreatedAt: m.At, Origin: m.Origin,
			Signed: handoff.NewSigned(f.Signature, f.SignedText)})
		return
	}
	c := d.find(f.ReplyTo)
	if c == nil {
		return
	}
	reply := handoff.Reply{ID: m.ID, State: f.State, Body: f.Body, By: by, CreatedAt: m.At, Origin: m.Origin,
		Signed: handoff.NewSigned(f.Signature, f.SignedText)}
	switch {
	case c.ID != f.ReplyTo && c.ID != handoff.ShortCommentID(f.ReplyTo): // about a reply, not about the comment
		for i := range c.Replies {
			if c.Replies[i].ID == f.ReplyTo && f.State == handoff.CommentWithdrawn {
				c.Replies[i].State, c.Replies[i].Body = f.State, handoff.Digest{}
				return
			}
		}
	case f.State == handoff.CommentWithdrawn:
		c.State = f.State
		c.Body = handoff.Digest{}
		c.ResolvedBy = m.ID
		c.ChangedBy = by.Name
		return
	case c.State == handoff.CommentWithdrawn:
		reply.State = ""
	case f.State == handoff.CommentResolved:
		c.State = f.State
		c.ResolvedBy = m.ID
		c.ChangedBy = by.Name
	case f.State == handoff.CommentOpen:
		c.State = f.State
		c.ResolvedBy = ""
		c.ChangedBy = by.Name
	}
	c.Replies = append(c.Replies, reply)
}

// find returns the comment with an ID, or that has the reply with the ID.
func (d *discussion) find(id string) *handoff.Comment {
	for i := range slices.Backward(d.comments) {
		c := &d.comments[i]
		if c.ID == id || handoff.ShortCommentID(c.ID) == id ||
			slices.ContainsFunc(c.Replies, func(r handoff.Reply) bool { return r.ID == id }) {
			return c
		}
	}
	return nil
}

// resolve resolves comments, unless the artifact that does was withdrawn.
func (d *discussion) resolve(s Store, m remark) error {
	by, err := s.State(m.ResolvedBy)
	if err != nil || by == nil || by.Withdrawn {
		return err
	}
	for _, id := range m.Resolved {
		if c := d.find(id); c != nil && c.State == handoff.CommentOpen {
			c.State = handoff.CommentResolved
			c.ResolvedBy = m.ResolvedBy
			c.ChangedBy = nameOf(m.Producer)
		}
	}
	return nil
}

// decide adds a decision about the bytes of the artifact.
func (d *discussion) decide(a *ArtifactState, m remark, by handoff.Reviewer) {
	f := m.Review
	if f.Digest != a.Published.Digest {
		return
	}
	r := handoff.Review{ID: m.ID, Decision: f.Decision, By: by, Comments: f.Comments, CreatedAt: m.At, Seq: m.Seq,
		Signed: handoff.NewSigned(f.Signature, f.SignedText)}
	if r.Signed != nil {
		if slices.ContainsFunc(d.signed, func(s handoff.Review) bool {
			return s.Signed.Value == r.Signed.Value && bytes.Equal(s.Signed.Text, r.Signed.Text)
		}) {
			return // a copy of an earlier record, so that nobody repeats what its author took back
		}
		d.signed = append(d.signed, r)
	}
	key := cmp.Or(by.Thread, m.Producer.Session+"\x00"+m.Producer.RunID+"\x00"+m.Producer.Agent+"\x00"+f.User)
	own := func(o decision) bool { return o.reviewer == key }
	switch {
	case f.Decision == handoff.Dismissed && by.Relation == handoff.RelationHuman:
		d.decisions = nil
		return
	case f.Decision == handoff.Dismissed:
		d.decisions = slices.DeleteFunc(d.decisions, own)
		return
	case f.Decision == handoff.Commented && slices.ContainsFunc(d.decisions, own):
		return
	}
	d.decisions = append(slices.DeleteFunc(d.decisions, own), decision{key, r})
}

func (d discussion) reviews() (list []handoff.Review) {
	for _, o := range d.decisions {
		list = append(list, o.review)
	}
	return list
}
