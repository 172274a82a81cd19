package plainfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	for _, err := range []error{
		os.WriteFile(file, []byte("12345"), 0o600),
		os.Symlink("file", filepath.Join(dir, "link")),
		os.Symlink("nothing", filepath.Join(dir, "dangling")),
		os.Mkdir(filepath.Join(dir, "dir"), 0o700),
		syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600),
		os.Link(file, filepath.Join(dir, "second")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, tt := range []struct {
		name  string
		limit int64
		err   error
	}{
		{"file", 5, nil}, {"file", 4, ErrTooLarge}, {"second", 5, nil},
		{"link", 5, ErrNotRegular}, {"dangling", 5, ErrNotRegular}, {"dir", 5, ErrNotRegular}, {"pipe", 5, ErrNotRegular},
		{"nothing", 5, fs.ErrNotExist},
	} {
		for how, read := range map[string]func() ([]byte, error){
			"Read":   func() ([]byte, error) { return Read(filepath.Join(dir, tt.name), tt.limit) },
			"ReadIn": func() ([]byte, error) { return ReadIn(root, tt.name, tt.limit) },
		} {
			b, err := read()
			if !errors.Is(err, tt.err) || err == nil && string(b) != "12345" {
				t.Errorf("%s(%s, %d) = %q, %v, want error %v", how, tt.name, tt.limit, b, err, tt.err)
			}
		}
	}
	if _, err := ReadIn(root, "../x", 5); err == nil {
		t.Error("ReadIn leaves the directory")
	}
	for name, ok := range map[string]bool{"file": true, "link": false, "dir": false, "nothing": false} {
		if err := CheckFile(filepath.Join(dir, name)); (err == nil) != ok {
			t.Errorf("CheckFile(%s) = %v", name, err)
		}
		if err := CheckOnlyName(filepath.Join(dir, name)); err == nil {
			t.Errorf("CheckOnlyName(%s) = nil, want an error", name) // file has two names
		}
	}
	for name, ok := range map[string]bool{"file": false, "link": false, "dir": true, "nothing": false} {
		if err := CheckDir(filepath.Join(dir, name)); (err == nil) != ok {
			t.Errorf("CheckDir(%s) = %v", name, err)
		}
	}
}

func TestFS(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "a.yaml"), []byte("12345"), 0o600),
		os.Symlink("a.yaml", filepath.Join(dir, "link.yaml"))); err != nil {
		t.Fatal(err)
	}
	fsys := FS(dir, 5)
	if b, err := fs.ReadFile(fsys, "a.yaml"); err != nil || string(b) != "12345" {
		t.Errorf("ReadFile = %q, %v", b, err)
	}
	if entries, err := fs.ReadDir(fsys, "."); err != nil || len(entries) != 2 {
		t.Errorf("ReadDir = %v, %v, want two entries", entries, err)
	}
	for name, want := range map[string]error{"link.yaml": ErrNotRegular, "b.yaml": fs.ErrNotExist, "../a": fs.ErrInvalid} {
		if _, err := fs.ReadFile(fsys, name); !errors.Is(err, want) {
			t.Errorf("ReadFile(%s) = %v, want %v", name, err, want)
		}
	}
	if _, err := fs.ReadFile(FS(dir, 4), "a.yaml"); !errors.Is(err, ErrTooLarge) {
		t.Errorf("ReadFile of 5 bytes with a limit of 4 = %v, want ErrTooLarge", err)
	}
	if _, err := fs.ReadDir(FS(filepath.Join(dir, "nothing"), 5), "."); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("ReadDir of nothing = %v, want fs.ErrNotExist", err)
	}
}

func TestInvalidAt(t *testing.T) {
	for text, want := range map[string]string{
		"yaml: line 3: could not find SECRET":                                            "line 3: invalid YAML",
		"go-yaml load error at L7.C5: SECRET":                                            "line 7: invalid YAML",
		"cannot construct SECRET into a number":                                          "invalid YAML",
		"yaml: construct errors: line 1: field SECRET not found in type Config":          "line 1: unknown key",
		`yaml: construct errors: line 2: mapping key "SECRET" already defined at line 1`: "line 2: duplicate key",
		"yaml: construct errors: line 4: cannot construct !!str `SECRET` into bool":      "line 4: value of the wrong type",
		`yaml: construct errors: line 5: line 5: invalid size "SECRET"`:                  "line 5: invalid value",
	} {
		if got := InvalidAt(errors.New(text)).Error(); got != want {
			t.Errorf("InvalidAt(%q) = %q, want %q and no content", text, got, want)
		}
	}
}
