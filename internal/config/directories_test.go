package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/internal/tool/userdir"
)

// TestRemember checks that the file of directories is bounded, that what is malformed in it is left
// out, and that the settings of a repository which only a thread names start no program.
func TestRemember(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	getenv := func(name string) string { return map[string]string{"HOME": dir}[name] }
	file := filepath.Join(userdir.State(getenv), directoriesName)
	lines := []string{"", "x", "relative\t/c\t1\ta\t", "/d\trelative\t1\ta\t", "/d\t/c\t1\ta"}
	for i := range maxDirectories {
		lines = append(lines, fmt.Sprintf("/gone/%d\t/gone/%d/.git\t%d\t\t", i, i, i))
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	own, named, ran := filepath.Join(dir, "own"), filepath.Join(dir, "named"), filepath.Join(dir, "ran")
	program := filepath.Join(dir, "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\ntouch "+ran+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{own, named} {
		runGit(t, dir, "init", "-q", at)
		runGit(t, at, "commit", "-q", "--allow-empty", "-m", "first")
	}
	for _, key := range []string{"core.fsmonitor", "core.pager", "core.sshCommand", "gpg.program", "diff.external",
		"alias.rev-list", "core.alternateRefsCommand", "filter.x.clean", "filter.x.process"} {
		runGit(t, named, "config", key, program)
	}
	w, err := Find(own, getenv)
	if err != nil {
		t.Fatal(err)
	}
	if isGone := w.Gone(); isGone(named) || isGone("") || !isGone("/gone/elsewhere") {
		t.Error("Gone: a directory that exists is gone, or one that does not exist is not")
	}
	w.Remember()
	d := readDirectories(userdir.State(getenv))
	if len(d.lines) != maxDirectories || !slices.Equal(d.dirs[len(d.dirs)-2:], []string{own, named}) {
		t.Errorf("%d directories are remembered, the last ones are %q", len(d.lines), d.dirs[len(d.dirs)-2:])
	}
	if r := d.of[named][0]; len(r.roots) != 40 || r.common != filepath.Join(named, ".git") || r.created == "" {
		t.Errorf("the repository is %+v", r)
	}
	if !isGone(ran) {
		t.Error("a program of the repository was started")
	}
	before, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if w.Remember(); !w.isRemembered() {
		t.Error("what was remembered is not")
	}
	if after, err := os.Stat(file); err != nil || !os.SameFile(before, after) {
		t.Errorf("the file was written again: %v", err)
	}
}
