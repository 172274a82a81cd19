package content_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/agent-handoff/handoff/internal/log/content"
)

// FuzzUnpack unpacks the body of a directory, which another machine may have written.
// Nothing is outside of the directory, no link leads out of what was unpacked without
// an error, and no more bytes are written than there are.
func FuzzUnpack(f *testing.F) {
	dir := f.TempDir()
	for name, text := range map[string]string{"a/b.txt": "text", "c": ""} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			f.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			f.Fatal(err)
		}
	}
	if err := os.Symlink("a/b.txt", filepath.Join(dir, "l")); err != nil {
		f.Fatal(err)
	}
	from, err := os.OpenRoot(dir)
	if err != nil {
		f.Fatal(err)
	}
	defer from.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(content.Pack(f.Context(), from, nil)); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		parent := t.TempDir()
		dir := filepath.Join(parent, "into")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		into, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer into.Close()
		refused := content.Unpack(t.Context(), bytes.NewReader(b), into)
		var size int64
		err = filepath.WalkDir(parent, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			if filepath.Dir(path) == parent {
				t.Errorf("unpacked %s", path)
			}
			info, err := e.Info()
			if err == nil && info.Mode().IsRegular() {
				size += info.Size()
			}
			if name, _ := filepath.Rel(dir, path); err == nil && e.Type() == fs.ModeSymlink && refused == nil {
				if target, _ := os.Readlink(path); filepath.IsAbs(target) ||
					!filepath.IsLocal(filepath.Join(filepath.Dir(name), target)) {
					t.Errorf("%s leads to %s", name, target)
				}
			}
			return err
		})
		if err != nil || size > int64(len(b)) {
			t.Errorf("%d bytes from %d, %v", size, len(b), err)
		}
	})
}
