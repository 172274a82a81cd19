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
	if !IsGone(ran) {
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

// TestMoved checks that what the user has said stays when later lines fill the file, also through a
// symbolic link in its path, and that a file which can't be read is not replaced.
func TestMoved(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	getenv := func(name string) string { return map[string]string{"HOME": dir}[name] }
	own, link := filepath.Join(dir, "own"), filepath.Join(dir, "link")
	runGit(t, dir, "init", "-q", own)
	runGit(t, own, "commit", "-q", "--allow-empty", "-m", "first")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(link, "old")
	if err := SetMoved(t.Context(), getenv, old, own); err != nil {
		t.Fatal(err)
	}
	state := userdir.State(getenv)
	err = changeLines(t.Context(), state, directoriesName, maxDirectories, func() []string {
		lines := readDirectories(state).lines
		for i := range maxDirectories {
			lines = append(lines, fmt.Sprintf("/gone/%d\t/gone/%d/.git\t%d\t\t", i, i, i))
		}
		return lines
	})
	if list := MovedSettings(getenv); err != nil || len(list) != 1 || len(readDirectories(state).lines) != maxDirectories {
		t.Errorf("%v, moved is %v", err, list)
	}
	w, err := Find(own, getenv)
	if err != nil {
		t.Fatal(err)
	}
	if w.Gone()(old) || !slices.Contains(w.Worktrees(), filepath.Join(dir, "old")) {
		t.Errorf("%s is gone, or not in %q", old, w.Worktrees())
	}
	// gitweb asks for another description
	if err := os.WriteFile(filepath.Join(own, ".git", "description"), []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if w, err = Find(own, getenv); err != nil || !slices.Contains(w.Worktrees(), filepath.Join(dir, "old")) {
		t.Errorf("after the description was edited: %v, %q", err, w.Worktrees())
	}
	file := filepath.Join(state, directoriesName)
	if err := os.Rename(file, file+".kept"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file+".kept", file); err != nil {
		t.Fatal(err)
	}
	if err := SetMoved(t.Context(), getenv, filepath.Join(dir, "other"), own); err == nil {
		t.Error("a file that is a symbolic link was replaced")
	}
	if info, err := os.Lstat(file); err != nil || info.Mode().IsRegular() {
		t.Errorf("the file is %v, %v", info, err)
	}
}

// TestUnread checks that repositories whose root commits are unread are not taken for each other.
func TestUnread(t *testing.T) {
	dir := t.TempDir()
	d := readDirectories(dir)
	d.add("/gone/a\t/gone/a/.git\t1\t" + unread + "\t")
	d.add(dir + "\t" + dir + "\t\t" + unread + "\t")
	if home := d.home("/gone/a"); home != "" {
		t.Errorf("a directory that is gone is of %s", home)
	}
}

// TestClones checks that the threads of a repository that is gone are those of the clone that was remembered
// first, also if a later clone is in the place of the repository or in a former one.
func TestClones(t *testing.T) {
	dir := t.TempDir()
	place := func(name string) string { return filepath.Join(dir, name) }
	d := readDirectories(dir)
	add := func(at, name, created string) {
		if created == "" { // it exists
			common := filepath.Join(place(name), ".git")
			if err := os.MkdirAll(common, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(common, "description"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			created, _ = createdAt(common)
		}
		d.add(repository{filepath.Join(place(name), ".git"), created, "abc"}.line(place(at), ""))
	}
	add("old", "old", "1")
	add("now", "now", "1") // it was moved, and removed
	add("worktree", "now", "1")
	add("first", "first", "")
	add("old", "old", "")
	add("now", "now", "")
	if got, want := d.home(place("worktree")), filepath.Join(place("first"), ".git"); got != want {
		t.Errorf("a worktree of a repository that is gone is of %q, want %q", got, want)
	}
}
