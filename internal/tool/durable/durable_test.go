package durable

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func open(t *testing.T) (*os.Root, string) {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root, dir
}

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
}

// content checks that a directory has exactly one file.
func content(t *testing.T, dir, name, want string) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil || string(got) != want {
		t.Errorf("%s = %q, %v, want %q", name, got, err, want)
	}
	if left := names(t, dir); len(left) != 1 {
		t.Errorf("directory has %q, want %s only", left, name)
	}
}

func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func TestReplace(t *testing.T) {
	root, dir := open(t)
	for _, want := range []string{"first", "", "third"} {
		if err := Replace(root, "f", text(want)); err != nil {
			t.Fatal(err)
		}
		content(t, dir, "f", want)
	}
	if err := os.Chmod(filepath.Join(dir, "f"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := Replace(root, "f", text("fourth")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, "f")); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode = %v, %v, want 0640", info.Mode(), err)
	}
}

func TestCreate(t *testing.T) {
	root, dir := open(t)
	if err := Create(root, "f", text("first")); err != nil {
		t.Fatal(err)
	}
	if err := Create(root, "f", text("second")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Create of an existing file: %v, want fs.ErrExist", err)
	}
	content(t, dir, "f", "first")
}

// TestFailure fails each step of a write in turn: the old file stays, and no
// temporary file is left.
func TestFailure(t *testing.T) {
	t.Cleanup(func() { step = func(_ string, do func() error) error { return do() } })
	failed := errors.New("injected")
	for _, at := range []string{"create temporary", "fill", "sync", "close", "publish"} {
		root, dir := open(t)
		if err := Replace(root, "f", text("old")); err != nil {
			t.Fatal(err)
		}
		step = func(name string, do func() error) error {
			if name == at {
				return failed
			}
			return do()
		}
		if err := Replace(root, "f", text("new")); !errors.Is(err, failed) {
			t.Errorf("%s fails: Replace = %v, want the injected error", at, err)
		}
		step = func(_ string, do func() error) error { return do() }
		content(t, dir, "f", "old")
	}
}

// TestAbandoned leaves temporary files of killed writers: those older than an
// hour are removed by the next write, those of live writers are not.
func TestAbandoned(t *testing.T) {
	root, dir := open(t)
	t.Cleanup(func() { step = func(_ string, do func() error) error { return do() } })
	killed := func() {
		step = func(name string, do func() error) error {
			if name == "fill" {
				panic("killed")
			}
			return do()
		}
		defer func() { recover(); step = func(_ string, do func() error) error { return do() } }()
		_ = Replace(root, "f", text("lost"))
	}
	killed()
	killed()
	killed()
	left := names(t, dir)
	if len(left) != 3 || !IsTemporary(left[0]) {
		t.Fatalf("killed writers left %q, want 3 temporary files", left)
	}
	// The writer with the first number has ended, so the next one takes it and
	// does not meet the others.
	if err := os.Remove(filepath.Join(dir, left[0])); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-2 * staleAfter)
	stale := filepath.Join(dir, left[1]) // a new file: the one of a killed process would not be locked
	if err := errors.Join(os.Remove(stale), os.WriteFile(stale, nil, 0o600), os.Chtimes(stale, old, old)); err != nil {
		t.Fatal(err)
	}
	if err := Replace(root, "f", text("x")); err != nil {
		t.Fatal(err)
	}
	if got := names(t, dir); len(got) != 2 || got[0] != left[2] || got[1] != "f" {
		t.Errorf("directory has %q, want %q and f", got, left[2])
	}
}

func TestConcurrentReplace(t *testing.T) {
	root, dir := open(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 50 {
				if err := Replace(root, "f", text(strings.Repeat(string(rune('a'+i)), 5000))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	b, err := os.ReadFile(filepath.Join(dir, "f"))
	if err != nil || len(b) != 5000 || strings.Trim(string(b), string(b[:1])) != "" {
		t.Errorf("f has %d bytes of several writers, %v", len(b), err)
	}
	if left := names(t, dir); len(left) != 1 {
		t.Errorf("directory has %q, want f only", left)
	}
}

func TestLinksStayInside(t *testing.T) {
	root, dir := open(t)
	outside := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(outside, []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := Replace(root, "link", text("ours")); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(outside); string(b) != "theirs" {
		t.Errorf("a write through a link changed its target to %q", b)
	}
	content(t, dir, "link", "ours")
	if err := Replace(root, "../f", text("x")); err == nil {
		t.Error("Replace of ../f succeeded")
	}
}

// TestHeld fills a file for hours while others write it: its temporary file stays.
func TestHeld(t *testing.T) {
	root, dir := open(t)
	slow := func(w io.Writer) error {
		old := time.Now().Add(-2 * staleAfter)
		if err := os.Chtimes(filepath.Join(dir, names(t, dir)[0]), old, old); err != nil {
			return err
		}
		return Replace(root, "f", text("other"))
	}
	if err := Replace(root, "f", slow); err != nil {
		t.Errorf("the slow writer: %v", err)
	}
}
