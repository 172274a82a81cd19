package workspace

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/sqlite"
)

// TestOlderIndex puts an older index over one that another process has open, or
// that a killed process left with its write-ahead log: no list omits an artifact,
// whatever the processes write afterwards.
func TestOlderIndex(t *testing.T) {
	for _, killed := range []bool{false, true} {
		for _, more := range []int{10, 200} { // without and with a checkpoint
			t.Run(fmt.Sprint("killed ", killed, more), func(t *testing.T) {
				t.Parallel()
				dir := testWorkspace(t)
				index, older := filepath.Join(dir, ".handoff", "index.db"), filepath.Join(dir, "older.db")
				publishSome(t, dir, 30)
				must(t, exec.Command("cp", index, older).Run())
				holder := openDir(t, dir)
				listsAll(t, holder)
				publishSome(t, dir, more)
				if killed {
					must(t, holder.Close())
					killedWriter(t, filepath.Join(dir, ".handoff"), index)
				}
				must(t, os.Rename(older, index))
				for range 2 {
					listsAll(t, openDir(t, dir))
				}
				if !killed {
					publishSome(t, dir, 1)
					listsAll(t, holder)
					_, err := holder.Publish(t.Context(), handoff.Draft{Path: "a.md", Channel: "design"})
					must(t, err)
					listsAll(t, openDir(t, dir))
					must(t, holder.Close())
				}
				publishSome(t, dir, 1)
				listsAll(t, openDir(t, dir))
			})
		}
	}
}

// TestOlderIndexInUse puts an older index over one to which another process
// publishes.
func TestOlderIndexInUse(t *testing.T) {
	dir := testWorkspace(t)
	index, older := filepath.Join(dir, ".handoff", "index.db"), filepath.Join(dir, "older.db")
	publishSome(t, dir, 30)
	oldest := filepath.Join(dir, "oldest.db")
	must(t, exec.Command("cp", index, oldest).Run())
	for range 3 {
		must(t, exec.Command("cp", oldest, older).Run())
		publishSome(t, dir, 30)
		cmd := again(dir, "LOCAL_TEST_PUBLISH=60")
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		_, err = out.Read(make([]byte, 1))
		must(t, err)
		listsAll(t, openDir(t, dir))
		must(t, os.Rename(older, index))
		for range 5 {
			w := openDir(t, dir)
			listsAll(t, w)
			must(t, w.Close())
		}
		_, err = io.Copy(io.Discard, out)
		must(t, errors.Join(err, cmd.Wait()))
		listsAll(t, openDir(t, dir))
	}
}

// TestIndexVersion opens an index of another version: it is rebuilt in its file, and
// nothing is quarantined or reported.
func TestIndexVersion(t *testing.T) {
	dir := testWorkspace(t)
	publishSome(t, dir, 3)
	index := filepath.Join(dir, ".handoff", "index.db")
	before, err := os.ReadDir(filepath.Dir(index))
	must(t, err)
	db := sqlite.New(index, "file:"+index)
	var version int64
	must(t, db.Use(t.Context(), func(c *sqlite.Conn) error {
		_, err := c.One(t.Context(), `SELECT version FROM place`, nil, func(r *sqlite.Row) { version = r.Integer() })
		return errors.Join(err, c.Exec(t.Context(), `UPDATE place SET version = version - 1`))
	}))
	must(t, db.Close())

	publishSome(t, dir, 1) // without a warning
	w := openDir(t, dir)
	listsAll(t, w)
	must(t, w.Close())
	after, err := os.ReadDir(filepath.Dir(index))
	must(t, err)
	if len(after) != len(before) {
		t.Errorf("got files %v, want %v", after, before)
	}
	must(t, db.Use(t.Context(), func(c *sqlite.Conn) error {
		var rebuilt int64
		_, err := c.One(t.Context(), `SELECT version FROM place`, nil, func(r *sqlite.Row) { rebuilt = r.Integer() })
		if rebuilt != version {
			t.Errorf("got version %d, want %d", rebuilt, version)
		}
		return err
	}))
	must(t, db.Close())
}

// listsAll checks that a list has every artifact of the log.
func listsAll(t *testing.T, w *Workspace) {
	t.Helper()
	want := 0
	for r, err := range w.c.RawLog.Read(t.Context(), 0) {
		must(t, err)
		if _, ok := r.Fact.(*handoff.ArtifactPublished); ok {
			want++
		}
	}
	page, err := w.c.Anonymous.Artifacts(t.Context(), handoff.ArtifactQuery{IncludeInactive: true})
	if err != nil || len(page.Artifacts) < want {
		t.Errorf("%d artifacts, %v, want at least %d", len(page.Artifacts), err, want)
	}
}
