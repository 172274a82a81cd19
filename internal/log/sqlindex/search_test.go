package sqlindex_test

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/internal/log/sqlindex"
	"pgregory.net/rapid"
)

// library returns an index of a few artifacts, and their IDs by title.
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
	indexText(t, x, map[string]string{ids["Résumé"]: "The body says backoff."})
	for _, tt := range []struct {
		query sqlindex.Query
		want  []string // titles
	}{
		{sqlindex.Query{Text: "retry"}, []string{"Unnamed", "Security review", "Retry policy"}},
		{sqlindex.Query{Text: "RETRY", IncludeInactive: true}, []string{"Unnamed", "Old", "Security review", "Retry policy"}},
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
		if got := titles(t, x, tt.query); !slices.Equal(got, tt.want) {
			t.Errorf("Search(%+v) = %q, want %q", tt.query, got, tt.want)
		}
	}
}

func TestSnippets(t *testing.T) {
	x, _ := library(t)
	indexText(t, x, nil)
	found, err := x.Search(t.Context(), sqlindex.Query{Text: "retry draft"})
	if err != nil || len(found) != 1 {
		t.Fatalf("Search = %d matches, %v, want one", len(found), err)
	}
	want := []sqlindex.Snippet{
		{Field: "tags", Text: sqlindex.Begin + "retry" + sqlindex.End + " " + sqlindex.Begin + "draft" + sqlindex.End}}
	if !slices.Equal(found[0].Snippets, want) {
		t.Errorf("snippets %q, want %q", found[0].Snippets, want)
	}
}

// TestSearchHostile checks that no text is taken for syntax.
func TestSearchHostile(t *testing.T) {
	x, _ := library(t)
	indexText(t, x, nil)
	hostile := []string{"", " ", `"`, `""`, "*", "-", "^", "NEAR(", "a NEAR/2 b", "title:", "{title}:x", "AND", "NOT",
		"a AND", "(", ")", `a"b`, "a\x00b",
		"\xff", "a+b", "'; DROP TABLE texts; --", "%", strings.Repeat("word ", 5000), strings.Repeat("w", 100_000), "中文", "²",
		"\u0300", "é\u0301"}
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

// TestTextIsIndexedOnce checks that the work of a search follows what is new, and that
// no withdrawn artifact's body is asked for.
func TestTextIsIndexedOnce(t *testing.T) {
	x, ids := library(t)
	again := logtest.NewRecord("new.md")
	again.Seq = 7
	for _, step := range []struct {
		add  []handoff.Record
		want []string
	}{
		{want: []string{ids["Retry policy"], ids["Security review"], ids["Résumé"], ids["Unnamed"]}},
		{want: nil},
		{add: []handoff.Record{again}, want: []string{again.ID}},
	} {
		if err := x.Apply(t.Context(), step.add...); err != nil {
			t.Fatal(err)
		}
		if asked := indexText(t, x, nil); !slices.Equal(asked, step.want) {
			t.Errorf("asked for the bodies of %q, want %q", asked, step.want)
		}
	}
}

// TestIndexTextStopsWithItsBodies checks that an error of a body's is passed on, and
// that nothing is lost by it.
func TestIndexTextStopsWithItsBodies(t *testing.T) {
	x, ids := library(t)
	broken := errors.New("broken")
	err := x.IndexText(t.Context(), func(handoff.Artifact) (string, error) { return "", broken }, func(handoff.Seq) {})
	if !errors.Is(err, broken) {
		t.Errorf("IndexText = %v, want the error of the body", err)
	}
	indexText(t, x, map[string]string{ids["Unnamed"]: "backoff"})
	if got := titles(t, x, sqlindex.Query{Text: "backoff"}); !slices.Equal(got, []string{"Unnamed"}) {
		t.Errorf("found %q", got)
	}
}

// TestWithdrawnBody checks that an index forgets the body of what is withdrawn,
// before, after, or while its texts are indexed.
func TestWithdrawnBody(t *testing.T) {
	for when, steps := range map[string]func(index, withdraw func()){
		"before": func(index, withdraw func()) { withdraw(); index() },
		"after":  func(index, withdraw func()) { index(); withdraw() },
		"while":  nil,
	} {
		x, ids := library(t)
		withdraw := func() {
			r := logtest.NewRecord("x")
			r.Type, r.ID, r.Seq, r.Fact = "artifact.withdrawn", "rec_2", 7, &handoff.ArtifactWithdrawn{
				ArtifactID: ids["Unnamed"]}
			if err := x.Apply(t.Context(), r); err != nil {
				t.Error(err)
			}
		}
		index := func() { indexText(t, x, map[string]string{ids["Unnamed"]: "backoff"}) }
		if steps == nil {
			err := x.IndexText(t.Context(), func(a handoff.Artifact) (string, error) {
				if a.ID == ids["Unnamed"] {
					withdraw()
				}
				return "backoff", nil
			}, func(handoff.Seq) {})
			if err != nil {
				t.Fatal(err)
			}
		} else {
			steps(index, withdraw)
		}
		if got := titles(t, x, sqlindex.Query{Text: "backoff unnamed", IncludeInactive: true}); len(got) != 0 {
			t.Errorf("withdrawn %s: its body is found: %q", when, got)
		}
		if got := titles(t, x, sqlindex.Query{Text: "unnamed", IncludeInactive: true}); len(got) != 1 {
			t.Errorf("withdrawn %s: its title is not found", when)
		}
	}
}

// TestSearchAnswers compares searches with a scan of every artifact: of indexes
// whose texts were indexed at any time, by several processes at once, and of one
// that was built at once.
func TestSearchAnswers(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		records := logtest.DrawRecords(rt)
		bodies := map[string]string{}
		for _, r := range records {
			bodies[r.ID] = rapid.SampledFrom([]string{"", "the retry of a policy", "Review: backoff", "draft\x02 backoff"}).
				Draw(rt, "body")
		}
		file := filepath.Join(t.TempDir(), "index.db")
		for rest := records; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(rt, "batch")
			x := open(t, file, "log1")
			if err := x.Apply(rt.Context(), rest[:n]...); err != nil {
				rt.Fatal(err)
			}
			if rest = rest[n:]; rapid.Bool().Draw(rt, "index text") {
				var wg sync.WaitGroup
				for _, x := range []*sqlindex.Index{x, open(t, file, "log1")} {
					wg.Go(func() { indexText(t, x, bodies) })
				}
				wg.Wait()
			}
		}
		rebuilt := open(t, filepath.Join(t.TempDir(), "index.db"), "log1")
		want := logtest.NewReference()
		for _, x := range []handoff.Index{rebuilt, want} {
			if err := x.Apply(rt.Context(), records...); err != nil {
				rt.Fatal(err)
			}
		}
		for _, x := range []*sqlindex.Index{open(t, file, "log1"), rebuilt} {
			indexText(t, x, bodies)
			for _, text := range []string{"retry", "backoff", "review", "security draft", "policy retry", "b.md", "rev*",
				"nothing"} {
				for _, hidden := range []bool{false, true} {
					found, err := x.Search(rt.Context(), sqlindex.Query{Text: text, IncludeInactive: hidden})
					if err != nil {
						rt.Fatal(err)
					}
					var got []string
					for _, m := range found {
						got = append(got, m.Artifact.ID)
					}
					if wanted := look(t, want, bodies, text, hidden); !slices.Equal(got, wanted) {
						rt.Fatalf("Search(%q, hidden %t) = %q, want %q", text, hidden, got, wanted)
					}
				}
			}
		}
	})
}

// look returns the artifacts that have all words, by looking at each.
func look(t *testing.T, m *logtest.Reference, bodies map[string]string, text string, hidden bool) (ids []string) {
	t.Helper()
	page, err := m.Artifacts(t.Context(), handoff.ArtifactQuery{IncludeInactive: hidden})
	if err != nil {
		t.Fatal(err)
	}
	split := func(s string) []string {
		return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsNumber(r)
		})
	}
	for _, a := range page.Artifacts {
		p := a.Fact.(*handoff.ArtifactPublished) // which has the path as published, wherever the file is now
		all := split(strings.Join(append([]string{p.Title, p.Summary, cmp.Or(p.Name, p.Path)}, p.Tags...), " "))
		if a.Status != handoff.Withdrawn {
			all = append(all, split(bodies[a.ID])...)
		}
		has := func(word string) bool {
			begin, isBegin := strings.CutSuffix(word, "*")
			return slices.ContainsFunc(all, func(w string) bool { return w == word || isBegin && strings.HasPrefix(w, begin) })
		}
		missing := func(words string) bool {
			return slices.ContainsFunc(split(words), func(w string) bool { return !has(w) })
		}
		if !slices.ContainsFunc(strings.Fields(text), func(word string) bool {
			if strings.HasSuffix(word, "*") {
				return !has(word)
			}
			return missing(word)
		}) {
			ids = append(ids, a.ID)
		}
	}
	return ids
}

// indexText indexes the texts of all artifacts, with bodies by their IDs, and
// returns the artifacts whose bodies were read.
func indexText(t *testing.T, x *sqlindex.Index, bodies map[string]string) (asked []string) {
	t.Helper()
	err := x.IndexText(t.Context(), func(a handoff.Artifact) (string, error) {
		asked = append(asked, a.ID)
		return bodies[a.ID], nil
	}, func(handoff.Seq) {})
	if err != nil {
		t.Error(err)
	}
	return asked
}

// titles returns the titles of what a search finds.
func titles(t *testing.T, x *sqlindex.Index, q sqlindex.Query) (list []string) {
	t.Helper()
	found, err := x.Search(t.Context(), q)
	if err != nil {
		t.Errorf("Search(%+v) = %v", q, err)
	}
	for _, m := range found {
		list = append(list, m.Artifact.Title)
	}
	return list
}

// TestImportWhileTextsAreRead completes an import while another process reads the
// bodies of later records: what was imported is found, too.
func TestImportWhileTextsAreRead(t *testing.T) {
	x, err := sqlindex.OpenMemory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	seq := handoff.Seq(0)
	apply := func(imported string, f handoff.Fact) {
		t.Helper()
		seq++
		r := handoff.Record{Version: 1, Seq: seq, ID: fmt.Sprintf("art_%026d", seq), Import: imported, Fact: f}
		if err := x.Apply(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	index := func(during func()) {
		t.Helper()
		body := func(handoff.Artifact) (string, error) { during(); return "", nil }
		if err := x.IndexText(t.Context(), body, func(handoff.Seq) {}); err != nil {
			t.Fatal(err)
		}
	}
	apply("", &handoff.ArtifactPublished{Channel: "design", Path: "a", Title: "before"})
	index(func() {})
	apply("i", &handoff.ArtifactPublished{Channel: "design", Path: "b", Title: "imported"})
	apply("", &handoff.ArtifactPublished{Channel: "design", Path: "c", Title: "later"})
	index(func() {
		if seq == 3 {
			apply("", &handoff.SessionImported{SessionID: "s", Import: "i", Records: 1})
		}
	})
	index(func() {})
	for _, word := range []string{"before", "imported", "later"} {
		if found, err := x.Search(t.Context(), sqlindex.Query{Text: word}); err != nil || len(found) != 1 {
			t.Errorf("%s: %d found, %v", word, len(found), err)
		}
	}
}
