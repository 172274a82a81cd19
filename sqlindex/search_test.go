package sqlindex_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/logtest"
	"github.com/agent-handoff/handoff/sqlindex"
	"pgregory.net/rapid"
)

// library returns an index of a few artifacts, and their ids by title.
func library(t *testing.T) (*sqlindex.Index, map[string]string) {
	t.Helper()
	x, ids := open(t, filepath.Join(t.TempDir(), "index.db"), "log1"), map[string]string{}
	var records []handoff.Record
	add := func(f handoff.Fact) string {
		r := logtest.NewRecord("x")
		r.Fact = f
		if _, ok := f.(*handoff.ArtifactPublished); !ok {
			r.Type, r.ID = "artifact.withdrawn", "rec_1"
		}
		records = append(records, r)
		return r.ID
	}
	for _, p := range []handoff.ArtifactPublished{
		{Title: "Retry policy", Summary: "When a call is tried again, and how often"},
		{Title: "Security review", Tags: []string{"retry", "draft"}},
		{Title: "Résumé", Name: "context.md", Namespace: "s1"},
		{Title: "Old", Summary: "a retry that was withdrawn"},
		{Title: "Unnamed", Path: "docs/retry_notes.md"},
	} {
		p.Channel, p.TargetType = "design", "file"
		ids[p.Title] = add(&p)
	}
	add(&handoff.ArtifactWithdrawn{ArtifactID: ids["Old"]})
	if err := x.Apply(t.Context(), logtest.Placed(records)...); err != nil {
		t.Fatal(err)
	}
	return x, ids
}

func TestSearch(t *testing.T) {
	x, ids := library(t)
	if err := x.PutText(t.Context(), ids["Résumé"], "The body says backoff."); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		query sqlindex.Query
		want  []string // titles
	}{
		{sqlindex.Query{Text: "retry"}, []string{"Unnamed", "Security review", "Retry policy"}},
		{sqlindex.Query{Text: "RETRY", Hidden: true}, []string{"Unnamed", "Old", "Security review", "Retry policy"}},
		{sqlindex.Query{Text: "retry", Limit: 1}, []string{"Unnamed"}},
		{sqlindex.Query{Text: "retry policy"}, []string{"Retry policy"}},
		{sqlindex.Query{Text: "retry draft"}, []string{"Security review"}},
		{sqlindex.Query{Text: "often policy"}, []string{"Retry policy"}},
		{sqlindex.Query{Text: "resume"}, []string{"Résumé"}},
		{sqlindex.Query{Text: "context.md"}, []string{"Résumé"}},
		{sqlindex.Query{Text: "backoff"}, []string{"Résumé"}},
		{sqlindex.Query{Text: "retr"}, nil},
		{sqlindex.Query{Text: "retr* pol*"}, []string{"Retry policy"}},
		{sqlindex.Query{Text: "retry - policy"}, []string{"Retry policy"}},
		{sqlindex.Query{Text: "retry OR review"}, nil},
		{sqlindex.Query{Text: "title:retry"}, nil},
	} {
		found, err := x.Search(t.Context(), tt.query)
		if err != nil {
			t.Errorf("Search(%+v) = %v", tt.query, err)
		}
		var got []string
		for _, m := range found {
			got = append(got, m.Artifact.Title)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("Search(%+v) = %q, want %q", tt.query, got, tt.want)
		}
	}
}

func TestSnippets(t *testing.T) {
	x, _ := library(t)
	found, err := x.Search(t.Context(), sqlindex.Query{Text: "retry draft"})
	if err != nil || len(found) != 1 {
		t.Fatalf("Search = %v, %v, want one", found, err)
	}
	want := []sqlindex.Snippet{{Field: "tags", Text: sqlindex.Begin + "retry" + sqlindex.End + " " + sqlindex.Begin + "draft" + sqlindex.End}}
	if !slices.Equal(found[0].Snippets, want) {
		t.Errorf("snippets %q, want %q", found[0].Snippets, want)
	}
}

// TestSearchHostile checks that no text is taken for syntax.
func TestSearchHostile(t *testing.T) {
	x, _ := library(t)
	hostile := []string{"", " ", `"`, `""`, "*", "-", "^", "NEAR(", "a NEAR/2 b", "title:", "{title}:x", "AND", "NOT", "a AND", "(", ")", `a"b`, "a\x00b",
		"\xff", "a+b", "'; DROP TABLE texts; --", "%", strings.Repeat("word ", 5000), strings.Repeat("w", 100_000), "中文", "²", "\u0300", "é\u0301"}
	ask := func(text string) {
		if _, err := x.Search(t.Context(), sqlindex.Query{Text: text}); err != nil && !errors.Is(err, handoff.Invalid) {
			t.Fatalf("Search(%.40q) = %v", text, err)
		}
	}
	for _, text := range hostile {
		ask(text)
	}
	rapid.Check(t, func(rt *rapid.T) {
		ask(rapid.OneOf(rapid.String(), rapid.StringMatching(`[ "a-c*^:(){}+.\-]{0,20}`)).Draw(rt, "text"))
	})
}

func TestPutTextOfNothing(t *testing.T) {
	x, _ := library(t)
	if err := x.PutText(t.Context(), "art_0", "text"); !errors.Is(err, handoff.NotFound) {
		t.Errorf("PutText = %v, want kind NotFound", err)
	}
}
