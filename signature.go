package handoff

import (
	"slices"
	"time"
)

// A Signature is an SSH signature of a review or comment, as ssh-keygen -Y sign makes it.
// Nothing is known of whose it is before it was verified with keys.
type Signature struct {
	At    time.Time `json:"signedAt"`
	Value string    `json:"value"` // of an SSH signature file, without its first and last line and line ends
}

// SignatureNamespace is the namespace of signatures of reviews and comments.
const SignatureNamespace = "handoff-review"

// MaxSignature is the maximum length of the value of a signature that is verified.
const MaxSignature = 16 << 10

// A Signed is the signature of a review or comment. Text is what it signs.
type Signed struct {
	At      time.Time `json:"signedAt"`
	By      string    `json:"by,omitempty"`      // the principal whose key it was verified with
	Problem string    `json:"problem,omitempty"` // why it was not accepted, once it was verified
	Value   string    `json:"-"`
	Text    []byte    `json:"-"`
}

// signedText is what a signature of a review or comment signs, as JSON on one line with a
// line end. docs/format.md describes it.
type signedText struct {
	Type       string       `json:"type"`
	ArtifactID string       `json:"artifactId"`
	Digest     *Digest      `json:"digest,omitempty"`
	Decision   Decision     `json:"decision,omitempty"`
	Comments   []string     `json:"comments,omitempty"`
	Place      Place        `json:"place,omitzero"`
	Body       *Digest      `json:"body,omitempty"`
	ReplyTo    string       `json:"replyTo,omitempty"`
	State      CommentState `json:"state,omitempty"`
	At         time.Time    `json:"signedAt"`
}

func (s signedText) encode(at time.Time) ([]byte, error) {
	s.At = at.UTC()
	b, err := EncodeJSON(s)
	return append(b, '\n'), err
}

// SignedText returns what a signature of the review at a time signs.
func (f *ArtifactReviewed) SignedText(at time.Time) ([]byte, error) {
	return signedText{Type: f.factType(), ArtifactID: f.ArtifactID, Digest: &f.Digest, Decision: f.Decision,
		Comments: f.Comments}.encode(at)
}

// SignedText returns what a signature of the comment at a time signs.
func (f *ArtifactCommented) SignedText(at time.Time) ([]byte, error) {
	return signedText{Type: f.factType(), ArtifactID: f.ArtifactID, Place: f.Place, Body: &f.Body, ReplyTo: f.ReplyTo,
		State: f.State}.encode(at)
}

// NewSigned returns a signature with what it signs, nil if there is none.
func NewSigned(s Signature, text func(at time.Time) ([]byte, error)) *Signed {
	if s.Value == "" {
		return nil
	}
	b, err := text(s.At)
	if err != nil { // a time that can't be encoded: no signature verifies without a text
		b = nil
	}
	return &Signed{At: s.At, Value: s.Value, Text: b}
}

// String returns what is known of a signature: "not signed", "signature not checked".
func (s *Signed) String() string {
	switch {
	case s == nil:
		return "not signed"
	case s.By != "":
		return "signed by " + quoteName(s.By)
	case s.Problem != "":
		return "signature not accepted: " + s.Problem
	}
	return "signature not checked"
}

// isApprovedBySignature is IsApproved for an artifact whose signatures were verified: somebody
// approved it with an accepted signature and decided nothing else later, and nobody who counts,
// or whose signature was accepted, requests changes.
func (a Artifact) isApprovedBySignature(by []Relation) bool {
	newest := map[string]Review{} // by principal
	for _, r := range a.SignedReviews {
		name := r.Signed.By
		if name != "" && r.Decision != Commented && !r.Signed.At.Before(newest[name].signedAt()) {
			newest[name] = r
		}
	}
	approved := false
	for _, r := range newest {
		if r.Decision == ChangesRequested {
			return false
		}
		if r.Decision == Approved && !r.Queued && slices.Contains(by, r.By.Relation) {
			approved = true
		}
	}
	for _, r := range a.Reviews { // whatever these say, they end no signed decision
		signed := r.Signed != nil && r.Signed.By != ""
		if r.Decision == ChangesRequested && !signed && !r.Queued && slices.Contains(by, r.By.Relation) {
			return false
		}
	}
	return approved
}

func (r Review) signedAt() time.Time {
	if r.Signed == nil {
		return time.Time{}
	}
	return r.Signed.At
}
