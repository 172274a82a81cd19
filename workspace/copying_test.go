package workspace

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
)

// TestCopying checks that a publish, a read of the file and a read of the kept copy report
// the bytes that were read, also those of a directory.
func TestCopying(t *testing.T) {
	dir := testWorkspace(t)
	const size = 3 << 20
	file := filepath.Join(dir, "large.bin")
	must(t, os.WriteFile(file, []byte(strings.Repeat("x", size)), 0o644))
	var calls, last int64
	o := optionsFor(dir)
	o.Copying = func(done, total int64) {
		if total != size || done > total {
			t.Errorf("%d of %d bytes", done, total)
		}
		calls, last = calls+1, done
	}
	w, err := Open(dir, o)
	must(t, err)
	t.Cleanup(func() { w.Close() })
	check := func(what string) {
		t.Helper()
		if calls < 2 || last != size {
			t.Errorf("%s: %d calls, the last with %d", what, calls, last)
		}
		calls, last = 0, 0
	}
	p, err := w.Publish(t.Context(), handoff.Draft{Path: "large.bin", Channel: "log", Keep: handoff.KeepAlways})
	must(t, err)
	check("publish")
	for _, what := range []string{"the file", "the kept copy"} {
		b, err := w.Read(t.Context(), p.ID, ReadOptions{})
		must(t, err)
		_, err = io.Copy(io.Discard, b)
		must(t, err)
		must(t, b.Close())
		check(what)
		must(t, os.RemoveAll(file))
	}

	must(t, os.Mkdir(filepath.Join(dir, "site"), 0o755))
	for _, name := range []string{"a.bin", "b.bin", "c.bin"} {
		must(t, os.WriteFile(filepath.Join(dir, "site", name), []byte(strings.Repeat("x", size/3)), 0o644))
	}
	p, err = w.Publish(t.Context(), handoff.Draft{Path: "site", Channel: "site", Keep: handoff.KeepAlways})
	must(t, err)
	check("publish of a directory")
	b, err := w.Read(t.Context(), p.ID, ReadOptions{})
	must(t, err)
	_, err = io.Copy(io.Discard, b)
	must(t, errors.Join(err, b.Close()))
	check("the directory")
}
