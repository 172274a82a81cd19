package names_test

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/internal/log/content"
	"github.com/agent-handoff/handoff/internal/log/filelog"
	"github.com/agent-handoff/handoff/internal/log/localstate"
	"github.com/agent-handoff/handoff/internal/names"
)

// A pausedWriter writes context.md of run-1. It calls appended after a record
// was appended and opened after a body was opened for rendering, once each.
type pausedWriter struct {
	names.Writer
	appended, opened func()
}

func newPausedWriter(t *testing.T, dir string) *pausedWriter {
	t.Helper()
	must(t, localstate.NewDir(filepath.Join(dir, ".handoff"), nil).Create(t.Context()))
	log := filelog.Open(filepath.Join(dir, ".handoff"), rand.Reader)
	p := &pausedWriter{}
	root, err := os.OpenRoot(dir)
	must(t, err)
	t.Cleanup(func() { root.Close() })
	hub := handoff.New(pausedLog{log, p}, logtest.NewReference(), pausedBodies{log.Bodies(), p},
		handoff.Options{Now: time.Now, Rand: rand.Reader, Files: &content.Files{Root: root}})
	p.Writer = names.Writer{Hub: hub, Workspace: dir, Scope: scopeOf(dir, "run-1")}
	return p
}

func (p *pausedWriter) write(t *testing.T, text string) names.Written {
	t.Helper()
	written, err := p.Write(t.Context(), handoff.Draft{
		Channel: "handoff", Name: "context.md", Body: strings.NewReader(text), Keep: handoff.KeepAlways})
	if err != nil || len(written.Warnings) > 0 {
		t.Fatalf("write %q: %v, warnings %q", text, err, written.Warnings)
	}
	return written
}

func once(f *func()) {
	if call := *f; call != nil {
		*f = nil
		call()
	}
}

type pausedLog struct {
	*filelog.Log
	p *pausedWriter
}

func (l pausedLog) Append(ctx context.Context, r handoff.Record) (handoff.Seq, error) {
	seq, err := l.Log.Append(ctx, r)
	once(&l.p.appended)
	return seq, err
}

type pausedBodies struct {
	handoff.Bodies
	p *pausedWriter
}

func (b pausedBodies) Open(ctx context.Context, d handoff.Digest) (io.ReadSeekCloser, error) {
	r, err := b.Bodies.Open(ctx, d)
	once(&b.p.opened)
	return r, err
}

// checkHead checks that the file of context.md and its newest revision have the
// given content.
func checkHead(t *testing.T, dir, want string) {
	t.Helper()
	w := open(t, dir)
	head, err := resolver(w.Hub(), scopeOf(dir, "run-1")).Find(t.Context(), "context.md")
	must(t, err)
	body, err := w.Hub().Open(t.Context(), head.ID)
	must(t, err)
	defer body.Close()
	if got, err := io.ReadAll(body); err != nil || string(got) != want {
		t.Errorf("newest revision = %q, %v, want %q", got, err, want)
	}
	if got, err := os.ReadFile(file(dir, "run-1", "context.md")); err != nil || string(got) != want {
		t.Errorf("file = %q, %v, want %q", got, err, want)
	}
}

// TestWriteWhileRendering writes a name while another writer is about to
// replace its file with an older revision: the file gets the newest content.
func TestWriteWhileRendering(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, second := newPausedWriter(t, dir), newPausedWriter(t, dir)
	raced := false
	first.opened = func() { raced = true; second.write(t, "second") }
	first.write(t, "first")
	if !raced {
		t.Fatal("the second write did not run while the first was rendering")
	}
	checkHead(t, dir, "second")
}

// TestEditWhileRendering edits a name's file between the record of a write and
// its rendering: the edit becomes the newest revision, and the file keeps it.
func TestEditWhileRendering(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := newPausedWriter(t, dir)
	w.write(t, "first")
	w.appended = func() {
		must(t, os.WriteFile(file(dir, "run-1", "context.md"), []byte("edit"), 0o644))
		w.opened = func() { t.Error("the edit was replaced, if only for a moment") }
	}
	if written := w.write(t, "second"); len(written.SavedEdits) != 1 {
		t.Errorf("%d edits were saved, want 1", len(written.SavedEdits))
	}
	checkHead(t, dir, "edit")
	revisions, err := names.Revisions(t.Context(), open(t, dir).Hub(), "run-1", "context.md")
	if err != nil || len(revisions) != 3 {
		t.Errorf("%d revisions, %v, want 3", len(revisions), err)
	}
}

// TestUnrecordedSibling finds a file without a record of another run of the
// session before an artifact of another session.
func TestUnrecordedSibling(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := open(t, dir)
	other := names.Scope{Session: "other", Run: "run-9", Dir: filepath.Join(dir, "other")}
	if _, err := (names.Writer{Hub: w.Hub(), Workspace: dir, Scope: other}).Write(t.Context(),
		handoff.Draft{Channel: "handoff", Name: "notes.md", Body: strings.NewReader("recorded")}); err != nil {
		t.Fatal(err)
	}
	sibling := file(dir, "run-2", "notes.md")
	must(t, os.MkdirAll(filepath.Dir(sibling), 0o755))
	must(t, os.WriteFile(sibling, []byte("unrecorded"), 0o644))
	if c, err := resolver(w.Hub(), scopeOf(dir, "run-1")).Find(t.Context(), "notes.md"); err != nil || c.File != sibling {
		t.Errorf("Find(notes.md) = %s %q, %v, want the sibling's file", c.Ref(), c.File, err)
	}
}

// TestSessionDirectoryOutside sets a session directory outside the directory
// that must contain it: nothing is written or read there. A directory without
// such a bound is the user's choice.
func TestSessionDirectoryOutside(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	ws := filepath.Join(top, "ws")
	must(t, os.Mkdir(ws, 0o755))
	w := open(t, ws)
	for _, dir := range []string{filepath.Join(top, "outside"), ws + "-evil", top, filepath.Join(ws, "..", "outside")} {
		scope := names.Scope{Session: session, Run: "run-1", Dir: dir, Within: ws}
		found := filepath.Join(dir, "artifacts", "run-1", "found.md")
		must(t, os.MkdirAll(filepath.Dir(found), 0o755))
		must(t, os.WriteFile(found, []byte(secret), 0o644))
		write := func() error {
			_, err := names.Writer{Hub: w.Hub(), Workspace: ws, Scope: scope}.Write(t.Context(),
				handoff.Draft{Channel: "handoff", Name: "x.md", Body: strings.NewReader("x")})
			return err
		}
		if err := write(); !errors.Is(err, handoff.Invalid) {
			t.Errorf("write with session directory %s: %v, want Invalid", dir, err)
		}
		if _, err := os.Lstat(filepath.Join(filepath.Dir(found), "x.md")); err == nil {
			t.Errorf("a file was written in %s", dir)
		}
		if c, err := resolver(w.Hub(), scope).Find(t.Context(), "found.md"); !errors.Is(err, handoff.NotFound) {
			t.Errorf("Find in session directory %s = %q, %v, want NotFound", dir, c.File, err)
		}
		scope.Within = ""
		if c, err := resolver(w.Hub(), scope).Find(t.Context(), "found.md"); err != nil ||
			c.File != filepath.Join(filepath.Clean(dir), "artifacts", "run-1", "found.md") {
			t.Errorf("Find in session directory %s without bound = %q, %v", dir, c.File, err)
		}
	}
}

// TestLeafReplaced replaces an unrecorded file after it was found by something
// else: it cannot be opened any more.
func TestLeafReplaced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := open(t, dir)
	notes, private := file(dir, "run-2", "notes.md"), file(dir, "run-2", "private.md")
	must(t, os.MkdirAll(filepath.Dir(notes), 0o755))
	must(t, os.WriteFile(notes, []byte("notes"), 0o644))
	must(t, os.WriteFile(private, []byte(secret), 0o644))
	c, err := resolver(w.Hub(), scopeOf(dir, "run-1")).Find(t.Context(), "run-2/notes.md")
	must(t, err)
	if f, err := c.Open(); err != nil {
		t.Errorf("Open before the replacement: %v", err)
	} else {
		f.Close()
	}
	for what, replace := range map[string]func() error{
		"link":      func() error { return os.Symlink("private.md", notes) },
		"directory": func() error { return os.Mkdir(notes, 0o755) },
	} {
		must(t, os.Remove(notes))
		must(t, replace())
		if f, err := c.Open(); err == nil {
			f.Close()
			t.Errorf("Open succeeded after a %s replaced the file", what)
		}
	}
}

// TestEditHasNoEvidence edits a name's file before a write that claims something of
// its own content: the revision with the edit does not have the claim.
func TestEditHasNoEvidence(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := newPausedWriter(t, dir)
	w.write(t, "first")
	must(t, os.WriteFile(file(dir, "run-1", "context.md"), []byte("edit"), 0o644))
	d := handoff.Draft{Channel: "handoff", Name: "context.md", Body: strings.NewReader("second"), Keep: handoff.KeepAlways,
		Claims: []handoff.Claim{{Text: "it builds"}}, Attestation: &handoff.Attestation{Argv: []string{"make"}},
		Tree: &handoff.Tree{Digest: strings.Repeat("ab", 32)}}
	written, err := w.Write(t.Context(), d)
	if err != nil || len(written.SavedEdits) != 1 || len(written.Claims) != 1 {
		t.Fatalf("%d edits saved, claims %v, %v", len(written.SavedEdits), written.Claims, err)
	}
	if e := written.SavedEdits[0]; len(e.Claims) > 0 || e.Attestation != nil || e.Tree != nil {
		t.Errorf("the edit has claims %v, attestation %v, tree %v", e.Claims, e.Attestation, e.Tree)
	}
}
