package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/workspace/store"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
)

// machineAt opens a workspace as a user with a home of its own.
func machineAt(t *testing.T, dir, home string) *Workspace {
	t.Helper()
	w, err := Open(dir, optionsFor(dir, "HOME", home))
	must(t, err)
	t.Cleanup(func() { w.Close() })
	return w
}

// setBack returns a function that makes dir what it is now.
func setBack(t *testing.T, dir string) func() {
	saved := filepath.Join(t.TempDir(), "saved")
	must(t, os.CopyFS(saved, os.DirFS(dir)))
	return func() {
		must(t, os.RemoveAll(dir))
		must(t, os.CopyFS(dir, os.DirFS(saved)))
	}
}

// TestRollback sets a runtime directory back, with the index that is in it.
func TestRollback(t *testing.T) {
	dir, homes := testWorkspace(t), t.TempDir()
	as := func(machine string, do func(w *Workspace) error) error {
		w := machineAt(t, dir, filepath.Join(homes, machine))
		return errors.Join(do(w), w.Close())
	}
	logtest.Rollback{
		Publish: func(machine string) error {
			return as(machine, func(w *Workspace) error {
				_, err := w.Publish(t.Context(), handoff.Draft{Body: strings.NewReader("x"), Filename: "a.md", Channel: "design",
					Title: machine})
				return err
			})
		},
		List: func(machine string) error {
			return as(machine, func(w *Workspace) error {
				_, err := w.List(t.Context(), ListOptions{})
				return err
			})
		},
		Accept: func(machine string) error {
			return as(machine, func(w *Workspace) error {
				_, err := w.Store().Repair(t.Context(), time.Now())
				return err
			})
		},
		Save: func() func() { return setBack(t, filepath.Join(dir, ".handoff")) },
	}.Run(t, 8)
}

// TestRollbackKeepsBodies sets a log back under the bodies of later records: a check
// calls none of them unneeded, and none is collected.
func TestRollbackKeepsBodies(t *testing.T) {
	dir, home := testWorkspace(t), t.TempDir()
	w := machineAt(t, dir, home)
	publish := func(text string) {
		_, err := w.Publish(t.Context(), handoff.Draft{Body: strings.NewReader(text), Filename: "a.md", Channel: "design",
			Keep: handoff.KeepAlways})
		must(t, err)
	}
	publish("first")
	early := setBack(t, filepath.Join(dir, ".handoff", "log"))
	publish("second")
	must(t, w.Close())
	early()
	must(t, os.RemoveAll(filepath.Join(dir, ".handoff", "index.db")))
	must(t, filepath.WalkDir(filepath.Join(dir, ".handoff", "bodies"), func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			err = os.Chtimes(name, time.Time{}, time.Now().Add(-48*time.Hour))
		}
		return err
	}))
	w = machineAt(t, dir, home)
	report, err := w.Store().Check(t.Context())
	if err != nil || report.OK() {
		t.Errorf("Check = %+v, %v, want a problem", report, err)
	}
	for _, f := range report.Findings {
		if strings.Contains(f.Text, "needed by no record") {
			t.Errorf("Check: %s %s", f.Name, f.Text)
		}
	}
	for name, do := range map[string]func() (store.Garbage, error){
		"Unneeded": func() (store.Garbage, error) { return w.Store().Garbage(t.Context(), store.GarbageOptions{}) },
		"Collect": func() (store.Garbage, error) {
			return w.Store().Garbage(t.Context(), store.GarbageOptions{Collect: true})
		},
	} {
		if g, err := do(); !errors.Is(err, handoff.Corrupt) || len(g.Bodies) > 0 {
			t.Errorf("%s = %+v, %v, want kind Corrupt and no body", name, g, err)
		}
	}
}

// TestNoFalseLoss does what looks like a loss and is none: another log in a directory
// whose owner started anew, a copy of a directory that goes on by itself, a directory
// that was moved, and a state directory that can't be written.
func TestNoFalseLoss(t *testing.T) {
	home := t.TempDir()
	some := func(dir string, n int) {
		t.Helper()
		for range n {
			w := machineAt(t, dir, home)
			_, err := w.Publish(t.Context(), handoff.Draft{Path: "a.md", Channel: "design"})
			must(t, err)
			page, err := w.List(t.Context(), ListOptions{})
			if must(t, err); len(page.Artifacts) == 0 {
				t.Error("nothing is listed")
			}
			must(t, w.Close())
		}
	}
	parent := t.TempDir()
	first, second := filepath.Join(parent, "first"), filepath.Join(parent, "second")
	must(t, os.CopyFS(first, os.DirFS(testWorkspace(t))))
	some(first, 5)
	must(t, os.CopyFS(second, os.DirFS(first)))
	some(first, 3)
	some(second, 2) // fewer than the first has
	must(t, os.RemoveAll(filepath.Join(first, ".handoff")))
	some(first, 1)
	must(t, os.RemoveAll(filepath.Join(first, ".handoff")))
	must(t, os.Rename(second, filepath.Join(parent, "third")))
	some(filepath.Join(parent, "third"), 1)
	some(first, 1)

	home = filepath.Join(parent, "home")
	must(t, os.MkdirAll(filepath.Join(home, ".local"), 0o700))
	must(t, os.WriteFile(filepath.Join(home, ".local", "state"), nil, 0o600)) // nothing can be created in it
	some(first, 2)
}
