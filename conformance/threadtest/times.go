package threadtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/agent-handoff/handoff/thread"
)

// CheckTimes checks that a list has the times of the threads.
func CheckTimes(t testing.TB, p thread.Provider) {
	t.Helper()
	n := 0
	for st, err := range thread.StoredIn(t.Context(), "", p) {
		if err != nil {
			t.Fatal(err)
		}
		threads, err := st.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, th := range threads {
			if th.IsAgent() {
				continue
			}
			if alone, err := p.Thread(t.Context(), th.ID); err != nil || !alone.Modified.Equal(st.Modified) {
				t.Errorf("%s: got time %v in a list, want %v, %v", th.ID, st.Modified, alone.Modified, err)
			}
			n++
		}
	}
	if n == 0 {
		t.Error("got no threads")
	}
}

// changeAll appends a space to every file and resets its time.
func changeAll(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, append(b, ' '), info.Mode().Perm()); err != nil {
			return err
		}
		return os.Chtimes(path, info.ModTime(), info.ModTime())
	})
	if err != nil {
		t.Fatal(err)
	}
}
