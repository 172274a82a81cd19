package evidence

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
)

// TestProvenance compares the provenance of an artifact with a golden file. .ci validates
// one with the public types of in-toto, and checks that a damaged one is invalid.
func TestProvenance(t *testing.T) {
	digest := func(s string) handoff.Digest {
		return handoff.Digest{Algorithm: "sha256", Value: strings.Repeat(s, 32)}
	}
	artifact := func(id, channel, path, sum string) (a handoff.Artifact) {
		a.ID, a.Channel, a.Path, a.Digest, a.Status = id, channel, path, digest(sum), handoff.Active
		a.Title = "never exported"
		return a
	}
	a := artifact("art_01K8ZZZZZZZZZZZZZZZZZZZZZZ", "patch", "fix.diff", "ab")
	a.CreatedAt = time.Date(2026, 11, 27, 8, 0, 0, 0, time.UTC)
	a.Producer = handoff.Producer{Harness: "codex", Agent: "a builder", Session: "s1", Thread: "agents://codex/t1",
		Model: handoff.Model{Provider: "openai", ID: "gpt-5"}}
	a.Tree = &handoff.Tree{Digest: strings.Repeat("ef", 32), Commit: strings.Repeat("12", 20)}
	design := artifact("art_01K8ZZZZZZZZZZZZZZZZZZZZZY", "design", "design.md", "cd")
	tests := artifact("art_01K8ZZZZZZZZZZZZZZZZZZZZZX", "verification", "out.log", "ef")
	tests.Attestation = &handoff.Attestation{Argv: []string{"go", "test", "./..."}, ExitStatus: 1}
	s, err := Provenance(a, []handoff.Artifact{design}, []handoff.Artifact{tests})
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/provenance.json"
	want, err := os.ReadFile(golden)
	if err != nil || string(want) != string(got)+"\n" {
		t.Errorf("the provenance is %s, want that of %s, %v", got, golden, err)
	}
	if _, err := Provenance(handoff.Artifact{}, nil, nil); err == nil {
		t.Error("an artifact without a digest has a provenance")
	}
}
