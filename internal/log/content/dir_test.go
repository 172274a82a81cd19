package content_test

import (
	"github.com/agent-handoff/handoff/engines/memory"

	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/internal/log/content"
)

// TestDirChangesWhileRead holds that the end of a directory without a copy is an error
// if it changed after it was compared, and that it can be read again from the start.
func TestDirChangesWhileRead(t *testing.T) {
	for _, change := range []bool{false, true} {
		dir := tree(t, []string{"d/a.txt", "d/b.txt"})
		hub := handoff.New(memory.NewLog(), logtest.NewReference(), nil,
			handoff.Options{Now: time.Now, Rand: rand.Reader, Files: &content.Files{Root: root(t, dir)}})
		p, err := hub.Publish(t.Context(), handoff.Draft{Channel: "design", Path: "d"})
		must(t, err)
		c, err := hub.Open(t.Context(), p.ID)
		must(t, err)
		if change {
			must(t, os.WriteFile(filepath.Join(dir, "d/b.txt"), []byte("changed"), 0o644))
		}
		for range 2 {
			if _, err := io.ReadAll(c); errors.Is(err, handoff.Conflict) != change || (err != nil) != change {
				t.Errorf("changed %v: read: %v", change, err)
			}
			_, err := c.Seek(0, io.SeekStart)
			must(t, err)
		}
		must(t, c.Close())
	}
}
