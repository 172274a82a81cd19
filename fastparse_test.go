package handoff

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

// parseSlow is what parseFast must agree with.
func parseSlow(b []byte) (Record, error) {
	var e envelope
	if err := json.Unmarshal(b, &e); err != nil {
		return Record{}, err
	}
	p := new(ArtifactPublished)
	err := json.Unmarshal(b, p)
	return Record{Version: e.Version, Type: e.Type, ID: e.ID, CreatedAt: e.CreatedAt, Producer: e.Producer, Fact: p, raw: b}, err
}

func fullRecord(t testing.TB) []byte {
	size := int64(18342)
	r := Record{Version: 1, Type: "artifact.published", ID: "art_01K00000000000000000000000",
		CreatedAt: time.Date(2026, 11, 21, 3, 0, 0, 123e6, time.UTC),
		Producer: Producer{WorkID: "task_1", ParentWorkID: "op_9", Harness: "codex", Agent: "reviewer", Model: Model{"openai", "gpt-5"},
			RunID: "r", OperationID: "op_9", TaskID: "task_1", Session: "s", ParentSession: "p", Thread: "agents://codex/s", ToolCallID: "c",
			IDs: map[string]string{"turn": "7"}, Observed: []Observation{{"claude-code", map[string]string{"session": "x"}, FromInherited}}, Source: FromMCP},
		Fact: &ArtifactPublished{Channel: "verification", Kind: "report", Path: "reports/review.md", Root: RuntimeRoot, Worktree: "feature", TargetType: "file",
			Title: "Prüfung", Summary: "two findings", MediaType: "text/markdown", SizeBytes: &size, Digest: Digest{"sha256", "ab"}, Kept: true,
			Namespace: "r", Name: "context.md", Replaces: []string{"art_a"}, Parents: []string{"art_b", "art_c"}, Tags: []string{"security"}, Key: "k"}}
	b, err := r.JSON()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestParseFastTakesOwnRecords(t *testing.T) {
	b := fullRecord(t)
	got, ok := parseFast(b)
	if !ok {
		t.Fatalf("parseFast refuses %s", b)
	}
	want, err := parseSlow(b)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("parseFast = %+v\nwant %+v, %v", got, want, err)
	}
}

func FuzzParseFast(f *testing.F) {
	full := string(fullRecord(f))
	f.Add(full)
	for _, change := range [][2]string{
		{`"kept":true`, `"kept":false`}, {`18342`, `018342`}, {`18342`, `-1`}, {`18342`, `1e3`}, {`"version":1`, `"version":01`},
		{`"tags":["security"]`, `"tags":[]`}, {`"tags":["security"]`, `"tags":["a",]`}, {`"ids":{"turn":"7"}`, `"ids":{}`},
		{`"title":"Prüfung"`, `"title":"\u0041"`}, {`"title":"Prüfung"`, "\"title\":\"\xff\""}, {`"title":"Prüfung"`, `"title":null`},
		{`"channel":`, `"CHANNEL":`}, {`"key":"k"`, `"key":"k","key":"l"`}, {`{"version"`, `{ "version"`}, {`"key":"k"`, `"metadata":{"a":1}`},
		{`"ids":{"turn":"7"}`, `"ids":{"turn":"7","turn":"8"}`}, {`.123Z`, `.123+01:00`}, {`"model":{`, `"model":{},"model":{`},
	} {
		f.Add(strings.Replace(full, change[0], change[1], 1))
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := parseFast([]byte(text))
		if !ok {
			return
		}
		want, err := parseSlow([]byte(text))
		if err != nil {
			t.Fatalf("parseFast takes %q, encoding/json says %v", text, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("parseFast(%q) = %+v %+v\nwant %+v %+v", text, got, got.Fact, want, want.Fact)
		}
	})
}

func BenchmarkParseRecord(b *testing.B) {
	record := fullRecord(b)
	for name, parse := range map[string]func([]byte) (Record, error){"Fast": ParseRecord, "EncodingJSON": parseSlow} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(record)))
			for b.Loop() {
				if _, err := parse(record); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
