package fold_test

import (
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
)

// TestCopiedSignature holds that a signed decision which its author took back counts for
// nothing when somebody records it again, and that records of others don't replace it.
func TestCopiedSignature(t *testing.T) {
	digest := handoff.Digest{Algorithm: handoff.SHA256, Value: "aa"}
	at := time.Date(2026, 11, 27, 7, 0, 0, 0, time.UTC)
	thread := func(id string) handoff.Producer {
		return handoff.Producer{Harness: "claude", Thread: "agents://claude/" + id}
	}
	review := func(d handoff.Decision, minute int) *handoff.ArtifactReviewed {
		f := &handoff.ArtifactReviewed{ArtifactID: "art_1", Digest: digest, Decision: d, Via: handoff.ViaCommand}
		if minute >= 0 {
			f.Signature = handoff.Signature{At: at.Add(time.Duration(minute) * time.Minute), Value: "v"}
		}
		return f
	}
	approved, requested := review(handoff.Approved, 0), review(handoff.ChangesRequested, 1)
	unsigned, dismissed := review(handoff.Approved, -1), review(handoff.Dismissed, -1)
	takenBack, junk := review(handoff.Dismissed, 1), review(handoff.Approved, 0)
	junk.Signature.Value = "junk"
	type line struct {
		by   string
		fact *handoff.ArtifactReviewed
	}
	for name, tt := range map[string]struct {
		lines []line
		want  bool
	}{
		"approved":                     {[]line{{"alice", approved}}, true},
		"not signed":                   {[]line{{"alice", unsigned}}, false},
		"by the author":                {[]line{{"author", approved}}, false},
		"changed since":                {[]line{{"alice", approved}, {"alice", requested}}, false},
		"copied after the change":      {[]line{{"alice", approved}, {"alice", requested}, {"bob", approved}}, false},
		"copied after the dismissal":   {[]line{{"alice", approved}, {"alice", takenBack}, {"bob", approved}}, false},
		"dismissed, not signed":        {[]line{{"alice", approved}, {"alice", dismissed}}, true},
		"approved again, not signed":   {[]line{{"alice", approved}, {"alice", unsigned}}, true},
		"forged before":                {[]line{{"bob", junk}, {"alice", approved}}, true},
		"forged":                       {[]line{{"alice", junk}}, false},
		"request replaced in her name": {[]line{{"alice", requested}, {"alice", unsigned}, {"bob", approved}}, false},
		"another requests, not signed": {[]line{{"alice", approved}, {"bob", review(handoff.ChangesRequested, -1)}}, false},
		"approved again elsewhere":     {[]line{{"alice", requested}, {"alice2", review(handoff.Approved, 2)}}, true},
	} {
		records := []handoff.Record{{ID: "art_1", Seq: 1, CreatedAt: at, Producer: thread("author"),
			Fact: &handoff.ArtifactPublished{Channel: "patch", Path: "a", Digest: digest}}}
		for i, l := range tt.lines {
			records = append(records, handoff.Record{ID: "rec_" + string(rune('a'+i)), Seq: handoff.Seq(i + 2), CreatedAt: at,
				Producer: thread(l.by), Fact: l.fact})
		}
		m := logtest.NewReference()
		for _, r := range records {
			if err := m.Apply(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		a, err := m.Artifact(t.Context(), "art_1")
		if err != nil {
			t.Fatal(err)
		}
		for _, list := range [][]handoff.Review{a.SignedReviews, a.Reviews} { // one key
			for i, r := range list {
				if r.Signed != nil && r.Signed.Value == "v" {
					list[i].Signed.By = "alice@example.com"
				}
			}
		}
		a.Authenticated = true
		if got := a.IsApproved(); got != tt.want {
			t.Errorf("%s: IsApproved = %v, want %v (%v)", name, got, tt.want, a.Reviews)
		}
	}
}
