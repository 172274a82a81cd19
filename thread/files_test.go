package thread_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/thread"
)

// TestHeadTail reads the first and last bytes of files of several lengths.
func TestHeadTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	for body, want := range map[string][2]string{"": {}, "ab": {"ab", "ab"}, "abcd": {"abcd", "abcd"}, "abcdef": {"abcd", "cdef"}} {
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
	during := thread.StartedDuring(path, "2026-06-11T09-00", "2006-01-02T15-04")
	for start, want := range map[string]bool{"": true, "2026-06-11T08-59": false, "2026-06-11T09-00": true, "2026-06-13T10-00": true, "2026-06-13T10-01": false} {
		if got := during(start); got != want {
			t.Errorf("%q: got %v, want %v", start, got, want)
		}
	}
}
