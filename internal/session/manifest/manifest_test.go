package manifest_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/internal/log/fold"
	"github.com/agent-handoff/handoff/internal/session/manifest"
	"github.com/agent-handoff/handoff/jsonschema"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	name = filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(name, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("got\n%s\nwant %s\n%s, %v; after a review, run: go test ./internal/session/manifest -update", got, name,
			want, err)
	}
}

// TestDocument checks that docs/bundle-spec.md describes what handoff adds to a manifest.
func TestDocument(t *testing.T) {
	page, err := os.ReadFile("../../../docs/bundle-spec.md")
	if err != nil {
		t.Fatal(err)
	}
	for f := range reflect.TypeFor[manifest.Extension]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !bytes.Contains(page, []byte("\n| `"+name+"` | ")) {
			t.Errorf("the table of metadata.handoff in docs/bundle-spec.md does not have %s", name)
		}
	}
}

const id = "a3f2c9d1-4b5e-4789-81ab-cdef12345678"

// fullSession returns a session with every field set, and its artifacts.
func fullSession() (handoff.Session, []handoff.Artifact) {
	start := time.Date(2025, 10, 5, 23, 1, 45, 123e6, time.UTC)
	summary, messages := "I need to purchase 10 laptops for the office", 8
	var s handoff.Session
	s.ID = id
	for i, f := range []handoff.Fact{
		&handoff.SessionOpened{SessionID: id, Agent: handoff.SessionAgent{Name: "alex", Title: "Alex the Facilitator",
			Bundle: "bmad/bmm"},
			Workflow: handoff.SessionWorkflow{Name: "intake-app", Description: "Initial requirements gathering"}, User: "Bryan",
			Inputs: map[string]json.RawMessage{"category": json.RawMessage(`"Application Development"`)},
			Folder: "docs/agent-outputs/" + id},
		&handoff.SessionNoted{SessionID: id, Tags: []string{"q4"}, UserSummary: &summary, MessageCount: &messages,
			Metadata: map[string]json.RawMessage{"custom_field": json.RawMessage(`"value"`)}},
		&handoff.SessionLinked{SessionID: id, To: "b4e3d8c2-5c6f-4890-92bc-def123456789"},
		&handoff.SessionClosed{SessionID: id, Status: "completed"},
	} {
		fold.ApplySession(&s, handoff.Record{Seq: handoff.Seq(i + 1), CreatedAt: start.Add(time.Duration(i) * time.Minute),
			Fact: f})
	}
	artifact := func(seq handoff.Seq, path, kind, summary string, status handoff.Status) handoff.Artifact {
		return handoff.Artifact{Record: handoff.Record{Seq: seq, ID: "art_" + strings.Repeat("0", 25) + string('0'+rune(seq)),
			CreatedAt: start.Add(time.Duration(seq) * time.Second)},
			ArtifactPublished: handoff.ArtifactPublished{Channel: "handoff", Path: path, Kind: kind, Summary: summary},
			Status:            status, Late: seq == 9}
	}
	return s, []handoff.Artifact{
		artifact(9, s.Folder+"/late.json", "json", "", handoff.Active),
		artifact(8, s.Folder+"/initial-requirements.md", "document", "Initial requirements, revised", handoff.Active),
		artifact(7, "docs/elsewhere.md", "document", "Not in the folder", handoff.Active),
		artifact(6, s.Folder+"/gone.md", "report", "", handoff.Withdrawn),
		artifact(5, s.Folder+"/initial-requirements.md", "document", "Initial requirements document", handoff.Superseded),
	}
}

func rendered(t rapid.TB, s handoff.Session, artifacts []handoff.Artifact) []byte {
	t.Helper()
	m, err := manifest.New(s, artifacts)
	if err != nil {
		t.Fatal(err)
	}
	b, err := m.JSON(s.Adopted)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func mustConform(t rapid.TB, b []byte) {
	t.Helper()
	_, problems, err := manifest.Parse(b)
	if err != nil || len(problems) > 0 {
		t.Errorf("manifest violates the specification: %v %v\n%s", problems, err, b)
	}
}

func TestManifest(t *testing.T) {
	s, artifacts := fullSession()
	b := rendered(t, s, artifacts)
	golden(t, "full.golden", b)
	mustConform(t, b)
	slices.Reverse(artifacts)
	if again := rendered(t, s, artifacts); !bytes.Equal(b, again) {
		t.Errorf("manifest depends on the order of the artifacts:\n%s", again)
	}
}

// TestManifestKeys checks that a manifest has no key that the specification's
// sample does not have.
func TestManifestKeys(t *testing.T) {
	b, err := os.ReadFile("testdata/sample.json")
	if err != nil {
		t.Fatal(err)
	}
	var sample, ours map[string]any
	if err := json.Unmarshal(b, &sample); err != nil {
		t.Fatal(err)
	}
	s, artifacts := fullSession()
	s.Name = "Mine"
	if err := json.Unmarshal(rendered(t, s, artifacts), &ours); err != nil {
		t.Fatal(err)
	}
	var compare func(at string, ours, sample map[string]any)
	compare = func(at string, ours, sample map[string]any) {
		for key, value := range ours {
			want, ok := sample[key]
			if !ok {
				t.Errorf("%s/%s is not in the specification", at, key)
			}
			if inner, ok := value.(map[string]any); ok && key != "metadata" {
				compare(at+"/"+key, inner, want.(map[string]any))
			}
		}
	}
	compare("", ours, sample)
	compare("/outputs/0", ours["outputs"].([]any)[0].(map[string]any), sample["outputs"].([]any)[0].(map[string]any))
}

func TestSample(t *testing.T) {
	b, err := os.ReadFile("testdata/sample.json")
	if err != nil {
		t.Fatal(err)
	}
	_, problems, err := manifest.Parse(b)
	var got []string
	for _, p := range problems {
		got = append(got, p.Pointer)
		if !strings.Contains(p.Text, "version 4 UUID") {
			t.Errorf("problem of the sample: %q, want one about the UUID", p)
		}
	}
	if want := []string{"/related_sessions/0", "/session_id"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("problems of the sample: %q, %v, want %q", got, err, want)
	}
}

func TestProblems(t *testing.T) {
	s, artifacts := fullSession()
	valid := string(rendered(t, s, artifacts))
	for _, tt := range []struct{ old, new, want string }{
		{`"version": "1.0.0"`, `"version": "1.0"`, "/version: "},
		{`"session_id": "a3f2c9d1-4b5e-4789`, `"session_id": "a3f2c9d1-4b5e-6789`, "/session_id: "},
		{`"session_id": "`, `"session_id": 7, "x": "`, "/session_id: is a number, not a string"},
		{`"agent": {`, `"agent": [], "x": {`, "/agent: is an array, not an object"},
		{`"title": "Alex the Facilitator",`, ``, "/agent/title: is missing"},
		{`"status": "completed"`, `"status": "done"`, `/execution/status: is "done", not "running", "completed"`},
		{`"status": "completed"`, `"status": "running"`, "/execution/completed_at: is set while the status is running"},
		{`"completed_at": "2025-10-05T23:04`, `"completed_at": "2024-10-05T23:04`,
			"/execution/completed_at: is earlier than started_at"},
		{`"started_at": "2025-10-05T`, `"started_at": "2025-10-05 `, "/execution/started_at: "},
		{`"type": "document"`, `"type": "essay"`, `/outputs/0/type: is "essay", not "document", "data"`},
		{`"file": "late.json"`, `"file": "initial-requirements.md"`, "/outputs/1/file: is already listed as output 0"},
		{`"b4e3d8c2-5c6f-4890-92bc-def123456789"`, `"` + id + `"`, "/related_sessions/0: refers to the session itself"},
		{`"messageCount": 8`, `"messageCount": -1`, "/messageCount: "},
		{`"custom_field"`, `"a/b~c": 1, "unknown"`, ""},
	} {
		text := strings.Replace(valid, tt.old, tt.new, 1)
		if text == valid {
			t.Errorf("%s is not in the manifest", tt.old)
		}
		_, problems, err := manifest.Parse([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", tt.new, err)
			continue
		}
		if tt.want == "" != (len(problems) == 0) || tt.want != "" && !strings.HasPrefix(problems[0].String(), tt.want) {
			t.Errorf("%s: problems %q, want %q", tt.new, problems, tt.want)
		}
	}
	for _, text := range []string{"", "[]", "null", `"x"`, "{", valid + "{}"} {
		if _, _, err := manifest.Parse([]byte(text)); err == nil {
			t.Errorf("Parse(%.20q) succeeded", text)
		}
	}
}

// TestAdoptedKeepsUnknown checks that unknown fields of an adopted manifest are
// kept and known fields are rendered.
func TestAdoptedKeepsUnknown(t *testing.T) {
	s, artifacts := fullSession()
	s.Adopted = json.RawMessage(`{"version":"1.0.0","session_id":"x","engine":{"big":12345678901234567890},
		"agent":{"name":"old","icon":"🧭"},"execution":{"completed_at":"2020-01-01T00:00:00Z","attempt":2},
		"metadata":{"handoff":{"logSeq":1,"stale":true},"theirs":1},
		"outputs":[{"file":"unpublished.md","type":"data","words":9},{"file":"initial-requirements.md","created_at":"2025-01-01T00:00:00Z","words":7}]}`)
	b := rendered(t, s, artifacts)
	golden(t, "adopted.golden", b)
	s.Adopted = b
	if again := rendered(t, s, artifacts); !bytes.Equal(b, again) {
		t.Errorf("a second rendering differs:\n%s", again)
	}
}

// TestManifestsConform renders manifests from random facts and checks that they
// conform to the specification.
func TestManifestsConform(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records := logtest.DrawRecords(t)
		m := logtest.NewReference()
		if err := m.Apply(t.Context(), records...); err != nil {
			t.Fatal(err)
		}
		page, err := m.Sessions(t.Context(), handoff.SessionQuery{IncludeRuns: true, IncludeArchived: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range page.Sessions {
			list, err := m.Artifacts(t.Context(),
				handoff.ArtifactQuery{Producer: map[string]string{"session": s.ID}, IncludeInactive: true})
			if err != nil {
				t.Fatal(err)
			}
			b := rendered(t, s, list.Artifacts)
			_, problems, err := manifest.Parse(b)
			problems = slices.DeleteFunc(problems, func(p jsonschema.Problem) bool {
				// drawn IDs are not UUIDs
				return p.Pointer == "/session_id" || strings.HasPrefix(p.Pointer, "/related_sessions/") ||
					p.Pointer == "/workflow/name" // and some have no workflow, which Open rejects
			})
			if err != nil || len(problems) > 0 {
				t.Errorf("%v %v\n%s", problems, err, b)
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	s, artifacts := fullSession()
	f.Add(rendered(f, s, artifacts))
	sample, err := os.ReadFile("testdata/sample.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sample)
	f.Add([]byte(`{"outputs":[null,7,{"file":null}],"execution":{"started_at":[]},"metadata":null}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, _, err := manifest.Parse(b); err != nil {
			return
		}
		s := s
		s.Adopted = b
		m, err := manifest.New(s, artifacts)
		if err != nil {
			t.Fatal(err)
		}
		text, err := m.JSON(b)
		if err != nil {
			t.Fatalf("rendering over a parsed manifest: %v", err)
		}
		if _, _, err := manifest.Parse(text); err != nil {
			t.Errorf("parsing a rendered manifest: %v\n%s", err, text)
		}
	})
}
