package handoff_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/agent-handoff/handoff"
)

// TestArtifactJSON checks that decoding a view gives every field that was encoded.
func TestArtifactJSON(t *testing.T) {
	fact := facts["artifact.published"].(*handoff.ArtifactPublished)
	want := handoff.Artifact{
		Record:            handoff.Record{Version: 1, ID: "art_00000000000000000000000004", CreatedAt: when, Fact: fact},
		ArtifactPublished: *fact,
		Status:            handoff.Withdrawn, Revision: 2, Reason: "wrong branch", ReplacedBy: []string{"b"},
		Competing: []string{"c"}, Unresolved: []string{"d"}, Late: true, Queued: true, UsedBy: []handoff.Use{
			{WorkID: "w"}}, Labels: []string{"approved"},
		LabelHistory:  []handoff.Labeling{{Label: "approved", CreatedAt: when}},
		Reviews:       []handoff.Review{{ID: "r", Decision: handoff.Approved, CreatedAt: when}},
		EarlierReview: &handoff.EarlierReview{ArtifactID: "g", Revision: 1},
		Comments:      []handoff.Comment{{ID: "cmt_1", State: handoff.CommentOpen, CreatedAt: when}},
		Acceptance:    &handoff.Acceptance{ID: "h", Over: []string{"i"}, By: "ann", CreatedAt: when},
		NotChosenIn:   []string{"j"},
		Applied:       []handoff.Application{{Commit: "k", By: "ann", CreatedAt: when}},
		Dropped:       &handoff.Dropped{At: when},
		StaleInputs:   []handoff.StaleInput{{ID: "e", Channel: "design", Revision: 1, Status: handoff.Superseded}},
		Claimed:       &handoff.Notice{Code: handoff.NoticeContradicted, Severity: handoff.SeverityProblem, Text: "f"},
		Attributed:    &handoff.Attribution{Source: handoff.FromTranscript, Thread: "agents://codex/t"},
		Redacted:      &handoff.Redaction{Fields: []string{"/title"}}, RecordPath: "r", Target: handoff.Missing, File: "/f",
	}
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got handoff.Artifact
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	for i := range reflect.TypeFor[handoff.Artifact]().NumField() {
		f := reflect.TypeFor[handoff.Artifact]().Field(i)
		g, w := reflect.ValueOf(got).Field(i), reflect.ValueOf(want).Field(i)
		if f.Name == "SignedReviews" || f.Name == "Authenticated" { // not in JSON
			continue
		}
		if w.IsZero() {
			t.Errorf("%s is not tested", f.Name)
		}
		if f.Name != "Record" && !reflect.DeepEqual(g.Interface(), w.Interface()) {
			t.Errorf("%s = %v, want %v", f.Name, g, w)
		}
	}
}

// TestDisplayName checks that people never see a path that handoff chose.
func TestDisplayName(t *testing.T) {
	const id, session = "art_00000000000000000000000004", "6f1b1c7e-3f43-4a7c-9b0d-2f3f4d5e6a7b"
	for _, tt := range []struct {
		title, name, path string
		want              string
		managed           bool
	}{
		{"", "", "docs/a.md", "docs/a.md", false},
		{"T", "", "docs/a.md", "T", false},
		{"", "", ".handoff/artifacts/files/" + id + "/out.log", "out.log", true},
		{"T", "", ".handoff/artifacts/files/" + id + "/out.log", "T", true},
		{"", "plan/a.md", "docs/agent-outputs/" + session + "/artifacts/run/plan/a.md", "plan/a.md", true},
		{"T", "a.md", "artifacts/run/a.md", "T", true},
		{"", "", "docs/agent-outputs/" + session + "/sub/report.md", "sub/report.md", false},
		{"", "plan.json", ".pipeline/42/plan.json", ".pipeline/42/plan.json", false},
	} {
		a := handoff.Artifact{Record: handoff.Record{ID: id, Producer: handoff.Producer{Session: session}},
			ArtifactPublished: handoff.ArtifactPublished{Channel: "design", Title: tt.title, Name: tt.name, Path: tt.path}}
		if got, managed := a.DisplayName(), a.IsManaged(); got != tt.want || managed != tt.managed {
			t.Errorf("%q, %q, %q: got %q, %t, want %q, %t", tt.title, tt.name, tt.path, got, managed, tt.want, tt.managed)
		}
		if got, want := a.Label(), "design: "+tt.want; got != want {
			t.Errorf("Label() = %q, want %q", got, want)
		}
	}
}
