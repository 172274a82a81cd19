package workspace

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
)

// TestLogLost takes the end of a log away, which its index knows, on a machine that
// remembers nothing: it is reported, and no record is put where one was, by this
// process or another, until a repair accepts that they are gone.
func TestLogLost(t *testing.T) {
	dir := testWorkspace(t)
	publishSome(t, dir, 10)
	runtime := filepath.Join(dir, ".handoff")
	for _, name := range []string{"000000000009.json", "000000000010.json"} {
		must(t, os.Remove(filepath.Join(runtime, "log", "00000000", name)))
	}
	for range 2 {
		w := openDir(t, dir)
		if _, err := w.List(t.Context(), ListOptions{}); !errors.Is(err, handoff.Corrupt) {
			t.Errorf("List = %v, want kind Corrupt", err)
		}
		for range 2 {
			_, err := w.Publish(t.Context(), handoff.Draft{Path: "a.md", Channel: "design"})
			if !errors.Is(err, handoff.Corrupt) {
				t.Errorf("Publish = %v, want kind Corrupt", err)
			}
			if n := len(logtest.Collect(t, w.c.Log, 0)); n != 8 {
				t.Errorf("there are %d records, want 8", n)
			}
		}
	}
	w := openDir(t, dir)
	report, err := w.Store().Check(t.Context())
	if err != nil || report.OK() {
		t.Errorf("check finds %v, %v", report.Findings, err)
	}
	if _, err := w.Store().Repair(t.Context(), time.Now()); err != nil {
		t.Error(err)
	}
	if _, err := w.Publish(t.Context(), handoff.Draft{Path: "a.md", Channel: "design"}); err != nil {
		t.Errorf("after a repair, Publish = %v", err)
	}
	checkWorkspace(t, dir, 9)
}

// TestReplacedLog puts the log of another workspace in the place of one, with its
// ID and without: no artifact of the old log is listed.
func TestReplacedLog(t *testing.T) {
	for _, withID := range []bool{true, false} {
		dir, other := testWorkspace(t), testWorkspace(t)
		publishSome(t, dir, 4)
		publishSome(t, other, 4)
		log := filepath.Join(dir, ".handoff", "log")
		id, err := os.ReadFile(filepath.Join(log, "ID"))
		must(t, err)
		must(t, os.RemoveAll(log))
		must(t, os.Rename(filepath.Join(other, ".handoff", "log"), log))
		if !withID {
			must(t, os.Remove(filepath.Join(log, "ID")))
			must(t, os.WriteFile(filepath.Join(log, "ID"), id, 0o400))
		}
		checkWorkspace(t, dir, 4)
		page, err := openDir(t, dir).c.Anonymous.Artifacts(t.Context(), handoff.ArtifactQuery{IncludeInactive: true})
		if err != nil || len(page.Artifacts) != 4 {
			t.Errorf("with the ID of the other log (%t): %d artifacts, %v, want the 4 of the log", withID, len(page.Artifacts),
				err)
		}
	}
}

// TestMissingLog removes the ID of a log, or more of it: nothing answers as if
// there were no log, no new log is started, and a repair makes it usable again.
func TestMissingLog(t *testing.T) {
	for name, gone := range map[string][]string{
		"the ID":                     {"log/ID"},
		"the log":                    {"log"},
		"all but the ID links":       {"log", "bodies", "index.db", "index.db-wal", "index.db-shm"},
		"all but the bodies":         {"log", "artifacts", "index.db", "index.db-wal", "index.db-shm"},
		"all but the index":          {"log", "artifacts", "bodies"},
		"all but the shards":         {"log/ID", "artifacts", "bodies", "index.db", "index.db-wal", "index.db-shm"},
		"the ID and everything kept": {"log/ID", "bodies"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := testWorkspace(t)
			publishSome(t, dir, 3)
			runtime := filepath.Join(dir, ".handoff")
			for _, name := range gone {
				must(t, os.RemoveAll(filepath.Join(runtime, name)))
			}
			w := openDir(t, dir)
			if page, err := w.c.Anonymous.Artifacts(t.Context(), handoff.ArtifactQuery{}); !errors.Is(err, handoff.Corrupt) {
				t.Errorf("Artifacts = %d, %v, want kind Corrupt", len(page.Artifacts), err)
			}
			for _, p := range []handoff.Draft{{Path: "a.md", Channel: "design"},
				{Path: "a.md", Channel: "design", Keep: handoff.KeepNever}} {
				if _, err := openDir(t, dir).Publish(t.Context(), p); !errors.Is(err, handoff.Corrupt) {
					t.Errorf("Publish = %v, want kind Corrupt", err)
				}
			}
			if _, err := os.Lstat(filepath.Join(runtime, "log", "ID")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("a new log was started: %v", err)
			}
			report, err := openDir(t, dir).Store().Check(t.Context())
			if err != nil || report.OK() {
				t.Errorf("Check = %+v, %v, want a problem", report, err)
			}
			if _, err := openDir(t, dir).Store().Repair(t.Context(), time.Now()); err != nil {
				t.Errorf("Repair = %v", err)
			}
			if _, err := openDir(t, dir).Publish(t.Context(), handoff.Draft{Path: "a.md", Channel: "design"}); err != nil {
				t.Errorf("after a repair, Publish = %v", err)
			}
		})
	}
}

// TestStaleName leaves the file of a name as a process does that is killed between
// the record and the file: reading the name returns the newest revision and leaves
// the file, and a repair renders it. An edited file stays, and so does one whose newest
// revision was withdrawn, or that is missing after later revisions. A check reports it.
func TestStaleName(t *testing.T) {
	for name, command := range map[string]func(w *Workspace) error{
		"read": func(w *Workspace) error {
			b, err := w.Read(t.Context(), "run-1/context.md", ReadOptions{})
			if err != nil {
				return err
			}
			defer b.Close()
			got, err := io.ReadAll(b)
			if string(got) == "first" {
				t.Error("read returns an older revision")
			}
			return err
		},
		"repair": func(w *Workspace) error {
			_, err := w.Store().Repair(t.Context(), time.Now())
			return err
		},
	} {
		dir := testWorkspace(t)
		open := func(vars ...string) *Workspace {
			w, err := Open(dir, optionsFor(dir, vars...))
			must(t, err)
			t.Cleanup(func() { w.Close() })
			return w
		}
		writer := open("HANDOFF_RUN", "run-1")
		first, err := writer.Write(t.Context(), handoff.Draft{Name: "first.md", Body: strings.NewReader("first")})
		must(t, err)
		must(t, os.RemoveAll(filepath.Dir(first.File)))
		var file string
		for _, text := range []string{"first", "second", "third"} {
			written, err := writer.Write(t.Context(), handoff.Draft{Name: "context.md", Body: strings.NewReader(text)})
			must(t, err)
			file = written.File
		}
		holds := func(want string) {
			t.Helper()
			must(t, command(open()))
			if got, err := os.ReadFile(file); err != nil || string(got) != want {
				t.Errorf("after %s the file is %q, %v, want %q", name, got, err, want)
			}
		}
		must(t, os.WriteFile(file, []byte("first"), 0o666))
		must(t, os.RemoveAll(first.File))
		report, err := open().Store().Check(t.Context())
		if err != nil || !report.OK() || len(report.Findings) != 2 ||
			!strings.Contains(report.Findings[0].Text, "newest revision") {
			t.Errorf("Check = %+v, %v, want a note on each of two files", report.Findings, err)
		}
		if name == "read" {
			holds("first")
		} else {
			holds("third")
		}
		// Whoever reads a name may have removed its file.
		if got, err := os.ReadFile(first.File); name == "repair" && (err != nil || string(got) != "first") {
			t.Errorf("after a repair the file of a first revision is %q, %v", got, err)
		}
		must(t, os.Remove(file))
		must(t, command(open()))
		if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("after %s a file that was removed is there again: %v", name, err)
		}
		must(t, os.WriteFile(file, []byte("edited"), 0o666))
		holds("edited")
		_, err = writer.Withdraw(t.Context(), "run-1/context.md", "")
		must(t, err)
		must(t, os.WriteFile(file, []byte("third"), 0o666))
		holds("third")
	}
}
