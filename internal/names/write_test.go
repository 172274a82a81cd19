package names_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/names"
)

// TestWritersAtOnce has many write one name at once, each as a process would:
// every write is one revision, none is taken for an edit, and the name's file
// ends as the head.
func TestWritersAtOnce(t *testing.T) {
	const writers, each = 8, 12
	dir := t.TempDir()
	var wg sync.WaitGroup
	for i := range writers {
		w := open(t, dir)
		wg.Go(func() {
			for n := range each {
				writer := names.Writer{Hub: w.Hub, Workspace: dir, Scope: scopeOf(dir, "run-1")}
				text := fmt.Sprintf("writer %d, text %d", i, n)
				written, err := writer.Write(t.Context(), handoff.Draft{Channel: "handoff", Title: text, Name: "context.md", Body: strings.NewReader(text)})
				if err != nil || len(written.Warnings) > 0 || len(written.SavedEdits) > 0 || written.Existing {
					t.Errorf("%s: %v, warnings %q, rescued %d", text, err, written.Warnings, len(written.SavedEdits))
				}
			}
		})
	}
	wg.Wait()
	w := open(t, dir)
	revisions, err := names.Revisions(t.Context(), w, "run-1", "context.md")
	if err != nil || len(revisions) != writers*each {
		t.Errorf("%d revisions, %v, want %d", len(revisions), err, writers*each)
	}
	head, err := names.Find(t.Context(), w, scopeOf(dir, "run-1"), "context.md")
	must(t, err)
	if got, err := os.ReadFile(file(dir, "run-1", "context.md")); err != nil || string(got) != head.Title {
		t.Errorf("the file is %q, %v, want the head's, %q", got, err, head.Title)
	}
	if left := temporaries(t, scopeOf(dir, "run-1").Dir+"/artifacts/run-1"); len(left) > 0 {
		t.Errorf("%q were left behind", left)
	}
}
