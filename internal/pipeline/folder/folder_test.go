package folder_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/internal/pipeline/folder"
)

// newRoot returns a directory with some empty files.
func newRoot(t *testing.T, files ...string) (*os.Root, string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root, dir
}

// TestRuns checks which folders are runs, open and archived.
func TestRuns(t *testing.T) {
	root, dir := newRoot(t, ".pipeline/42/plan.json", ".pipeline/PROJ-7/x", ".pipeline/file", ".pipeline/.hidden/x",
		".pipeline/lessons.yaml",
		".pipeline/completed/42/x", ".pipeline/completed/42.2/x", ".pipeline/completed/42~3/x", ".pipeline/completed/..~3/x",
		".pipeline/completed/file")
	if err := os.Symlink("42", filepath.Join(dir, ".pipeline", "43")); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(folder.Open(root), folder.Archived(root)), "[42 PROJ-7] [42 42.2 42~3]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if !folder.Exists(dir, "42") || folder.Exists(dir, "file") || folder.Exists(dir, "43") ||
		folder.Exists(dir, "completed") || !folder.HasArchive(dir) {
		t.Error("wrong folders are runs")
	}
	empty, _ := newRoot(t)
	if got := fmt.Sprint(folder.Open(empty), folder.Archived(empty)); got != "[] []" {
		t.Errorf("without a folder: got %s", got)
	}
}

// TestInitAfterKill checks that a file left by a killed process with the same
// process ID does not keep Init from creating state.yaml. In a container every
// process may have the same ID.
func TestInitAfterKill(t *testing.T) {
	root, dir := newRoot(t, fmt.Sprintf(".pipeline/42/.state.yaml.%d.tmp", os.Getpid()))
	if _, err := folder.Init(root, "42", "trivial"); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, ".pipeline", "42", "state.yaml"))
	if err != nil || !strings.Contains(string(b), "complexity: trivial\n") {
		t.Errorf("state.yaml = %q, %v", b, err)
	}
}
