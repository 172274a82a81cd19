package handoff_test

import (
	"github.com/agent-handoff/handoff/engines/memory"

	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/internal/log/content"
	"github.com/agent-handoff/handoff/internal/log/filelog"
)

// A hookLog calls before and after each Append of a log.
type hookLog struct {
	handoff.Log
	before func()
	after  func() error
}

func (l *hookLog) Append(ctx context.Context, r handoff.Record) (handoff.Seq, error) {
	if before := l.before; before != nil {
		l.before = nil // once
		before()
	}
	seq, err := l.Log.Append(ctx, r)
	if err == nil && l.after != nil {
		err = l.after()
	}
	return seq, err
}

// newWorkspace returns a directory with a runtime directory, and a function
// that returns a new Hub for a log and that directory.
func newWorkspace(t *testing.T) (dir string, hub func(handoff.Log) *handoff.Hub) {
	t.Helper()
	dir = t.TempDir()
	runtime := filepath.Join(dir, ".handoff")
	if err := os.Mkdir(runtime, 0o755); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	random := rand.NewChaCha8([32]byte{5})
	files := &content.Files{Root: root, Runtime: func() (*os.Root, error) {
		return os.OpenRoot(runtime)
	}, RuntimePath: ".handoff"}
	return dir, func(log handoff.Log) *handoff.Hub {
		return handoff.New(log, logtest.NewReference(), filelog.Open(runtime, random).Bodies(),
			handoff.Options{Now: func() time.Time { return when }, Rand: random, Files: files})
	}
}

// TestUnchangedRevision writes a name again: only if all that a revision records
// is equal, nothing is added.
func TestUnchangedRevision(t *testing.T) {
	_, newHub := newWorkspace(t)
	h := newHub(memory.NewLog())
	parents := make([]string, 2)
	for i := range parents {
		p, err := h.Publish(t.Context(), handoff.Draft{Channel: "analysis", Body: strings.NewReader("parent")})
		if err != nil {
			t.Fatal(err)
		}
		parents[i] = p.ID
	}
	revision := func(body string, change func(*handoff.Draft)) handoff.Published {
		t.Helper()
		d := handoff.Draft{Namespace: "run", Name: "context.md", Path: "out/context.md", Channel: "design", Kind: "report",
			Title: "title", Summary: "summary", Tags: []string{"a", "b"}, Parents: parents[:1], Body: strings.NewReader(body)}
		if change != nil {
			change(&d)
		}
		p, err := h.Publish(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for name, change := range map[string]func(*handoff.Draft){
		"body":            func(d *handoff.Draft) { d.Body = strings.NewReader("other") },
		"channel":         func(d *handoff.Draft) { d.Channel = "patch" },
		"kind":            func(d *handoff.Draft) { d.Kind = "log" },
		"title":           func(d *handoff.Draft) { d.Title = "other" },
		"summary":         func(d *handoff.Draft) { d.Summary = "other" },
		"tags":            func(d *handoff.Draft) { d.Tags = []string{"a"} },
		"another parent":  func(d *handoff.Draft) { d.Parents = parents[1:] },
		"one more parent": func(d *handoff.Draft) { d.Parents = parents },
		"no parent":       func(d *handoff.Draft) { d.Parents = nil },
		"media type":      func(d *handoff.Draft) { d.MediaType = "text/html" },
		"metadata":        func(d *handoff.Draft) { d.Metadata = map[string]any{"pass": 2} },
		"replaces":        func(d *handoff.Draft) { d.Replaces = parents[:1] },
		"claims":          func(d *handoff.Draft) { d.Claims = []handoff.Claim{{Text: "all tests pass"}} },
		"attestation":     func(d *handoff.Draft) { d.Attestation = &handoff.Attestation{Argv: []string{"true"}} },
	} {
		first := revision("body", nil)
		if again := revision("body", nil); !again.Existing || again.ID != first.ID {
			t.Errorf("%s: the unchanged revision has id %s, existing %v, want %s, true", name, again.ID, again.Existing,
				first.ID)
		}
		if p := revision("body", change); p.Existing || p.ID == first.ID {
			t.Errorf("%s changed: got id %s, existing %v, want a new revision", name, p.ID, p.Existing)
		}
	}
}

// TestSameKeyAtOnce publishes with a key while another process publishes with the
// same key: both return the artifact that was appended first.
func TestSameKeyAtOnce(t *testing.T) {
	for _, tt := range []struct {
		name, rivalBody string
		kind            error
	}{{"the same body", "body", nil}, {"another body", "other", handoff.Conflict}} {
		_, newHub := newWorkspace(t)
		shared := memory.NewLog()
		draft := func(body string) handoff.Draft {
			return handoff.Draft{Channel: "design", Key: "k", Body: strings.NewReader(body)}
		}
		var rival handoff.Published
		log := &hookLog{Log: shared, before: func() {
			var err error
			if rival, err = newHub(shared).Publish(t.Context(), draft(tt.rivalBody)); err != nil {
				t.Fatal(err)
			}
		}}
		p, err := newHub(log).Publish(t.Context(), draft("body"))
		if tt.kind != nil {
			if !errors.Is(err, tt.kind) {
				t.Errorf("%s: %v, want kind %v", tt.name, err, tt.kind)
			}
			continue
		}
		if err != nil || p.ID != rival.ID || !p.Existing {
			t.Errorf("%s: id %s, existing %v, %v, want that of the first publish, %s", tt.name, p.ID, p.Existing, err, rival.ID)
		}
	}
}

// TestSameKey publishes with a key that was used before.
func TestSameKey(t *testing.T) {
	dir, newHub := newWorkspace(t)
	for _, name := range []string{"one", "two"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name+".md"), []byte("body"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "two", "more"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	h := newHub(memory.NewLog())
	for _, tt := range []struct {
		key, path, again string
		kind             error
	}{
		{"directory", "one", "one", nil},
		{"other directory", "one", "two", handoff.Conflict},
		{"same bytes", "one.md", "two.md", nil},
		{"file and directory", "one", "one.md", handoff.Conflict},
	} {
		first, err := h.Publish(t.Context(), handoff.Draft{Channel: "design", Key: tt.key, Path: tt.path})
		if err != nil {
			t.Fatal(err)
		}
		p, err := h.Publish(t.Context(), handoff.Draft{Channel: "design", Key: tt.key, Path: tt.again})
		switch {
		case tt.kind != nil:
			var e *handoff.Error
			if !errors.Is(err, tt.kind) || !errors.As(err, &e) || e.Hint.IsZero() {
				t.Errorf("%s: %v, want kind %v with a hint", tt.key, err, tt.kind)
			}
		case err != nil || p.ID != first.ID || !p.Existing:
			t.Errorf("%s: id %s, existing %v, %v, want %s, true", tt.key, p.ID, p.Existing, err, first.ID)
		}
	}
	if n, err := h.Newest(t.Context()); n != 4 || err != nil {
		t.Errorf("the log has %d records, %v, want 4", n, err)
	}
}

// TestFailedAppendOfStoredBody publishes to a log that fails after the record was
// stored, and to one that fails before: the body is kept only with its record.
func TestFailedAppendOfStoredBody(t *testing.T) {
	failure := handoff.E("append", "", handoff.Unavailable, nil)
	draft := func() handoff.Draft {
		return handoff.Draft{Channel: "design", Keep: handoff.KeepNever, Body: strings.NewReader("body")}
	}
	_, newHub := newWorkspace(t)
	shared := memory.NewLog()
	if _, err := newHub(&hookLog{Log: shared, after: func() error { return failure }}).Publish(t.Context(),
		draft()); !errors.Is(err, failure) {
		t.Fatalf("got %v, want %v", err, failure)
	}
	h := newHub(shared)
	page, err := h.Artifacts(t.Context(), handoff.ArtifactQuery{})
	if err != nil || len(page.Artifacts) != 1 {
		t.Fatalf("got %d artifacts, %v, want the one that was appended", len(page.Artifacts), err)
	}
	c, err := h.Open(t.Context(), page.Artifacts[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if b, err := io.ReadAll(c); string(b) != "body" || err != nil {
		t.Errorf("read %q, %v, want the body", b, err)
	}

	dir, newHub := newWorkspace(t)
	if _, err := newHub(closedLog{memory.NewLog()}).Publish(t.Context(), draft()); !errors.Is(err,
		handoff.Unavailable) {
		t.Errorf("a publish to a log that fails: %v, want kind Unavailable", err)
	}
	left, err := filepath.Glob(filepath.Join(dir, ".handoff", content.StoredDir, "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("a publish without a record left %q, %v", left, err)
	}
}

// A closedLog is a log that can't be appended to.
type closedLog struct{ handoff.Log }

func (closedLog) Append(context.Context, handoff.Record) (handoff.Seq, error) {
	return 0, handoff.E("append", "", handoff.Unavailable, nil)
}

// TestUse records a use once for each work, and none outside a run or session.
func TestUse(t *testing.T) {
	_, newHub := newWorkspace(t)
	h := newHub(memory.NewLog())
	p, err := h.Publish(t.Context(), handoff.Draft{Channel: "design", Body: strings.NewReader("body")})
	if err != nil {
		t.Fatal(err)
	}
	one := h.As(handoff.Producer{Harness: "codex", Session: "s1", Source: handoff.FromFlag})
	two := h.As(handoff.Producer{Harness: "codex", Session: "s1", RunID: "r1", Source: handoff.FromFlag})
	for _, as := range []*handoff.Hub{h, one, one, two, two} {
		a, err := as.Artifact(t.Context(), p.ID)
		if err != nil {
			t.Fatal(err)
		}
		if err := as.Use(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	a, err := h.Artifact(t.Context(), p.ID)
	want := []handoff.Use{{Harness: "codex", WorkID: "s1", Session: "s1"},
		{Harness: "codex", WorkID: "r1", Session: "s1", RunID: "r1"}}
	if err != nil || !slices.Equal(a.UsedBy, want) {
		t.Errorf("used by %v, %v, want %v", a.UsedBy, err, want)
	}
}
