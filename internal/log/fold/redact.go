package fold

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
)

// RedactedSpace is the space of pointers to the redactions of bodies, by digest or, of
// a body without one, by the ID of its artifact. The value of the empty key is all
// these keys, a line for each fact. It is "" in a log without redactions.
const RedactedSpace = "redacted"

// A redactedBody is the value of a pointer of RedactedSpace.
type redactedBody struct {
	Replacement handoff.Digest `json:"replacement,omitzero"` // zero if the body was erased
	At          time.Time      `json:"at"`
}

// bodyKey returns the key of the body of an artifact in RedactedSpace. What an import
// says of a body is true of the artifacts of this import only.
func bodyKey(id string, d handoff.Digest, imported string) string {
	key := cmp.Or(d.Value, id)
	if imported != "" {
		key = imported + " " + key
	}
	return key
}

// note adds a line to the list of redactions.
func noteRedaction(k Keeper, line string) error {
	list, err := k.Pointer(RedactedSpace, "")
	if err != nil {
		return err
	}
	return k.PutPointer(RedactedSpace, "", list+line+"\n")
}

// foldBodyRedacted replaces or erases a body. One that was erased stays so.
func foldBodyRedacted(k Keeper, r handoff.Record, f *handoff.BodyRedacted) error {
	key := bodyKey(f.ArtifactID, f.Digest, r.Import)
	before, err := k.Pointer(RedactedSpace, key)
	if err != nil || key == "" {
		return err
	}
	if before != "" {
		known, err := decodeRedacted(before)
		if err != nil || known.Replacement == (handoff.Digest{}) {
			return err
		}
	}
	b, err := handoff.EncodeJSON(redactedBody{f.Replacement, r.CreatedAt})
	if err != nil {
		return err
	}
	if err := noteRedaction(k, key); err != nil {
		return err
	}
	return k.PutPointer(RedactedSpace, key, string(b))
}

// foldRecordRedacted replaces parts of the texts of an artifact's record, or of the
// reason of its withdrawal.
func foldRecordRedacted(k Keeper, r handoff.Record, f *handoff.RecordRedacted) error {
	a, err := k.Artifact(f.ArtifactID)
	if err != nil || f.ArtifactID == "" {
		return err
	}
	if a == nil {
		a = &ArtifactState{ID: f.ArtifactID}
	}
	if r.Import != "" && r.Import != a.Import {
		return nil
	}
	if f.RecordID == f.ArtifactID {
		for _, part := range f.Replaced {
			if !slices.Contains(a.Redactions, part) {
				a.Redactions = append(a.Redactions, part)
			}
		}
	} else if a.Acceptance != nil && a.Acceptance.ID == f.RecordID {
		accepted := *a.Acceptance
		accepted.Reason = handoff.RedactReason(accepted.Reason, f.Replaced)
		a.Acceptance = &accepted
	} else if a.Withdrawn {
		a.Reason = handoff.RedactReason(a.Reason, f.Replaced)
	}
	a.RedactedAt = r.CreatedAt
	if err := noteRedaction(k, ""); err != nil {
		return err
	}
	return k.PutArtifact(a)
}

func decodeRedacted(value string) (b redactedBody, err error) {
	err = json.Unmarshal([]byte(value), &b)
	return b, err
}

// RedactedBodies returns the digests of all bodies that may not be read, of the value
// of the empty key.
func RedactedBodies(list string) (bodies []handoff.Digest) {
	keys := strings.Split(list, "\n")
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		if len(key) == 2*sha256.Size {
			bodies = append(bodies, handoff.Digest{Algorithm: handoff.SHA256, Value: key})
		}
	}
	return bodies
}

// Readable returns what of an artifact may be shown: its record with replacements, its
// status, and its redaction, but nothing that other artifacts decide.
func Readable(s Store, a *ArtifactState) (handoff.Artifact, error) {
	v := handoff.Artifact{Record: a.Record, ArtifactPublished: *a.Published, Status: a.Status(), Reason: a.Reason}
	list, err := s.Pointer(RedactedSpace, "")
	if err != nil || list == "" {
		return v, err
	}
	if err := redactBody(s, a, &v); err != nil || (len(a.Redactions) == 0 && a.RedactedAt.IsZero()) {
		return v, err
	}
	if v.Redacted == nil {
		v.Redacted = &handoff.Redaction{}
	}
	if a.RedactedAt.After(v.Redacted.At) {
		v.Redacted.At = a.RedactedAt
	}
	for _, part := range a.Redactions {
		if !slices.Contains(v.Redacted.Fields, part.Field) {
			v.Redacted.Fields = append(v.Redacted.Fields, part.Field)
		}
	}
	if len(a.Redactions) == 0 {
		v.Redacted.Fields = []string{"/reason"}
	}
	v.Record = a.Record.Redact(a.Redactions)
	if p, ok := v.Record.Fact.(*handoff.ArtifactPublished); ok {
		v.ArtifactPublished = *p
	} else {
		v.Record, v.ArtifactPublished = a.Record, handoff.ArtifactPublished{
			Channel: a.Published.Channel, Digest: a.Published.Digest}
	}
	return v, nil
}

// redactBody sets the redaction of a view to that of its body, if it has one.
func redactBody(s Store, a *ArtifactState, v *handoff.Artifact) error {
	d := a.Published.Digest
	for range maxReplacements {
		value, err := s.Pointer(RedactedSpace, bodyKey(a.ID, d, ""))
		if err == nil && value == "" && a.Import != "" {
			value, err = s.Pointer(RedactedSpace, bodyKey(a.ID, d, a.Import))
		}
		if err != nil || value == "" {
			return err
		}
		b, err := decodeRedacted(value)
		if err != nil {
			return err
		}
		v.Redacted = &handoff.Redaction{Body: handoff.BodyReplaced, Digest: b.Replacement, At: b.At}
		if d = b.Replacement; d.Value == "" {
			v.Redacted.Body = handoff.BodyErased
			return nil
		}
	}
	v.Redacted.Body, v.Redacted.Digest = handoff.BodyErased, handoff.Digest{}
	return nil
}

const maxReplacements = 16
