package handoff_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var when = time.Date(2026, 11, 21, 3, 0, 0, 123456789, time.UTC)

func ptr[T any](v T) *T { return &v }

var process = handoff.Process{BootID: "6f1c0e2a-77f0-4c55-9d2e-0d5b1f0b8a11", PIDNamespace: "pid:[4026531836]", PID: 7,
	StartTime: "991"}

var signature = handoff.Signature{At: when, Value: "U1NIU0lH"}

// facts has one fact of each type, with every field set.
var facts = map[string]handoff.Fact{
	"artifact.published": &handoff.ArtifactPublished{
		Channel: "verification", Kind: "report", Path: "reports/<review>.md", Root: handoff.RuntimeRoot, TargetType: "file",
		Title: "Security & privacy review", Summary: "Two findings", MediaType: "text/markdown", SizeBytes: ptr(int64(18342)),
		Digest: handoff.Digest{Algorithm: "sha256", Value: strings.Repeat("ab", 32)}, Kept: true, Namespace: "run-1",
		Name:     "review.md",
		Replaces: []string{"art_00000000000000000000000001"}, Parents: []string{"art_00000000000000000000000002"},
		Tags: []string{"security"}, Key: "k", Metadata: json.RawMessage(`{"issue":"7"}`),
		Resolves: []string{"cmt_00000000000000000000000002"}, AskReview: true,
		Claims: []handoff.Claim{{Text: "tests pass",
			Evidence: []handoff.Evidence{{Kind: handoff.EvidenceCommand, Command: "go test ./...", Dir: "api",
				Thread: "agents://codex/019c871c-b1f9-7f60-9c4f-000000000001#M3", Call: "call_1",
				Artifact: "art_00000000000000000000000003", ExitStatus: ptr(0), Digest: strings.Repeat("cd", 32)}}}},
		Attestation: &handoff.Attestation{Argv: []string{"go", "test", "./..."}, Dir: "api", ExitStatus: 130,
			Signal: "interrupt", StartedAt: when, DurationMS: 1500, TreeAfter: strings.Repeat("ef", 32)},
		Tree: &handoff.Tree{Digest: strings.Repeat("01", 32), Commit: strings.Repeat("4", 40), Worktree: "w1"},
	},
	"artifact.withdrawn": &handoff.ArtifactWithdrawn{ArtifactID: "art_00000000000000000000000001", Reason: "wrong branch"},
	"artifact.used":      &handoff.ArtifactUsed{ArtifactID: "art_00000000000000000000000001"},
	"artifact.labeled": &handoff.ArtifactLabeled{ArtifactID: "art_00000000000000000000000001", Label: "approved",
		Removed: true},
	"artifact.commented": &handoff.ArtifactCommented{ArtifactID: "art_00000000000000000000000001",
		Place:   handoff.Place{Path: "docs/<a>.md", Side: handoff.SideOld, FirstLine: 4, LastLine: 9, Start: 12, End: 40},
		Body:    handoff.Digest{Algorithm: "sha256", Value: strings.Repeat("ab", 32)},
		ReplyTo: "cmt_00000000000000000000000002", State: handoff.CommentResolved, User: "alice", Via: handoff.ViaTerminal,
		Signature: signature},
	"artifact.accepted": &handoff.ArtifactAccepted{ArtifactID: "art_00000000000000000000000001",
		Over: []string{"art_00000000000000000000000002"}, Known: []string{"rec_00000000000000000000000003"},
		Reason: "smaller, and tested", User: "ann"},
	"artifact.applied": &handoff.ArtifactApplied{ArtifactID: "art_00000000000000000000000001",
		Digest: handoff.Digest{Algorithm: "sha256", Value: strings.Repeat("ab", 32)},
		Commit: strings.Repeat("cd", 20), User: "ann"},
	"artifact.reviewed": &handoff.ArtifactReviewed{ArtifactID: "art_00000000000000000000000001",
		Digest:   handoff.Digest{Algorithm: "sha256", Value: strings.Repeat("ab", 32)},
		Decision: handoff.ChangesRequested, Comments: []string{"cmt_00000000000000000000000002"}, User: "alice",
		Via: handoff.ViaMCP, Signature: signature},
	"session.opened": &handoff.SessionOpened{SessionID: "s", Parent: "p", Title: "Retries",
		Agent:    handoff.SessionAgent{Name: "alex", Title: "Alex the Facilitator", Bundle: "bmad/bmm"},
		Workflow: handoff.SessionWorkflow{Name: "intake-app", Description: "Initial requirements"}, User: "Bryan",
		Inputs: map[string]json.RawMessage{"category": json.RawMessage(`"Laptops"`)}, Folder: "docs/agent-outputs/s",
		StartedAt: when,
		Process:   process, Manifest: json.RawMessage(`{"version":"1.0.0"}`)},
	"session.closed": &handoff.SessionClosed{SessionID: "s", Status: "failed", Reason: "tests", EndedAt: when},
	"session.linked": &handoff.SessionLinked{SessionID: "s", To: "earlier"},
	"session.noted": &handoff.SessionNoted{SessionID: "s", Tags: []string{"t"}, RemovedTags: []string{"u"}, Name: ptr("n"),
		UserSummary:  ptr(""),
		MessageCount: ptr(0), Metadata: map[string]json.RawMessage{"a": json.RawMessage(`[1]`)}, Child: process},
	"session.archived": &handoff.SessionArchived{SessionID: "s"},
	"session.deleted":  &handoff.SessionDeleted{SessionID: "s"},
	"session.restored": &handoff.SessionRestored{SessionID: "s"},
	"session.imported": &handoff.SessionImported{SessionID: "s", Import: strings.Repeat("ab", 16), Records: 7},
	"path.moved":       &handoff.PathMoved{From: ".pipeline/42", To: ".pipeline/completed/42"},
	"body.redacted": &handoff.BodyRedacted{ArtifactID: "art_01K8ZZZZZZZZZZZZZZZZZZZZZZ",
		Digest:      handoff.Digest{Algorithm: "sha256", Value: strings.Repeat("ab", 32)},
		Replacement: handoff.Digest{Algorithm: "sha256", Value: strings.Repeat("cd", 32)}, SizeBytes: new(int64),
		Replaced: 1},
	"record.redacted": &handoff.RecordRedacted{ArtifactID: "art_01K8ZZZZZZZZZZZZZZZZZZZZZZ",
		RecordID: "art_01K8ZZZZZZZZZZZZZZZZZZZZZZ",
		Replaced: []handoff.Replacement{{Field: "/metadata/api_key", Start: 3, End: 19, Kind: "password"},
			{Field: "/metadata/x", Kind: "GitHub token"}}},
	"bodies.dropped": &handoff.BodiesDropped{Policy: "keep-last 3, keep-within 30d", Bodies: []handoff.DroppedBody{
		{Digest: handoff.Digest{Algorithm: "sha256", Value: strings.Repeat("ab", 32)}, SizeBytes: 7,
			Artifacts: []string{"art_01K8ZZZZZZZZZZZZZZZZZZZZZZ"}},
		{Digest: handoff.Digest{Algorithm: "sha256", Value: strings.Repeat("cd", 32)}, SizeBytes: 9,
			Threads: []string{"agents://codex/019c871c-b1f9-7f60-9c4f-87ed09f13592"},
			Records: []string{"rec_01K8ZZZZZZZZZZZZZZZZZZZZZZ"}}}},
	"thread.kept": &handoff.ThreadKept{Thread: "agents://codex/019c871c-b1f9-7f60-9c4f-87ed09f13592",
		Digest:    handoff.Digest{Algorithm: "sha256", Value: strings.Repeat("ab", 32)},
		SizeBytes: 7, Files: 2, TranscriptBytes: 18342, ModifiedAt: when, Redacted: 3, Secrets: 1},
	"work.started": &handoff.WorkStarted{WorkID: "w", ParentWorkID: "p", Kind: "task", Name: "review", StartedAt: when},
	"work.ended":   &handoff.WorkEnded{WorkID: "w", EndedAt: when, IsError: true},
	"log.gap":      &handoff.Gap{Reason: "lost"},
}

// TestRecordJSON compares each stored fact with its golden file. Records are permanent, so
// a golden file that changes is a change of version.
func TestRecordJSON(t *testing.T) {
	random := rand.NewChaCha8([32]byte{3})
	producer := handoff.Producer{WorkID: "op", Harness: "codex", Agent: "reviewer",
		Model:       handoff.Model{Provider: "openai", ID: "gpt-5"},
		OperationID: "op", Session: "s", Thread: "agents://codex/s", IDs: map[string]string{
			"turn": "7"}, Source: handoff.FromFlag,
		Observed: []handoff.Observation{{Harness: "claude-code", IDs: map[string]string{"session": "a"},
			Source: handoff.FromInherited}}}
	for _, name := range factTypes(t) {
		fact, ok := facts[name]
		if !ok {
			t.Errorf("%s has no golden file", name)
			continue
		}
		random.Seed([32]byte{3})
		r, err := handoff.NewRecord(when, random, producer, fact)
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.JSON()
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("testdata", "golden", name+".json")
		if *update {
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
		back, err := handoff.ParseRecord(want)
		if err != nil || !reflect.DeepEqual(back.Fact, fact) || !reflect.DeepEqual(back.Producer, producer) {
			t.Errorf("ParseRecord(%s) = %+v, %v, want %+v", name, back, err, fact)
		}
	}
}

// factTypes returns the types in facts.go.
func factTypes(t *testing.T) []string {
	f, err := parser.ParseFile(token.NewFileSet(), "facts.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	ast.Inspect(f, func(n ast.Node) bool {
		if entry, ok := n.(*ast.KeyValueExpr); ok {
			if lit, ok := entry.Key.(*ast.BasicLit); ok {
				names = append(names, strings.Trim(lit.Value, `"`))
			}
		}
		return true
	})
	if len(names) < len(facts) {
		t.Fatalf("facts.go has %v, fewer than the %d facts of this test", names, len(facts))
	}
	return names
}

// FuzzParseRecord holds that the decoder never panics, and that a decoded record
// keeps its bytes and decodes to the same record again.
func FuzzParseRecord(f *testing.F) {
	files, err := filepath.Glob("testdata/golden/*.json")
	if err != nil || len(files) == 0 {
		f.Fatalf("no golden files: %v", err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	for _, text := range []string{"", "{}", "null", "[]", `{"version":2,"type":"x.y","id":"z","new":{"a":[1]}}`,
		`{"version":1,"type":"log.gap","id":"a"}{"version":1}`, `{"version":1e3,"type":"log.gap","id":"a"}`,
		`{"version":1,"type":"log.gap","id":"a","id":"b"}`, `{"Version":1,"TYPE":"log.gap","iD":"a"}`,
		"{\"version\":1,\"type\":\"log.gap\",\"id\":\"\xff\"}",
		`{"version":1,"type":"session.noted","id":"a","sessionId":null,"metadata":{"":null}}`,
		`{"version":1,"type":"artifact.published","id":"a","metadata": {"a" : 1} ,"sizeBytes":-1,"createdAt":"2026-11-21T03:00:00+05:30"}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := handoff.ParseRecord(b)
		if err != nil {
			if stored := handoff.StoredRecord(7, b); stored.Seq != 7 || !isDamaged(stored) {
				t.Errorf("StoredRecord(%q) = %+v, want Damaged", b, stored)
			}
			return
		}
		if r.Type == "" || r.ID == "" || r.Version < 1 {
			t.Errorf("ParseRecord(%q) = %+v, without type, id or version", b, r)
		}
		back, err := r.JSON()
		if err != nil || !bytes.Equal(back, b) {
			t.Errorf("JSON of %q = %q, %v", b, back, err)
		}
		again, err := handoff.ParseRecord(bytes.Clone(back))
		if err != nil || !reflect.DeepEqual(again, r) {
			t.Errorf("ParseRecord(%q) = %+v, %v, and before %+v", b, again, err, r)
		}
		if shown, err := json.Marshal(r); err != nil || !json.Valid(shown) {
			t.Errorf("MarshalJSON of %q = %q, %v", b, shown, err)
		}
	})
}

func isDamaged(r handoff.Record) bool {
	_, ok := r.Fact.(*handoff.Damaged)
	return ok
}

func FuzzArtifactID(f *testing.F) {
	for _, s := range []string{"", "art_", "art_0", "art_01M7Y9ZM0BRTEEE7V4VXK2BT26", "art_01M7Y9ZM0BRTEEE7V4VXK2BT2I",
		"art_01m7", "ART_01M7", "art_é"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, prefix := handoff.IsArtifactID(s), handoff.IsArtifactIDPrefix(s)
		if id && (!prefix || len(s) != 30) {
			t.Errorf("IsArtifactID(%q), which is not a prefix of itself or has %d bytes", s, len(s))
		}
		if prefix && (!strings.HasPrefix(s, "art_") || strings.Trim(s[4:], "0123456789ABCDEFGHJKMNPQRSTVWXYZ") != "" ||
			s == "art_") {
			t.Errorf("IsArtifactIDPrefix(%q)", s)
		}
		if prefix && len(s) > 5 && !handoff.IsArtifactIDPrefix(s[:len(s)-1]) {
			t.Errorf("IsArtifactIDPrefix(%q), but not of what it begins with", s)
		}
	})
}

func FuzzChannel(f *testing.F) {
	for _, s := range []string{"", "design", "a-2-b", "-", "a-", "A", "a--b", "ä", "a\n", strings.Repeat("a", 201)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		err := handoff.CheckChannel(s)
		words := len(s) <= 200
		for _, word := range strings.Split(s, "-") {
			words = words && word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789") == ""
		}
		if words != (err == nil) {
			t.Errorf("CheckChannel(%q) = %v, want ok %t", s, err, words)
		}
	})
}
