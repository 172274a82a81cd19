package names_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/names"
	"github.com/agent-handoff/handoff/internal/names/refs"
)

// resolver resolves refs of a scope, without paths.
func resolver(reader handoff.Reader, scope names.Scope) refs.Resolver {
	return refs.Resolver{Reader: reader, Scope: scope, Dir: "/"}
}

// TestConcurrentWriters writes one name through many workspaces at once: every
// write makes one revision, none is mistaken for an edit, and the file ends up
// with the newest one.
func TestConcurrentWriters(t *testing.T) {
	t.Parallel()
	const writers, each = 8, 12
	dir := t.TempDir()
	var wg sync.WaitGroup
	for i := range writers {
		w := open(t, dir)
		wg.Go(func() {
			for n := range each {
				writer := names.Writer{Hub: w.Hub(), Workspace: dir, Scope: scopeOf(dir, "run-1")}
				text := fmt.Sprintf("writer %d, text %d", i, n)
				written, err := writer.Write(t.Context(),
					handoff.Draft{Channel: "handoff", Title: text, Name: "context.md", Body: strings.NewReader(text)})
				if err != nil || len(written.Warnings) > 0 || len(written.SavedEdits) > 0 || written.Existing {
					t.Errorf("%s: %v, warnings %q, %d saved edits", text, err, written.Warnings, len(written.SavedEdits))
				}
			}
		})
	}
	wg.Wait()
	w := open(t, dir)
	revisions, err := names.Revisions(t.Context(), w.Hub(), "run-1", "context.md")
	if err != nil || len(revisions) != writers*each {
		t.Errorf("%d revisions, %v, want %d", len(revisions), err, writers*each)
	}
	head, err := resolver(w.Hub(), scopeOf(dir, "run-1")).Find(t.Context(), "context.md")
	must(t, err)
	if got, err := os.ReadFile(file(dir, "run-1", "context.md")); err != nil || string(got) != head.Title {
		t.Errorf("file = %q, %v, want %q", got, err, head.Title)
	}
	if left := temporaries(t, scopeOf(dir, "run-1").Dir+"/artifacts/run-1"); len(left) > 0 {
		t.Errorf("temporary files %q are left", left)
	}
}
