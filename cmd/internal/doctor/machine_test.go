package doctor

import (
	"debug/buildinfo"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// TestBuild compares what the search in a binary finds with package debug/buildinfo.
func TestBuild(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cut, pipe := filepath.Join(dir, "cut"), filepath.Join(dir, "pipe")
	text, err := os.ReadFile(self)
	if err == nil {
		err = os.WriteFile(cut, text[:1000], 0o777)
	}
	if err == nil {
		err = syscall.Mkfifo(pipe, 0o777)
	}
	if err != nil {
		t.Fatal(err)
	}
	files := []string{self, cut, "/bin/sh", filepath.Join(dir, "missing")}
	if path, err := exec.LookPath("go"); err == nil {
		files = append(files, path)
	}
	for _, file := range files {
		var want program
		if info, err := buildinfo.ReadFile(file); err == nil {
			want = program{info.Main.Path, info.Main.Version}
		}
		if got := build(file); got.path != want.path || got.version != want.version && want.version != "(devel)" {
			t.Errorf("%s: got %v, want %v", file, got, want)
		}
	}
	if build(self).path == "" {
		t.Error("the program of this test does not say what it is")
	}
	if got := build(pipe); got != (program{}) { // it does not wait for a writer
		t.Errorf("a pipe: got %v", got)
	}
}
