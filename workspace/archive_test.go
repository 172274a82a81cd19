package workspace_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/settings"
	"github.com/agent-handoff/handoff/workspace/sessions"
	"github.com/agent-handoff/handoff/workspace/store"

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

// TestArchiveKilled checks that a session is shown as its records state wherever a process
// that archives or deletes it is killed, and that the next operation that records something
// brings its manifest up to them.
func TestArchiveKilled(t *testing.T) {
	const id = "a0000001-0000-4000-8000-000000000000"
	const folder = "docs/agent-outputs/" + id
	for _, fact := range []handoff.Fact{&handoff.SessionArchived{SessionID: id}, &handoff.SessionDeleted{SessionID: id}} {
		dir := t.TempDir()
		w := openIn(t, dir)
		a := closedSession(t, w, dir, id)
		manifest := filepath.Join(dir, filepath.FromSlash(folder), "manifest.json")
		before, err := os.ReadFile(manifest)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := w.Hub().Record(t.Context(), fact); err != nil { // and nothing after it
			t.Fatal(err)
		}
		shown, err := w.Show(t.Context(), a.ID, false)
		if err != nil || shown.Artifact.Target != handoff.Available {
			t.Errorf("%T: target %v, %v, want available", fact, shown.Artifact.Target, err)
		}
		if page, err := w.Sessions().Find(t.Context(), sessions.Filter{}); err != nil || len(page.Sessions) != 0 {
			t.Errorf("%T: %d sessions are listed, %v", fact, len(page.Sessions), err)
		}
		w = openIn(t, dir)
		time.Sleep(2100 * time.Millisecond) // a live process would have rendered it by then
		if _, err := w.Publish(t.Context(), handoff.Draft{Channel: "notes", Body: strings.NewReader("note"),
			Filename: "x"}); err != nil {
			t.Fatal(err)
		}
		after, err := os.ReadFile(manifest)
		switch fact.(type) {
		case *handoff.SessionArchived:
			if !strings.Contains(string(after), `"archivedAt": "`) {
				t.Errorf("the manifest of an archived session: %s, %v", after, err)
			}
		default:
			if !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the manifest of a deleted session: %s, %v", after, err)
			}
			list, err := w.Sessions().Unrecorded(t.Context())
			if err != nil || len(list.Sessions) != 0 {
				t.Errorf("the folder of a deleted session is unrecorded: %+v, %v", list, err)
			}
		}
		if _, err := w.Sessions().Restore(t.Context(), []string{id}); err != nil {
			t.Fatal(err)
		}
		if after, err := os.ReadFile(manifest); err != nil || string(after) != string(before) {
			t.Errorf("%T: restored with %s, %v, want %s", fact, after, err, before)
		}
		if report, err := w.Store().Check(t.Context()); err != nil || !report.OK() {
			t.Errorf("%T: check: %+v, %v", fact, report, err)
		}
	}
}

// closedSession opens and closes a session with one output.
func closedSession(t *testing.T, w *workspace.Workspace, dir, id string) handoff.Published {
	t.Helper()
	if _, err := w.Sessions().Open(t.Context(), session.OpenOptions{ID: id, Agent: handoff.SessionAgent{Name: "alex"},
		Workflow: handoff.SessionWorkflow{Name: "intake"}}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "docs", "agent-outputs", id, "plan.md")
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
	return a
}

// removeTrash removes the files of all deleted sessions that nothing needs.
func removeTrash(t *testing.T, w *workspace.Workspace) ([]session.Summary, error) {
	t.Helper()
	g, err := w.Store().Garbage(t.Context(), store.GarbageOptions{Policy: settings.Policy{KeepWithin: 1}, Collect: true})
	return g.Trash, err
}

// TestRemoveKilled checks that a folder whose removal was interrupted is removed by
// the next collection, and is not restored in part.
func TestRemoveKilled(t *testing.T) {
	const id = "a0000001-0000-4000-8000-000000000000"
	dir := t.TempDir()
	w := openIn(t, dir)
	closedSession(t, w, dir, id)
	if _, err := w.Sessions().Delete(t.Context(), []string{id}, true); err != nil {
		t.Fatal(err)
	}
	outputs := filepath.Join(dir, "docs", "agent-outputs")
	if err := os.Rename(filepath.Join(outputs, id), filepath.Join(outputs, ".removing-"+id)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Sessions().Restore(t.Context(), []string{id}); !errors.Is(err, handoff.NotFound) {
		t.Errorf("restoring a folder that is being removed: %v, want NotFound", err)
	}
	if list, err := removeTrash(t, w); err != nil || len(list) != 1 || !list[0].Removed {
		t.Errorf("the collection removes %+v, %v, want one session", list, err)
	}
	if left, err := os.ReadDir(outputs); err != nil || len(left) != 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	if list, err := removeTrash(t, w); err != nil || len(list) != 0 {
		t.Errorf("the second collection removes %+v, %v, want nothing", list, err)
	}
}

// TestRemoveKeeps checks what a collection keeps of deleted sessions: what was deleted a short
// time ago, a folder with that of another session, and one that is not where sessions
// have their folders, which a forged record names.
func TestRemoveKeeps(t *testing.T) {
	const id = "a000000%d-0000-4000-8000-000000000000"
	dir := t.TempDir()
	w := openIn(t, dir)
	for i, folder := range []string{"docs/agent-outputs/a", "src", "docs/agent-outputs/a/b",
		"docs/agent-outputs/../../src", "docs/agent-outputs/c"} {
		writeFile(t, filepath.Join(dir, filepath.FromSlash(folder), "x.md"), "text")
		of := fmt.Sprintf(id, i)
		if _, _, err := w.Hub().Record(t.Context(), &handoff.SessionOpened{SessionID: of, Folder: folder}); err != nil {
			t.Fatal(err)
		}
		if i == 2 {
			continue
		}
		if _, err := w.Sessions().Delete(t.Context(), []string{of}, true); err != nil {
			t.Fatal(err)
		}
	}
	g, err := w.Store().Garbage(t.Context(), store.GarbageOptions{Collect: true})
	if err != nil || len(g.Trash) != 2 || g.Trash[0].Removed || g.Trash[1].Removed {
		t.Errorf("the collection of what was deleted a moment ago: %+v, %v", g.Trash, err)
	}
	list, err := removeTrash(t, w)
	if err != nil || len(list) != 2 {
		t.Fatalf("the trash is %+v, %v, want the folders a and c", list, err)
	}
	for _, s := range list {
		if want := s.Folder == "docs/agent-outputs/c"; s.Removed != want {
			t.Errorf("%s is removed: %t, needed by %v", s.Folder, s.Removed, s.NeededBy)
		}
	}
	for _, name := range []string{"src/x.md", "docs/agent-outputs/a/x.md", "docs/agent-outputs/a/b/x.md"} {
		if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			t.Error(err)
		}
	}
}
