package handoff

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/agent-handoff/handoff/internal/tool/ulid"
)

// ArtifactCommented states that somebody commented on an artifact or, with ReplyTo, that
// they answered a comment or changed its state. The ID of its record is that of the
// comment: cmt_ and a ULID.
type ArtifactCommented struct {
	ArtifactID string       `json:"artifactId"`
	Place      Place        `json:"place,omitzero"`    // of the artifact as a whole if it is zero
	Body       Digest       `json:"body,omitzero"`     // of the kept body that has the CommentText
	ReplyTo    string       `json:"replyTo,omitempty"` // the ID of a comment
	State      CommentState `json:"state,omitempty"`   // that ReplyTo gets
	User       string       `json:"user,omitempty"`    // the name of the person, see ArtifactReviewed
	Via        string       `json:"via,omitempty"`     // see ArtifactReviewed

	Signature Signature `json:"signature,omitzero"`
}

// ArtifactReviewed states that somebody decided about the bytes of an artifact.
type ArtifactReviewed struct {
	ArtifactID string   `json:"artifactId"`
	Digest     Digest   `json:"digest,omitzero"` // of the bytes that the decision is about
	Decision   Decision `json:"decision"`
	Comments   []string `json:"comments,omitempty"` // IDs of the comments that belong to it

	// User is the name of the person, for a review that no agent made, as far as that is
	// known. Via is the surface: ViaTerminal, ViaCommand or ViaMCP.
	User string `json:"user,omitempty"`
	Via  string `json:"via,omitempty"`

	Signature Signature `json:"signature,omitzero"`
}

// The surfaces of reviews. Only one at a terminal can be of a person.
const (
	ViaTerminal = "terminal"
	ViaCommand  = "command"
	ViaMCP      = "mcp"
)

// A Decision is what a review says about an artifact.
type Decision string

// The decisions. The newest one of a reviewer counts; Commented replaces no other, and
// Dismissed takes back the reviewer's own or, by a person, those of everybody.
const (
	Approved         Decision = "approved"
	ChangesRequested Decision = "changes_requested"
	Commented        Decision = "commented"
	Dismissed        Decision = "dismissed"
)

// A CommentState is the state of a comment. Replies have none.
type CommentState string

// The states of comments.
const (
	CommentOpen      CommentState = "open"
	CommentResolved  CommentState = "resolved"
	CommentWithdrawn CommentState = "withdrawn" // its text is not shown
)

// A Place is the part of an artifact that a comment is about. Lines and characters are
// those of the text of the artifact or of Path; a position of characters is that of the
// quote, as in the TextPositionSelector of the W3C Web Annotation Data Model.
type Place struct {
	Path      string `json:"path,omitempty"` // of a file in a directory, slash-separated
	Side      string `json:"side,omitempty"` // of a patch: SideOld or SideNew
	FirstLine int    `json:"firstLine,omitempty"`
	LastLine  int    `json:"lastLine,omitempty"`
	Start     int    `json:"start,omitempty"` // in characters, from 0
	End       int    `json:"end,omitempty"`   // the character after the last
}

// The sides of a patch that lines belong to.
const (
	SideOld = "old"
	SideNew = "new"
)

// String returns the place for people: "notes.md lines 4-9", "" for a whole artifact.
func (p Place) String() string {
	text := p.Path
	switch {
	case p.FirstLine == 0:
	case p.LastLine > p.FirstLine:
		text += fmt.Sprintf(" lines %d-%d", p.FirstLine, p.LastLine)
	default:
		text += fmt.Sprintf(" line %d", p.FirstLine)
	}
	if p.Side == SideOld {
		text += " before the change"
	}
	return strings.TrimSpace(text)
}

// A CommentText is the content of the kept body of a comment, as JSON: no record has
// texts of comments, so that a secret in one can be redacted. Quote, Before and After are
// those of a TextQuoteSelector of the W3C Web Annotation Data Model.
type CommentText struct {
	Text   string `json:"text"`
	Quote  string `json:"quote,omitempty"` // at most MaxQuote characters of the place
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// The limits of a comment, in characters.
const (
	MaxComment      = 10_000
	MaxQuote        = 400
	MaxQuoteContext = 64 // of Before and After each
)

// Check returns an error of kind Invalid unless the text can be recorded.
func (c CommentText) Check() error {
	if !utf8.ValidString(c.Text) || strings.ContainsRune(c.Text, 0) {
		return E("comment", "", Invalid, errors.New("not text"), Advice("write it in UTF-8"))
	}
	return checkLength("comment", c.Text, MaxComment)
}

// A Relation is how the author of a review or comment is related to the author of the
// artifact, as far as the log shows it.
type Relation string

// The relations. RelationHuman is a guess, which an agent can imitate.
const (
	RelationHuman    Relation = "human"    // a person at a terminal
	RelationOther    Relation = "other"    // an agent that neither author started
	RelationLead     Relation = "lead"     // an agent that started the author, directly or not
	RelationSelf     Relation = "self"     // the author, or an agent that it started, directly or not
	RelationUnknown  Relation = "unknown"  // one of the two is not known
	RelationImported Relation = "imported" // recorded elsewhere
)

// Accepted are the relations of reviews that count, if nothing else is said.
var Accepted = []Relation{RelationHuman, RelationOther}

// A Reviewer is who made a review or comment.
type Reviewer struct {
	Name     string   `json:"name"` // of the user, the agent or the program; "unknown" for none
	Relation Relation `json:"relation"`
	Thread   string   `json:"thread,omitempty"`
	Via      string   `json:"via,omitempty"`
}

// A Review is the newest decision of one reviewer about an artifact.
type Review struct {
	ID        string    `json:"id"` // of its record
	Decision  Decision  `json:"decision"`
	By        Reviewer  `json:"by"`
	Comments  []string  `json:"comments,omitempty"` // their IDs
	CreatedAt time.Time `json:"createdAt"`
	Queued    bool      `json:"queued,omitempty"` // it counts once it is in the log
	Signed    *Signed   `json:"signed,omitempty"`
	Seq       Seq       `json:"-"` // of its record
}

// String returns who decided what: "approved by alice (not signed)".
func (r Review) String() string {
	text := strings.ReplaceAll(string(r.Decision), "_", " ") + " by " + quoteName(r.By.Name)
	switch {
	case r.Queued:
		text += " (queued)"
	case r.By.Relation == RelationSelf:
		text += " (self-review)"
	case r.By.Relation == RelationUnknown:
		text += " (relation unknown)"
	case r.By.Relation == RelationImported:
		text += " (imported)"
	case r.By.Relation == RelationLead:
		text += " (lead, " + r.Signed.String() + ")"
	default:
		text += " (" + r.Signed.String() + ")"
	}
	return text
}

// quoteName returns a name for people, in quotes if it has other characters than names have.
func quoteName(name string) string {
	if strings.ContainsFunc(name, func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune(" ._-@+/", c)
	}) {
		return strconv.Quote(name)
	}
	return name
}

// An EarlierReview is the review of an earlier revision than that of an artifact.
type EarlierReview struct {
	ArtifactID string   `json:"artifactId"`
	Revision   int      `json:"revision"`
	Reviews    []Review `json:"reviews"`
}

// String returns what was decided: "v1 was approved by alice (not signed)".
func (e EarlierReview) String() string {
	var texts []string
	for _, r := range e.Reviews {
		if r.Decision == Approved {
			texts = append(texts, fmt.Sprintf("v%d was %s", e.Revision, r))
		} else {
			texts = append(texts, fmt.Sprintf("v%d: %s", e.Revision, r))
		}
	}
	return strings.Join(texts, ", ")
}

// A Comment is a comment with its state. Its text is in a kept body.
type Comment struct {
	ID         string       `json:"id"`
	ArtifactID string       `json:"artifactId"` // of the revision that it was made on
	State      CommentState `json:"state"`
	Place      Place        `json:"place,omitzero"` // in that revision
	Body       Digest       `json:"body,omitzero"`
	By         Reviewer     `json:"by"`
	CreatedAt  time.Time    `json:"createdAt"`
	Origin     string       `json:"origin,omitempty"` // of its record
	Signed     *Signed      `json:"signed,omitempty"`
	ResolvedBy string       `json:"resolvedBy,omitempty"` // an artifact, or the record of a reply
	ChangedBy  string       `json:"changedBy,omitempty"`  // the name of who resolved, withdrew or reopened it last
	Replies    []Reply      `json:"replies,omitempty"`
}

// A Reply is an answer to a comment.
type Reply struct {
	ID        string       `json:"id"`
	State     CommentState `json:"state,omitempty"` // that it gave the comment; CommentWithdrawn hides the reply itself
	Body      Digest       `json:"body,omitzero"`
	By        Reviewer     `json:"by"`
	CreatedAt time.Time    `json:"createdAt"`
	Origin    string       `json:"origin,omitempty"` // of its record
	Signed    *Signed      `json:"signed,omitempty"`
}

const commentPrefix = "cmt_"

// commentPart is how many characters of an ID name a comment.
const commentPart = 8

// IsCommentID reports whether s has the form of the ID of a comment, or of its short form.
func IsCommentID(s string) bool {
	id, ok := strings.CutPrefix(s, commentPrefix)
	return ok && (len(id) == ulid.Len || len(id) == commentPart) && ulid.Valid(id)
}

// ShortCommentID returns the ID of a comment as people type it: cmt_ and its last eight
// characters.
func ShortCommentID(id string) string {
	if IsCommentID(id) && len(id) > len(commentPrefix)+commentPart {
		return commentPrefix + id[len(id)-commentPart:]
	}
	return id
}

// OpenComments returns the comments that are open.
func OpenComments(list []Comment) (open []Comment) {
	for _, c := range list {
		if c.State == CommentOpen {
			open = append(open, c)
		}
	}
	return open
}

// IsApproved reports whether somebody with one of the relations approved exactly these
// bytes, and none of them requested changes. Without relations it is those of Accepted. If
// the signatures were verified, only accepted ones approve.
func (a Artifact) IsApproved(by ...Relation) bool {
	if len(by) == 0 {
		by = Accepted
	}
	if a.Authenticated {
		return a.isApprovedBySignature(by)
	}
	approved := false
	for _, r := range a.Reviews {
		switch {
		case r.Queued || !slices.Contains(by, r.By.Relation):
		case r.Decision == ChangesRequested:
			return false
		case r.Decision == Approved:
			approved = true
		}
	}
	return approved
}

// IsRefused reports whether somebody with one of the relations requested changes of exactly
// these bytes. Without relations it is those of Accepted.
func (a Artifact) IsRefused(by ...Relation) bool {
	if len(by) == 0 {
		by = Accepted
	}
	return slices.ContainsFunc(a.Reviews, func(r Review) bool {
		return !r.Queued && slices.Contains(by, r.By.Relation) && r.Decision == ChangesRequested
	})
}

// IsReviewed reports whether somebody else than the author decided about the artifact.
func (a Artifact) IsReviewed() bool {
	return slices.ContainsFunc(a.Reviews, func(r Review) bool { return r.counts() && r.Decision != Commented })
}

// counts reports whether a review is in the log, by somebody who is not the author and is
// known.
func (r Review) counts() bool {
	return !r.Queued && slices.Contains([]Relation{RelationHuman, RelationOther, RelationLead}, r.By.Relation)
}

// AwaitsReview reports whether the artifact is active, nobody decided about it, and it was
// published for a review or an earlier revision was reviewed.
func (a Artifact) AwaitsReview() bool {
	return a.Status == Active && (a.AskReview || a.EarlierReview != nil) && !a.IsReviewed()
}

// reviewNotices returns what reviews and comments say, each once.
func (a Artifact) reviewNotices() (list []Notice) {
	var approved, against, other []string
	for _, r := range a.Reviews {
		switch {
		case r.counts() && r.Decision == ChangesRequested && a.Status == Active:
			against = append(against, r.String())
		case r.counts() && r.Decision == Approved:
			approved = append(approved, r.String())
		default:
			other = append(other, r.String())
		}
	}
	add := func(code NoticeCode, texts ...string) {
		if len(texts) > 0 {
			list = append(list, NewNotice(code, strings.Join(texts, ", ")))
		}
	}
	add(NoticeChangesRequested, against...)
	if len(against) > 0 {
		other = append(other, approved...)
	} else {
		add(NoticeApproved, approved...)
	}
	add(NoticeReviewed, other...)
	switch {
	case !a.AwaitsReview():
	case a.EarlierReview != nil:
		add(NoticeReviewAsked, "not reviewed; "+a.EarlierReview.String())
	default:
		add(NoticeReviewAsked, "its author asks for a review")
	}
	switch n := len(OpenComments(a.Comments)); {
	case n == 1:
		add(NoticeCommented, "1 open comment")
	case n > 1:
		add(NoticeCommented, fmt.Sprintf("%d open comments", n))
	}
	return list
}
