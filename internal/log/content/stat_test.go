package content_test

import (
	"github.com/agent-handoff/handoff/engines/memory"
	"github.com/agent-handoff/handoff/storage"

	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"io"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/internal/log/content"
	"github.com/agent-handoff/handoff/internal/log/filelog"
)

// TestTargetCache checks that a list shows the state that reading a file gave, as
// long as stat reports no change, and not if a change could go unnoticed.
func TestTargetCache(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.md")
	hub := handoff.New(memory.NewLog(), logtest.NewReference(), nil,
		handoff.Options{Now: time.Now, Rand: rand.Reader, Files: &content.Files{Root: root(t, dir), Now: time.Now}})
	write := func(text string, age time.Duration) {
		must(t, os.WriteFile(file, []byte(text), 0o644))
		then := time.Now().Add(-age)
		must(t, os.Chtimes(file, then, then))
	}
	coarse := func(text string) {
		write(text, 0)
		then := time.Now().Truncate(time.Second)
		must(t, os.Chtimes(file, then, then))
	}
	listed := func() handoff.Target {
		page, err := hub.Artifacts(t.Context(), handoff.ArtifactQuery{})
		must(t, err)
		return page.Artifacts[0].Target
	}
	write("one", time.Hour)
	p, err := hub.Publish(t.Context(), handoff.Draft{Channel: "design", Path: "a.md"})
	must(t, err)
	shown := func() handoff.Target {
		a, err := hub.Artifact(t.Context(), p.ID)
		must(t, err)
		return a.Target
	}
	for i, step := range []struct {
		do           func()
		before, show handoff.Target // in a list, and then by reading the file
		after        handoff.Target // in a list after that
	}{
		{func() {}, handoff.Available, handoff.Available, handoff.Available}, // publishing read it
		{func() { write("two", 2*time.Hour) }, handoff.Unknown, handoff.Modified, handoff.Modified},
		{func() { write("one", 0) }, handoff.Unknown, handoff.Available, handoff.Available},
		// it may change without a new modification time
		{func() { coarse("two") }, handoff.Unknown, handoff.Modified, handoff.Unknown},
		{func() { write("longer", time.Hour) }, handoff.Modified, handoff.Modified, handoff.Modified},
		{func() { os.Remove(file) }, handoff.Missing, handoff.Missing, handoff.Missing},
	} {
		step.do()
		if got := listed(); got != step.before {
			t.Errorf("step %d: listed as %s, want %s", i, got, step.before)
		}
		if got := shown(); got != step.show {
			t.Errorf("step %d: shown as %s, want %s", i, got, step.show)
		}
		if got := listed(); got != step.after {
			t.Errorf("step %d: then listed as %s, want %s", i, got, step.after)
		}
	}
}

// TestLargePages reads a body of 50 MB page by page, from its file and from the
// kept copy.
func TestLargePages(t *testing.T) {
	dir := t.TempDir()
	body := make([]byte, 50_000_000)
	mathrand.NewChaCha8([32]byte{7}).Read(body)
	must(t, os.WriteFile(filepath.Join(dir, "big"), body, 0o644))
	want := sha256.Sum256(body)
	hub := handoff.New(memory.NewLog(), logtest.NewReference(),
		filelog.Open(filepath.Join(dir, ".handoff"), rand.Reader).Bodies(),
		handoff.Options{Now: time.Now, Rand: rand.Reader, Files: &content.Files{Root: root(t, dir)}})
	p, err := hub.Publish(t.Context(), handoff.Draft{Channel: "design", Path: "big", Keep: handoff.KeepAlways})
	must(t, err)
	for _, kept := range []bool{false, true} {
		if kept {
			must(t, os.Remove(filepath.Join(dir, "big")))
		}
		for _, span := range []storage.Span{{Limit: 9_999_999, Bytes: true}, {Limit: 50_000}} {
			sum, pages := sha256.New(), 0
			for {
				b, err := hub.Open(t.Context(), p.ID)
				must(t, err)
				page, err := content.CopyPage(sum, b, span)
				must(t, err)
				must(t, b.Close())
				if b.Kept != kept {
					t.Errorf("kept is %v, want %v", b.Kept, kept)
				}
				pages++
				if span.Offset = page.Next; page.Next == 0 {
					break
				}
			}
			if !bytes.Equal(sum.Sum(nil), want[:]) || pages < 4 {
				t.Errorf("%d pages of %d make other bytes", pages, span.Limit)
			}
		}
	}
}

// TestOpenWhileWritten checks that a file which changes while it is read ends
// with an error, not with other bytes.
func TestOpenWhileWritten(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a")
	must(t, os.WriteFile(file, bytes.Repeat([]byte("a"), 1<<20), 0o644))
	then := time.Now().Add(-time.Hour)
	must(t, os.Chtimes(file, then, then))
	hub := handoff.New(memory.NewLog(), logtest.NewReference(), nil,
		handoff.Options{Now: time.Now, Rand: rand.Reader, Files: &content.Files{Root: root(t, dir)}})
	p, err := hub.Publish(t.Context(), handoff.Draft{Channel: "design", Path: "a"})
	must(t, err)
	b, err := hub.Open(t.Context(), p.ID)
	must(t, err)
	defer b.Close()
	_, err = io.CopyN(io.Discard, b, 1000)
	must(t, err)
	must(t, os.WriteFile(file, bytes.Repeat([]byte("b"), 1<<20), 0o644))
	if n, err := io.Copy(io.Discard, b); err == nil || n > 0 {
		t.Errorf("read %d bytes of another body, %v", n, err)
	}
}

// TestNoBodies checks that without a store nothing is kept, and that asking
// for it is refused before anything is recorded.
func TestNoBodies(t *testing.T) {
	dir := tree(t, []string{"a.txt"})
	hub := handoff.New(memory.NewLog(), logtest.NewReference(), nil,
		handoff.Options{Now: time.Now, Rand: rand.Reader, Files: &content.Files{Root: root(t, dir)}})
	if _, err := hub.Publish(t.Context(), handoff.Draft{Channel: "design", Path: "a.txt",
		Keep: handoff.KeepAlways}); !errors.Is(err, handoff.Unsupported) {
		t.Errorf("keep always: %v, want kind Unsupported", err)
	}
	if n, err := hub.Newest(t.Context()); n != 0 || err != nil {
		t.Errorf("a refused publish left record %d, %v", n, err)
	}
	if p, err := hub.Publish(t.Context(), handoff.Draft{Channel: "design", Path: "a.txt"}); err != nil || p.Kept ||
		p.Digest == (handoff.Digest{}) {
		t.Errorf("keep auto: kept %v, digest %v, %v", p.Kept, p.Digest, err)
	}
}
