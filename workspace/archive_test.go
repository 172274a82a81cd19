package workspace_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/workspace/sessions"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/workspace"
)

// openIn opens the workspace of a directory.
func openIn(t *testing.T, dir string) *workspace.Workspace {
	t.Helper()
	w, err := workspace.Open(dir, workspace.Options{Getenv: func(name string) string {
		return map[string]string{"HANDOFF_WORKSPACE": dir}[name]
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// TestMoveKilled checks that a session is readable wherever a process that archives
// it is killed, and that the next operation that records something completes it.
func TestMoveKilled(t *testing.T) {
	const id = "a0000001-0000-4000-8000-000000000000"
	const from, to = "docs/agent-outputs/" + id, "docs/agent-outputs/archive/2026-11/" + id
	for _, renamed := range []bool{false, true} {
		dir := t.TempDir()
		w := openIn(t, dir)
		if _, err := w.Sessions().Open(t.Context(), session.OpenOptions{ID: id, Agent: handoff.SessionAgent{Name: "alex"},
			Workflow: handoff.SessionWorkflow{Name: "intake"}}); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, filepath.FromSlash(from), "plan.md")
		if err := os.WriteFile(file, []byte("the plan\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		a, err := w.Sessions().AddOutput(t.Context(), id, sessions.Output{File: file, Type: "document"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Sessions().Close(t.Context(), id, session.Completed, ""); err != nil {
			t.Fatal(err)
		}
		if _, _, err := w.Hub().Record(t.Context(), &handoff.SessionArchived{SessionID: id, Folder: to}); err != nil {
			t.Fatal(err)
		}
		if renamed {
			if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(filepath.FromSlash(to))), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(filepath.Join(dir, filepath.FromSlash(from)),
				filepath.Join(dir, filepath.FromSlash(to))); err != nil {
				t.Fatal(err)
			}
		}
		readable := func(when string) {
			t.Helper()
			shown, err := w.Show(t.Context(), a.ID, false)
			if err != nil || shown.Artifact.Target != handoff.Available {
				t.Errorf("renamed %v, %s: target %v, %v, want available", renamed, when, shown.Artifact.Target, err)
			}
			if got, err := w.As(workspace.Caller{Dir: dir}).Resolve(t.Context(), from+"/plan.md"); err != nil || got != a.ID {
				t.Errorf("renamed %v, %s: %s is %q, %v, want %s", renamed, when, from, got, err, a.ID)
			}
			s, err := w.Show(t.Context(), id, true)
			if err != nil || len(s.Session.Files) == 0 || !s.Session.Archived {
				t.Errorf("renamed %v, %s: session is %+v, %v", renamed, when, s.Session, err)
			}
			if report, err := w.Store().Check(t.Context()); err != nil || !report.OK() {
				t.Errorf("renamed %v, %s: check: %+v, %v", renamed, when, report, err)
			}
		}
		readable("after the kill")
		w = openIn(t, dir)
		if _, err := w.Publish(t.Context(), handoff.Draft{Channel: "notes", Body: strings.NewReader("note"),
			Filename: "x"}); err != nil {
			t.Fatal(err)
		}
		readable("after the next publish")
		if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(to), "plan.md")); err != nil {
			t.Errorf("renamed %v: the move was not completed: %v", renamed, err)
		}
		if s, err := w.Hub().Session(t.Context(), id); err != nil || s.Folder != to || s.MovingTo != "" ||
			s.Origin != from {
			t.Errorf("renamed %v: session is in %q, moving to %q, from %q, %v", renamed, s.Folder, s.MovingTo, s.Origin, err)
		}
	}
}

// TestEmptyTrashKilled checks that a folder whose removal was interrupted is removed by
// the next one, and is not restored in part.
func TestEmptyTrashKilled(t *testing.T) {
	const id = "a0000001-0000-4000-8000-000000000000"
	dir := t.TempDir()
	w := openIn(t, dir)
	if _, err := w.Sessions().Open(t.Context(), session.OpenOptions{ID: id, Agent: handoff.SessionAgent{Name: "alex"},
		Workflow: handoff.SessionWorkflow{Name: "intake"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Sessions().Delete(t.Context(), []string{id}, true); err != nil {
		t.Fatal(err)
	}
	trash := filepath.Join(dir, "docs", "agent-outputs", ".trash")
	if err := os.Rename(filepath.Join(trash, id), filepath.Join(trash, ".removing-"+id)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Sessions().Restore(t.Context(), []string{id}); !errors.Is(err, handoff.NotFound) {
		t.Errorf("restoring a folder that is being removed: %v, want NotFound", err)
	}
	if done, err := w.Sessions().EmptyTrash(t.Context(), nil); err != nil || len(done.Removed) != 1 {
		t.Errorf("EmptyTrash = %+v, %v, want one session", done, err)
	}
	if _, err := os.Lstat(trash); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the trash still has files: %v", err)
	}
	if done, err := w.Sessions().EmptyTrash(t.Context(), nil); err != nil || len(done.Removed)+len(done.Kept) != 0 {
		t.Errorf("the second EmptyTrash = %+v, %v, want nothing", done, err)
	}
}
