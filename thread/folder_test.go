package thread_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/thread"
)

// TestFolders compares Folders with the entries that os.ReadDir returns, in a tree with
// a large directory, names of all lengths, links, and other kinds of files.
func TestFolders(t *testing.T) {
	root := t.TempDir()
	write := func(path string) {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(path), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3000 {
		write(fmt.Sprintf("many/%d%s.x", i*7919%3000, strings.Repeat("n", i%100)))
	}
	for n := 1; n < 250; n += 3 {
		write("a/b/" + strings.Repeat("é", n/2) + strings.Repeat("e", n%2) + ".x")
	}
	write("a/b/c/d/deep.x")
	write("a/.x")
	write("a/other.y")
	for link, target := range map[string]string{"a/file.x": "b/e.x", "a/gone.x": "none", "a/dir.x": "b",
		"a/loop.x": "loop.x"} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(root, "a", "empty.x"), 0o755); err != nil {
		t.Fatal(err)
	}

	want := []string{}
	var list func(dir string, depth int)
	list = func(dir string, depth int) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && strings.HasSuffix(path, ".x") {
				want = append(want, fmt.Sprint(path, e.Name(), info.Size(), info.ModTime()))
			}
		}
		for _, e := range entries {
			if e.IsDir() && depth > 0 {
				list(filepath.Join(dir, e.Name()), depth-1)
			}
		}
	}
	list(root, 3)

	w := thread.NewWalk(t.Context())
	folders := w.Folders([]string{root, filepath.Join(root, "none"), filepath.Join(root, "a", "other.y")}, 3,
		func(name string) bool { return strings.HasSuffix(name, ".x") })
	got := []string{}
	for _, folder := range folders {
		if !slices.IsSorted(folder.Dirs) || !slices.IsSortedFunc(folder.Files,
			func(a, b thread.FolderFile) int { return strings.Compare(a.Name, b.Name) }) {
			t.Errorf("%s: the names are not in order", folder.Path)
		}
		for _, f := range folder.Files {
			got = append(got, fmt.Sprint(f.Path, f.Name, f.Size, f.Modified))
		}
	}
	if err := w.Err(""); err == nil || !strings.Contains(err.Error(), "loop.x") || strings.Contains(err.Error(), "more") {
		t.Errorf("got %v, want an error about loop.x alone", err)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got %d files, want %d", len(got), len(want))
	}
	if thread.CountFiles(folders) != len(want) {
		t.Errorf("CountFiles: got %d, want %d", thread.CountFiles(folders), len(want))
	}
}

// TestFoldersUnreadable checks that a directory that can't be read is an error with its
// path, and does not hide the others.
func TestFoldersUnreadable(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root reads all directories")
	}
	root := t.TempDir()
	for _, dir := range []string{"open", "shut"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, dir, "f"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(root, "shut"), 0); err != nil {
		t.Fatal(err)
	}
	w := thread.NewWalk(t.Context())
	folders := w.Folders([]string{root}, 1, func(string) bool { return true })
	if err := w.Err("it"); thread.CountFiles(folders) != 1 || err == nil || !strings.Contains(err.Error(), "shut") {
		t.Errorf("got %d files and %v, want one file and an error about shut", thread.CountFiles(folders), err)
	}
}
