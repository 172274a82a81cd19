package thread

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestKindUnknown asks for the types that a file system does not record.
func TestKindUnknown(t *testing.T) {
	root := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(filepath.Join(root, "file"), nil, 0o600))
	must(os.Mkdir(filepath.Join(root, "dir"), 0o755))
	must(os.Symlink("dir", filepath.Join(root, "link")))
	must(unix.Mkfifo(filepath.Join(root, "pipe"), 0o600))
	dir, err := openDir(root)
	must(err)
	defer dir.Close()
	for name, want := range map[string]fs.FileMode{"file": 0, "dir": fs.ModeDir, "link": fs.ModeSymlink, "pipe": fs.ModeIrregular} {
		if got, ok := dir.kind(name, unix.DT_UNKNOWN); got != want || !ok {
			t.Errorf("%s: got %v, %v, want %v", name, got, ok, want)
		}
	}
	if _, ok := dir.kind("gone", unix.DT_UNKNOWN); ok {
		t.Error("a removed entry has a type")
	}
}
