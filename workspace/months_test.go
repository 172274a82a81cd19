package workspace_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/session"

	"pgregory.net/rapid"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/workspace"
)

// TestMonths runs random sequences of archive, restore, delete, export, import and
// publish. Every active artifact must stay readable, and what runs must not be deleted.
func TestMonths(t *testing.T) {
	most, checked := 6, 0 // each check opens two workspaces
	if os.Getenv("HANDOFF_LONG") != "" {
		most = 1000
	}
	rapid.Check(t, func(rt *rapid.T) {
		if checked++; checked > most {
			return
		}
		dir, err := os.MkdirTemp(t.TempDir(), "months")
		if err != nil {
			t.Fatal(err)
		}
		here, there := openIn(t, filepath.Join(mkdir(t, dir, "here"))), openIn(t, filepath.Join(mkdir(t, dir, "there")))
		published := map[string]string{} // the content of each artifact
		var ids []string
		for i := range 2 {
			id := fmt.Sprintf("a000000%d-0000-4000-8000-000000000000", i)
			ids = append(ids, id)
			if _, err := here.Sessions().Open(t.Context(),
				session.OpenOptions{ID: id, Agent: handoff.SessionAgent{Name: "alex"},
					Workflow: handoff.SessionWorkflow{Name: "w"}}); err != nil {
				t.Fatal(err)
			}
			if i > 0 { // the first one runs
				if _, err := here.Sessions().Close(t.Context(), id, session.Completed, ""); err != nil {
					t.Fatal(err)
				}
			}
		}
		imported := map[string]bool{}
		for step := range rapid.IntRange(6, 16).Draw(rt, "steps") {
			id := rapid.SampledFrom([]string{ids[0], ids[1], ids[1], ids[1]}).Draw(rt, "session")
			var err error
			switch op := rapid.SampledFrom([]string{"archive", "delete", "restore", "remove", "transfer", "publish"}).
				Draw(rt, "operation"); op {
			case "archive":
				_, err = here.Sessions().Archive(t.Context(), []string{id}, false)
			case "delete":
				_, err = here.Sessions().Delete(t.Context(), []string{id}, false)
			case "restore":
				_, err = here.Sessions().Restore(t.Context(), []string{id})
			case "remove":
				_, err = removeTrash(t, here)
			case "transfer":
				file := filepath.Join(dir, fmt.Sprintf("%d.tar", step))
				if _, err = here.Sessions().Export(t.Context(), id, file); err == nil {
					_, err = there.Sessions().Import(t.Context(), file)
				}
				if known := imported[id]; known != errors.Is(err, handoff.Conflict) || !known && err != nil {
					rt.Fatalf("import of %s, imported before: %v: %v", id, known, err)
				}
				imported[id] = true
			case "publish":
				s, _ := here.Hub().Session(t.Context(), id)
				file, text := filepath.Join(here.Sessions().Folder(s), fmt.Sprintf("%d.md", step)), fmt.Sprintf("step %d", step)
				if os.WriteFile(file, []byte(text), 0o666) != nil {
					break // the folder was removed
				}
				keep := rapid.SampledFrom([]handoff.Keep{handoff.KeepAuto, handoff.KeepNever}).Draw(rt, "keep")
				var a handoff.Published
				if a, err = here.Publish(t.Context(), handoff.Draft{Path: file, Channel: "notes", Keep: keep}); err == nil {
					published[a.ID] = text
				}
			}
			if err != nil && !errors.Is(err, handoff.Conflict) && !errors.Is(err, handoff.NotFound) {
				rt.Fatal(err)
			}
			for ref, want := range published {
				b, err := here.Read(t.Context(), ref, workspace.ReadOptions{})
				if err != nil {
					rt.Fatalf("read %s: %v", ref, err)
				}
				got, err := io.ReadAll(b)
				b.Close()
				if err != nil || string(got) != want {
					rt.Fatalf("read %s = %q, %v, want %q", ref, got, err, want)
				}
			}
			if _, err := os.Stat(filepath.Join(here.Root(), "docs", "agent-outputs", ids[0], "manifest.json")); err != nil {
				rt.Fatalf("the running session has no manifest: %v", err)
			}
		}
		for _, w := range []*workspace.Workspace{here, there} {
			if report, err := w.Store().Check(t.Context()); err != nil || !report.OK() {
				rt.Fatalf("check: %+v, %v", report, err)
			}
			w.Close()
		}
	})
}

func mkdir(t *testing.T, dir, name string) string {
	t.Helper()
	dir = filepath.Join(dir, name)
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestRetention checks that gc archives what it listed, that every active artifact stays
// readable, and that a second run changes nothing and reads no file of a session.
func TestRetention(t *testing.T) {
	sessions := 60
	if os.Getenv("HANDOFF_LONG") != "" {
		sessions = 10_000
	}
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, ".handoff", "config.yaml"), "archive_after: 30d\n")
	now := time.Now()
	w, want := openIn(t, dir), 0
	var published []string
	for i := range sessions {
		if i%60 >= 30 {
			want++
		}
		id := fmt.Sprintf("a%07d-0000-4000-8000-000000000000", i)
		writeFile(t, filepath.Join(dir, "docs", "agent-outputs", id, "plan.md"), "plan")
		started := now.AddDate(0, 0, -i%60-1).Add(12 * time.Hour) // none becomes due while the test runs
		for _, fact := range []handoff.Fact{
			&handoff.SessionOpened{SessionID: id, Folder: "docs/agent-outputs/" + id, StartedAt: started},
			&handoff.SessionClosed{SessionID: id, Status: "completed", EndedAt: started.Add(time.Minute)},
		} {
			if _, _, err := w.Hub().Record(t.Context(), fact); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := 0; i < sessions; i += max(1, sessions/50) { // some need the file in the folder
		id := fmt.Sprintf("a%07d-0000-4000-8000-000000000000", i)
		a, err := w.Publish(t.Context(), handoff.Draft{
			Path: filepath.Join(dir, "docs", "agent-outputs", id, "plan.md"), Channel: "plan", Keep: handoff.KeepNever})
		if err != nil {
			t.Fatal(err)
		}
		published = append(published, a.ID)
	}
	due, err := w.Sessions().ToArchive(t.Context())
	if err != nil || len(due) != want {
		t.Fatalf("%d sessions are due, %v, want %d", len(due), err, want)
	}
	done, err := w.Sessions().ArchiveDue(t.Context(), "30d")
	if err != nil || len(done.Sessions) != len(due) {
		t.Fatalf("archived %d sessions, %v, want %d", len(done.Sessions), err, len(due))
	}
	for i, s := range done.Sessions {
		if s.ID != due[i].ID {
			t.Errorf("archived %+v, want %s", s, due[i].ID)
		}
	}
	for _, id := range published {
		b, err := w.Read(t.Context(), id, workspace.ReadOptions{})
		if err != nil {
			t.Fatalf("after the run: %v", err)
		}
		b.Close()
	}
	newest, err := w.Hub().Newest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	unread := readsOf(t, filepath.Join(dir, "docs"))
	if again, err := w.Sessions().ArchiveDue(t.Context(), "30d"); err != nil || len(again.Sessions) != 0 {
		t.Errorf("the second run archived %d sessions, %v", len(again.Sessions), err)
	}
	if due, err := w.Sessions().ToArchive(t.Context()); err != nil || len(due) != 0 {
		t.Errorf("after the second run, %d sessions are due, %v", len(due), err)
	}
	if after, err := w.Hub().Newest(t.Context()); err != nil || after != newest {
		t.Errorf("the second run recorded facts: %d, %v, want %d", after, err, newest)
	}
	unread()
}
