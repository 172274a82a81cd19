package names

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestPlainDir(t *testing.T) {
	top := t.TempDir()
	at := func(name string) string { return filepath.Join(top, name) }
	for _, err := range []error{
		os.Mkdir(at("dir"), 0o755), os.WriteFile(at("file"), nil, 0o644), os.Symlink("dir", at("link")),
		os.Symlink("/", at("out")), os.Symlink("missing", at("dangling")), os.Symlink("loop", at("loop")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	parent, err := os.OpenRoot(top)
	if err != nil {
		t.Fatal(err)
	}
	defer parent.Close()
	for _, name := range []string{"file", "link", "out", "dangling", "loop"} {
		dir, err := plainDir(parent, name)
		if want := (notPlainError{at(name)}); err != want {
			t.Errorf("plainDir(%s) = %v, want %v", name, err, want)
		}
		if dir != nil {
			dir.Close()
		}
	}
	if _, err := plainDir(parent, "missing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("plainDir(missing) = %v, want fs.ErrNotExist", err)
	}
	dir, err := plainDir(parent, "dir")
	if err != nil {
		t.Fatalf("plainDir(dir) = %v", err)
	}
	dir.Close()
}
