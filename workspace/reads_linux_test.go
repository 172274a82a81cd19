package workspace_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// readsOf returns a function that reports every file below dir that was read or changed
// since. It needs a file system that notes when a file was read; without one, the
// function reports changes only.
func readsOf(t *testing.T, dir string) func() {
	t.Helper()
	old := time.Now().AddDate(0, 0, -7) // so that also relatime notes a read
	state := func(path string) syscall.Stat_t {
		var s syscall.Stat_t
		if err := syscall.Lstat(path, &s); err != nil {
			t.Error(err)
		}
		return s
	}
	control := filepath.Join(t.TempDir(), "control")
	writeFile(t, control, "control")
	if err := os.Chtimes(control, old, old); err != nil {
		t.Fatal(err)
	}
	before := state(control)
	if _, err := os.ReadFile(control); err != nil {
		t.Fatal(err)
	}
	noted := state(control).Atim != before.Atim
	if !noted {
		t.Log("this file system does not note when a file was read")
	}
	files := map[string]syscall.Stat_t{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if err = os.Chtimes(path, old, old); err == nil {
				files[path] = state(path)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		read := 0
		for path, before := range files {
			after := state(path)
			if after.Ctim != before.Ctim || after.Mtim != before.Mtim || after.Size != before.Size {
				t.Errorf("%s was changed", path)
			}
			if noted && after.Atim != before.Atim {
				read++
				t.Logf("%s was read", path)
			}
		}
		if read > 0 {
			t.Errorf("%d of %d files were read, want none", read, len(files))
		}
	}
}
