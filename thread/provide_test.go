package thread_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/thread"
)

// TestEnds reads the first and last bytes of files of several lengths.
func TestEnds(t *testing.T) {
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
		t.Errorf("got %q, %v from a file that is not there", got, w.Err("it"))
	}
}

// TestMeanwhile: what was begun before a thread, or more than a day after its
// last word, was not begun by it.
func TestMeanwhile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	last := time.Date(2026, 6, 12, 10, 0, 0, 0, time.UTC)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, last, last); err != nil {
		t.Fatal(err)
	}
	meanwhile := thread.Meanwhile(path, "2026-06-11T09-00", "2006-01-02T15-04")
	for begun, want := range map[string]bool{"": true, "2026-06-11T08-59": false, "2026-06-11T09-00": true, "2026-06-13T10-00": true, "2026-06-13T10-01": false} {
		if got := meanwhile(begun); got != want {
			t.Errorf("%q: got %v, want %v", begun, got, want)
		}
	}
}

// TestJudge says how complete a usage is.
func TestJudge(t *testing.T) {
	for _, tt := range []struct {
		calls, gap int
		want       thread.Completeness
		reason     string
	}{
		{0, 3, thread.NoUsage, "no usage is recorded"},
		{1, 0, thread.Exact, ""},
		{1, 3, thread.LowerBound, "3 lines are missing"},
	} {
		u := thread.Usage{Tokens: thread.Tokens{Calls: tt.calls}}
		u.Judge(thread.Gap{N: tt.gap, Why: "%d lines are missing"}, thread.Gap{N: tt.gap, Why: "another reason"})
		if u.Completeness != tt.want || u.Reason != tt.reason {
			t.Errorf("%d calls, %d missing: got %s, %q, want %s, %q", tt.calls, tt.gap, u.Completeness, u.Reason, tt.want, tt.reason)
		}
	}
}
