package workspace_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/workspace/sessions"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/workspace"
)

// forge returns an export whose records were edited and that has more entries, with
// valid checksums and a valid manifest: what a program of somebody else could write.
func forge(t *testing.T, valid []tarEntry, edit func(record map[string]any), more ...tarEntry) []tarEntry {
	t.Helper()
	list := append(slices.Clone(valid), more...)
	sums, records, sessions := "", 0, 0
	for i, e := range list {
		if e.Name == "records.jsonl" {
			var edited bytes.Buffer
			for line := range bytes.Lines(e.body) {
				var r map[string]any
				if err := json.Unmarshal(line, &r); err != nil {
					t.Fatal(err)
				}
				if edit(r); r["type"] == nil {
					continue
				}
				b, err := json.Marshal(r)
				if err != nil {
					t.Fatal(err)
				}
				edited.Write(append(b, '\n'))
				if records++; r["type"] == "session.opened" {
					sessions++
				}
			}
			list[i].body = edited.Bytes()
		}
		list[i].Size = int64(len(list[i].body))
		if i > 1 && e.Typeflag == tar.TypeReg {
			sums += fmt.Sprintf("%x  %s\n", sha256.Sum256(list[i].body), e.Name)
		}
	}
	var m map[string]any
	if err := json.Unmarshal(list[0].body, &m); err != nil {
		t.Fatal(err)
	}
	m["records"], m["sessions"] = records, sessions
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	list[0].body, list[0].Size = b, int64(len(b))
	list[1].body, list[1].Size = []byte(sums), int64(len(sums))
	return list
}

func file(name, body string) tarEntry {
	return tarEntry{tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644}, []byte(body)}
}

// TestImportForged imports what is consistent in itself but no session: nothing may be
// written.
func TestImportForged(t *testing.T) {
	exportedFile, _ := exported(t)
	valid := readTar(t, exportedFile)
	same := func(map[string]any) {}
	published := func(key string, value any) func(map[string]any) {
		return func(r map[string]any) {
			if r["type"] == "artifact.published" {
				r[key] = value
			}
		}
	}
	runElsewhere := func(r map[string]any) {
		if r["type"] == "session.closed" { // in its place, the opening of a run
			r["type"], r["sessionId"], r["parent"], r["folder"] = "session.opened", "r1", exportedID,
				"docs/agent-outputs/other/runs/r1"
			delete(r, "status")
		}
	}
	for _, tt := range []struct {
		name, want string
		list       []tarEntry
	}{
		{"settings of git", `"files/.git/config" is inside .git`, forge(t, valid, same, file("files/.git/config", "[core]"))},
		{"in upper case", `"files/a/.GIT/config" has the element ".GIT"`,
			forge(t, valid, same, file("files/a/.GIT/config", "[core]"))},
		{"short name", `"files/git~1/config" has the element`, forge(t, valid, same, file("files/git~1/config", "[core]"))},
		{"the log", `"files/.handoff/log/ID" is inside .handoff`, forge(t, valid, same, file("files/.handoff/log/ID", "x"))},
		{"no body", "the body of art_", forge(t, valid,
			published("digest", map[string]any{"algorithm": "sha256", "value": strings.Repeat("ab", 32)}))},
		{"negative size", "has a negative size", forge(t, valid, published("sizeBytes", -5))},
		{"path in .git", "has a path that is inside .git", forge(t, valid, published("path", ".git/config"))},
		{"path in .handoff", "has a path that is inside .handoff",
			forge(t, valid, published("path", ".handoff/config.yaml"))},
		{"folder of a run elsewhere", `the folder of run "r1" is outside that of its session`, forge(t, valid, runElsewhere)},
		{"a long line", "has more than 1048576 bytes", forge(t, valid, published("x", strings.Repeat("x", 16<<20)))},
	} {
		dir := t.TempDir()
		name := writeTar(t, tt.list)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := openIn(t, dir).Sessions().Import(t.Context(), name)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, handoff.Invalid) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got error %.300v, want %q", tt.name, err, tt.want)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 32<<20 {
			t.Errorf("%s: the import allocated %d MiB", tt.name, n>>20)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s: the import left %v, %v", tt.name, left, err)
		}
	}
	accepted := forge(t, valid, same, file("files/.gitignore", "x"))
	if _, err := openIn(t, t.TempDir()).Sessions().Import(t.Context(), writeTar(t, accepted)); err != nil {
		t.Errorf("an export without a change of meaning: %v", err)
	}
}

// TestImportReplacesNothing imports an artifact that names one of this workspace as
// replaced: the local one stays active and the latest of its channel.
func TestImportReplacesNothing(t *testing.T) {
	exportedFile, _ := exported(t)
	w := openIn(t, t.TempDir())
	local, err := w.Publish(t.Context(), handoff.Draft{Channel: "handoff", Body: strings.NewReader("local")})
	if err != nil {
		t.Fatal(err)
	}
	first := ""
	list := forge(t, readTar(t, exportedFile), func(r map[string]any) {
		if r["type"] != "artifact.published" {
			return
		}
		r["replaces"] = []string{local.ID}
		if first != "" {
			r["replaces"] = []string{first}
		}
		first, _ = r["id"].(string)
	})
	if _, err := w.Sessions().Import(t.Context(), writeTar(t, list)); err != nil {
		t.Fatal(err)
	}
	got, err := w.Hub().Artifact(t.Context(), local.ID)
	if err != nil || got.Status != handoff.Active || len(got.ReplacedBy) > 0 {
		t.Errorf("the local artifact: got %s, replaced by %v, %v, want active", got.Status, got.ReplacedBy, err)
	}
	b, err := w.Read(t.Context(), "handoff:latest", workspace.ReadOptions{})
	if err != nil || b.Artifact.ID != local.ID {
		t.Errorf("handoff:latest: got %s, %v, want the local %s", b.Artifact.ID, err, local.ID)
	}
	page, err := w.List(t.Context(), workspace.ListOptions{})
	if err != nil || len(page.Artifacts) != 2 { // of the import, each replaces the one before it
		t.Errorf("%d artifacts are active, %v, want 2", len(page.Artifacts), err)
	}
	if report, err := w.Store().Check(t.Context()); err != nil || !report.OK() {
		t.Errorf("check: %+v, %v", report, err)
	}
}

// TestImportAfterRemoval restores a session whose folder is gone from its export.
func TestImportAfterRemoval(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	w := openIn(t, dir)
	if _, err := w.Sessions().Open(t.Context(),
		session.OpenOptions{ID: exportedID, Agent: handoff.SessionAgent{Name: "alex"},
			Workflow: handoff.SessionWorkflow{Name: "intake"}}); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "docs", "agent-outputs", exportedID, "out.md")
	writeFile(t, name, "output\n")
	a, err := w.Sessions().AddOutput(t.Context(), exportedID, sessions.Output{File: name, Type: "document"})
	if err == nil {
		_, err = w.Sessions().Close(t.Context(), exportedID, session.Completed, "")
	}
	backup := filepath.Join(t.TempDir(), "s.tar")
	if err == nil {
		_, err = w.Sessions().Export(t.Context(), exportedID, backup)
	}
	if err == nil {
		_, err = w.Sessions().Delete(t.Context(), []string{exportedID}, false)
	}
	if err == nil {
		_, err = w.Withdraw(t.Context(), a.ID, "")
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Sessions().Import(t.Context(), backup); !errors.Is(err, handoff.Conflict) {
		t.Errorf("import while the folder is in the trash: got %v, want Conflict", err)
	}
	if _, err := removeTrash(t, w); err != nil {
		t.Fatal(err)
	}
	before := countFacts(t, dir)
	if _, err := w.Sessions().Import(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(name); err != nil || string(b) != "output\n" {
		t.Errorf("the file after the import: %q, %v", b, err)
	}
	s, err := w.Hub().Session(t.Context(), exportedID)
	if err != nil || s.Deleted {
		t.Errorf("the session: %+v, %v, want one that is not in the trash", s, err)
	}
	if added := countFacts(t, dir) - before; added > 1 { // session.restored
		t.Errorf("the import added %d records, want at most 1", added)
	}
	if report, err := w.Store().Check(t.Context()); err != nil || !report.OK() {
		t.Errorf("check at %v: %+v, %v", now, report, err)
	}
}

// countFacts returns the number of records in the log of a workspace.
func countFacts(t *testing.T, dir string) (n int) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(dir, ".handoff", "log"), func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(name, ".json") {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestExportLeavesOut exports a folder with names that an import refuses: they are left
// out with a warning, and the export can be imported.
func TestExportLeavesOut(t *testing.T) {
	dir := t.TempDir()
	w := openIn(t, dir)
	if _, err := w.Sessions().Open(t.Context(),
		session.OpenOptions{ID: exportedID, Agent: handoff.SessionAgent{Name: "alex"},
			Workflow: handoff.SessionWorkflow{Name: "intake"}}); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, "docs", "agent-outputs", exportedID)
	for _, name := range []string{"good.md", `a\b.md`, "a\nb.md", "\xff.md", ".git/config", "deep/.GIT/config"} {
		writeFile(t, filepath.Join(folder, name), "x")
	}
	backup := filepath.Join(t.TempDir(), "s.tar")
	done, err := w.Sessions().Export(t.Context(), exportedID, backup)
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(done.Warnings, "\n"); !strings.Contains(text, "5 files or directories are not exported") ||
		!strings.Contains(text, `".git" is inside .git`) {
		t.Errorf("got warnings %q, want the names that are left out", text)
	}
	other := t.TempDir()
	if _, err := openIn(t, other).Sessions().Import(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(other, "docs", "agent-outputs", exportedID, "good.md")); err != nil {
		t.Error(err)
	}
}

// TestImportPipe imports a named pipe without a writer: opening it would wait for ever.
func TestImportPipe(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Skip(err)
	}
	w, ended := openIn(t, dir), make(chan error, 1)
	go func() { _, err := w.Sessions().Import(context.Background(), name); ended <- err }()
	select {
	case err := <-ended:
		if !errors.Is(err, handoff.Invalid) {
			t.Errorf("got %v, want Invalid", err)
		}
	case <-time.After(time.Minute):
		t.Error("the import waits for a writer of the pipe")
	}
}
