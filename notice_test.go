package handoff_test

import (
	"slices"
	"testing"

	"github.com/agent-handoff/handoff"
)

// TestNotices checks the codes of an artifact, and that the worst is first.
func TestNotices(t *testing.T) {
	claimed := func(code handoff.NoticeCode) *handoff.Notice {
		n := handoff.NewNotice(code, "a claim", "art_1")
		return &n
	}
	kept := handoff.ArtifactPublished{Kept: true}
	for _, tt := range []struct {
		name string
		a    handoff.Artifact
		want []handoff.NoticeCode
	}{
		{"as published", handoff.Artifact{ArtifactPublished: kept, Status: handoff.Active, File: "/f"}, nil},
		{"not kept", handoff.Artifact{Status: handoff.Active}, []handoff.NoticeCode{handoff.NoticeNotKept}},
		{"verified", handoff.Artifact{ArtifactPublished: kept, Status: handoff.Active, Late: true,
			Claimed: claimed(handoff.NoticeVerified)}, []handoff.NoticeCode{handoff.NoticeLate, handoff.NoticeVerified}},
		{"everything", handoff.Artifact{Status: handoff.Active, Competing: []string{"art_2"}, Queued: true, Late: true,
			StaleInputs: []handoff.StaleInput{{ID: "art_3"}, {ID: "art_4"}}, Target: handoff.Modified, File: "/f",
			Claimed: claimed(handoff.NoticeContradicted)},
			[]handoff.NoticeCode{handoff.NoticeContradicted, handoff.NoticeCompeting, handoff.NoticeStale, handoff.NoticeLate,
				handoff.NoticeModified, handoff.NoticeNotKept, handoff.NoticeQueued}},
		{"superseded, and its file is another", handoff.Artifact{ArtifactPublished: kept, Status: handoff.Superseded,
			Target: handoff.Modified, File: "/f"}, []handoff.NoticeCode{handoff.NoticeSuperseded}},
		{"withdrawn", handoff.Artifact{Status: handoff.Withdrawn}, []handoff.NoticeCode{handoff.NoticeWithdrawn}},
		{"missing", handoff.Artifact{ArtifactPublished: kept, Status: handoff.Active, Target: handoff.Missing, File: "/f"},
			[]handoff.NoticeCode{handoff.NoticeFileMissing}},
		{"out of reach", handoff.Artifact{Status: handoff.Active, Target: handoff.Unknown},
			[]handoff.NoticeCode{handoff.NoticeFileMissing, handoff.NoticeNotKept}},
		{"out of reach, and kept", handoff.Artifact{ArtifactPublished: kept, Status: handoff.Active,
			Target: handoff.Missing}, nil},
	} {
		if got := handoff.Codes(tt.a.Notices()); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}
