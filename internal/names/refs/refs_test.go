package refs_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/internal/names"
	"github.com/agent-handoff/handoff/internal/names/refs"
)

// published is a publish by its ID.
type published struct {
	id string
	handoff.ArtifactPublished
}

// id returns an ID that begins with one text and ends with another.
func id(begin, end string) string {
	return "art_" + begin + strings.Repeat("0", 26-len(begin)-len(end)) + end
}

// resolver returns a resolver over publishes and further facts. Files are in dir.
func resolver(t *testing.T, dir string, list []published, more ...handoff.Fact) refs.Resolver {
	t.Helper()
	var records []handoff.Record
	add := func(id string, f handoff.Fact) {
		records = append(records, handoff.Record{Version: 1, ID: id, CreatedAt: time.Unix(int64(len(records)), 0), Fact: f,
			Producer: handoff.Producer{Agent: "alex"}})
	}
	for _, p := range list {
		p.Channel = strings.TrimSpace(p.Channel)
		if p.Channel == "" {
			p.Channel = "design"
		}
		add(p.id, &p.ArtifactPublished)
	}
	for i, f := range more {
		add(id("Z", string(rune('A'+i))), f)
	}
	m := logtest.NewReference()
	if err := m.Apply(t.Context(), logtest.Placed(records)...); err != nil {
		t.Fatal(err)
	}
	return refs.Resolver{Reader: located{m, dir}, Scope: names.Scope{}, Dir: dir}
}

// A located reader sets the files of artifacts, in a directory.
type located struct {
	handoff.Reader
	dir string
}

func (l located) Artifacts(ctx context.Context, q handoff.ArtifactQuery) (handoff.ArtifactPage, error) {
	page, err := l.Reader.Artifacts(ctx, q)
	for i, a := range page.Artifacts {
		page.Artifacts[i].File = filepath.Join(l.dir, a.Path)
		if a.Worktree != "" {
			page.Artifacts[i].File = filepath.Join(l.dir, "..", a.Worktree, a.Path)
		}
	}
	return page, err
}

func TestTiers(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	size := int64(12)
	first, second, third := id("01ABCD", "AAAAAA"), id("01ABCE", "BBBBBB"), id("01ABCE", "CCCCCC")
	named, tail := id("02", "DDDDDD"), id("02", "ABCDEF")
	r := resolver(t, dir, []published{
		{first, handoff.ArtifactPublished{Path: "docs/a.md", SizeBytes: &size}},
		{second, handoff.ArtifactPublished{Path: "docs/a.md"}},
		{third, handoff.ArtifactPublished{Path: "docs/a.md", Worktree: "other"}},
		{named, handoff.ArtifactPublished{Path: "x/DDDDDD", Namespace: "run-1", Name: "BBBBBB", Channel: "patch"}},
		{tail, handoff.ArtifactPublished{Path: "ABCDEF", Channel: "patch"}},
		{id("03", "EEEEEE"), handoff.ArtifactPublished{Path: "AAAAAA"}},
	}, &handoff.ArtifactWithdrawn{ArtifactID: tail})
	if err := os.Mkdir(filepath.Join(dir, "real"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ ref, want string }{
		{first, first},
		{strings.ToLower(first), first},
		{"run-1/BBBBBB", named},
		{"BBBBBB", named}, // a name before the suffix of an ID
		{"docs/a.md", second},
		{"./docs/../docs/a.md", second},
		{filepath.Join(dir, "docs", "a.md"), second},
		{filepath.Join(dir, "link", "docs", "a.md"), second},
		{"../other/docs/a.md", third},
		{"ABCDEF", tail},                      // a path whose only artifact was withdrawn
		{"AAAAAA", id("03", "EEEEEE")},        // a path before the suffix of an ID
		{"design:latest", id("03", "EEEEEE")}, // the newest active artifact
		{"patch:latest", named},
		{"art_01ABCD", first},
		{"01abcd", first},
		{"CCCCCC", third},
		{"cccccc", third},
		{"0CCCCCC", third},
		{third[len("art_"):], third},
	} {
		got, err := r.Find(t.Context(), tt.ref)
		if err != nil || got.ID != tt.want {
			t.Errorf("Find(%q) = %s, %v, want %s", tt.ref, got.ID, err, tt.want)
		}
	}
	for _, tt := range []struct {
		ref  string
		kind handoff.Kind
		want string // in the error and its hint
	}{
		{"01ABCE", handoff.Conflict, third + " (design: docs/a.md, by alex, 1970-01-01T00:00:02Z); " + second},
		{"art_01ABCE", handoff.Conflict, "ambiguous ID: 2 artifacts match"},
		{"art_01ABC", handoff.Conflict, "by alex, 12 bytes, "},
		{"BBBB", handoff.NotFound, "a part of an ID needs at least 6 characters"},
		{"docs/b.md", handoff.NotFound, "docs/a.md?"},
		{"run-2/BBBBBB", handoff.NotFound, "run-1/BBBBBB"},
		{"desing:latest", handoff.NotFound, "did you mean design:latest"},
		{"verification:latest", handoff.NotFound, "no such artifact"},
		{"something else", handoff.NotFound, "the newest artifacts are AAAAAA, run-1/BBBBBB, "},
		{"../elsewhere.md", handoff.NotFound, "no such artifact"},
		{"/", handoff.NotFound, "no such artifact"},
		{"", handoff.Invalid, "is empty"},
		{"a\x00b", handoff.Invalid, "control characters"},
	} {
		_, err := r.Find(t.Context(), tt.ref)
		var e *handoff.Error
		if !errors.As(err, &e) || e.Kind != tt.kind || !strings.Contains(e.Error()+" "+e.Hint.String(), tt.want) {
			t.Errorf("Find(%q) = %v, %s, want %s with %q", tt.ref, err, e.Hint, tt.kind, tt.want)
		}
	}
}

// TestMovedPath resolves the path to which a published file was moved.
func TestMovedPath(t *testing.T) {
	moved := id("01", "A")
	r := resolver(t, "/ws", []published{{moved, handoff.ArtifactPublished{Path: "a/b/c.md"}}},
		&handoff.PathMoved{From: "a/b", To: "x"}, &handoff.PathMoved{From: "x/c.md", To: "y.md"},
		&handoff.PathMoved{From: "q", To: "q/q"})
	if got, err := r.Find(t.Context(), "y.md"); err != nil || got.ID != moved {
		t.Errorf("Find(y.md) = %s, %v, want %s", got.ID, err, moved)
	}
	for _, ref := range []string{"a/b/c.md", "x/c.md", "q/q/q"} {
		if got, err := r.Find(t.Context(), ref); !errors.Is(err, handoff.NotFound) {
			t.Errorf("Find(%s) = %s, %v, want NotFound", ref, got.ID, err)
		}
	}
}
