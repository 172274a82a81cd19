package thread_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
)

// TestHeadTail reads the first and last bytes of files of several lengths.
func TestHeadTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	for body, want := range map[string][2]string{"": {}, "ab": {"ab", "ab"}, "abcd": {"abcd", "abcd"},
		"abcdef": {"abcd", "cdef"}} {
		if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
		w := thread.NewWalk(t.Context())
		head := string(w.Head(path, 4))
		if tail := string(w.Tail(path, 4)); head != want[0] || tail != want[1] || w.Err("") != nil {
			t.Errorf("%q: got %q and %q, %v, want %q", body, head, tail, w.Err(""), want)
		}
	}
	w := thread.NewWalk(t.Context())
	if got := w.Head(path+"-gone", 4); got != nil || w.Err("it") == nil {
		t.Errorf("missing file: got %q, %v", got, w.Err("it"))
	}
}

// TestStartedDuring checks that a thread can't have started what was started
// before it, or more than a day after its last write.
func TestStartedDuring(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	last := time.Date(2026, 6, 12, 10, 0, 0, 0, time.UTC)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, last, last); err != nil {
		t.Fatal(err)
	}
	during := thread.StartedDuring(path, "2026-06-11T09-00", time.Time{}, "2006-01-02T15-04")
	for start, want := range map[string]bool{"": true, "2026-06-11T08-59": false, "2026-06-11T09-00": true,
		"2026-06-13T10-00": true, "2026-06-13T10-01": false} {
		if got := during(start); got != want {
			t.Errorf("%q: got %v, want %v", start, got, want)
		}
	}
}

// TestOpenFile checks that a file ends where it ended when it was opened, and that
// only regular files are opened.
func TestOpenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	if err := os.WriteFile(path, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := thread.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.WriteFile(path, []byte("one and more"), 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(f); string(b) != "one" || err != nil {
		t.Errorf("got %q, %v, want one", b, err)
	}
	if _, err := thread.OpenFile(filepath.Dir(path)); !errors.Is(err, handoff.Unavailable) {
		t.Errorf("a directory: got %v, want unavailable", err)
	}
}

// TestWalkErr checks which of several errors is reported.
func TestWalkErr(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w := thread.NewWalk(t.Context())
	if w.Stat(filepath.Join(dir, "gone")) != nil || w.Stat(filepath.Join(dir, "file", "x")) != nil || w.Err("it") != nil {
		t.Errorf("a missing file is an error: %v", w.Err("it"))
	}
	w.Open(filepath.Join(dir, "gone"))
	if err := w.Err("it"); !errors.Is(err, handoff.NotFound) {
		t.Errorf("got %v, want not found", err)
	}
	for range 2 {
		w.Open(dir)
	}
	if err := w.Err("it"); !errors.Is(err, handoff.Unavailable) || !strings.Contains(err.Error(), "and 1 more") {
		t.Errorf("got %v, want unavailable", err)
	}
}
