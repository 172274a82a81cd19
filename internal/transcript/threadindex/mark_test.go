package threadindex

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/thread"
)

// Transcripts of tests are small, and have marks all the same.
func init() { minTail = 300 }

// TestRecentlyChanged checks that a file has no mark that had just changed when it was
// read: it may change again with the same times.
func TestRecentlyChanged(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.jsonl")
	if err := os.WriteFile(file, bytes.Repeat([]byte("x\n"), int(minTail)), 0o644); err != nil {
		t.Fatal(err)
	}
	f, ok := statTail(t.Context(), &thread.Stored{Source: file, Texts: []string{file}})
	if !ok {
		t.Fatal("no state")
	}
	if f.unchanged(t.Context(), minTail, time.Now().Add(time.Hour)) == nil {
		t.Error("no digest of a file that has settled")
	}
	if f.unchanged(t.Context(), minTail, time.Now().Add(-time.Hour)) != nil {
		t.Error("a digest of a file that had just changed")
	}
}
