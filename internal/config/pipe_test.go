package config

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestGitPipe finds a workspace whose .git is a pipe, and one whose .git leads to an
// endless device. A pipe that is opened has a valid text.
func TestGitPipe(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, ".git")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Skip(err)
	}
	go func() {
		if w, err := os.OpenFile(name, os.O_WRONLY, 0); err == nil {
			w.WriteString("gitdir: /elsewhere\n")
			w.Close()
		}
	}()
	w, err := Find(dir, nothing)
	if err != nil || w.Root != dir || w.common != "" {
		t.Errorf("pipe: got %+v, %v, want no repository", w, err)
	}
	if r, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0); err == nil {
		r.Close() // ends the writer
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", name); err != nil {
		t.Fatal(err)
	}
	if w, err := Find(dir, nothing); err != nil || w.Root != dir || w.common != "" {
		t.Errorf("device: got %+v, %v, want no repository", w, err)
	}
}
