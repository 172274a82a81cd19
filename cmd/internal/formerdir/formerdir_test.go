package formerdir

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

var (
	hex64  = strings.Repeat("0a", 32)
	sqlite = "SQLite format 3\x00" + strings.Repeat("\x01", 8192)
	log    = strings.Repeat("7f", 16)
)

// ourFiles are what an earlier version leaves in its directories.
var ourFiles = map[string]map[string]string{
	"settings": {"trust/" + hex64: "workspace /repo/.handoff\nlog git+ssh://host/x\n", "trust/.handoff-1-2-x": ""},
	"cache": {log + "/index.db": sqlite, log + "/index.db-wal": "", log + "/index.db-shm": "x",
		log + "/index.lock":    "12\n",
		"other_Log-1/index.db": sqlite, "other_Log-1/index.db.damaged": "x", "threads/threads-0123456789abcdef.db": sqlite},
	"state": {"init.json": "{\n  \"edits\": []\n}\n", "workspaces": "/a\n/b c\n",
		"clients/codex.json":           `{"lastHook":"2026-11-01T00:00:00Z"}`,
		"clients/gemini.sessions.json": `[{"process":{"pid":1},"session":"s"}]`},
	"all in one": {"trust/" + hex64: "workspace /w\nlog file:/l\n", "init.json": "{\n  \"edits\": null\n}\n",
		"threads/threads-0123456789abcdef.db": sqlite},
}

// foreignFiles are added to a directory of handoff, or are all that is in it.
var foreignFiles = map[string]string{
	"config.toml":                "x = 1\n",
	"trust/README":               "x",
	"trust/" + hex64 + ".pub":    "workspace /w\nlog x\n",
	"sessions/index.db":          "not a database",
	log + "/index.html":          "<html>",
	"threads/threads-1.db":       database,
	"workspaces.bak":             "/a\n",
	"clients/codex/session.json": "{}",
	"clients/other.json":         `{"name":"mine"}`,
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755),
			os.WriteFile(file, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// tree returns what is in a directory: files with their content, links with theirs.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, file)
		switch {
		case d.IsDir():
			all[rel] = "directory"
		case d.Type()&fs.ModeSymlink != 0:
			content, err := os.Readlink(file)
			all[rel] = "link to " + content
			return err
		default:
			b, err := os.ReadFile(file)
			all[rel] = string(b)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func names(dir string) (former, present string) {
	return filepath.Join(dir, "handoff"), filepath.Join(dir, "agent-handoff")
}

// checkMoved checks that both names lead to the files, and which one is a link.
func checkMoved(t *testing.T, dir, link string, files map[string]string) {
	t.Helper()
	former, present := names(dir)
	for _, name := range []string{former, present} {
		for file, want := range files {
			if got, err := os.ReadFile(filepath.Join(name, file)); err != nil || string(got) != want {
				t.Errorf("%s: %.40q, %v, want %.40q", filepath.Join(name, file), got, err, want)
			}
		}
	}
	info, err := os.Lstat(filepath.Join(dir, link))
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("%s is not a link: %v, %v", link, info, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("the directory has %v, want the two names: %v", entries, err)
	}
}

func TestMove(t *testing.T) {
	for what, files := range ourFiles {
		dir := t.TempDir()
		former, present := names(dir)
		write(t, former, files)
		for range 2 {
			if err := move(former, present, exchange); err != nil {
				t.Errorf("%s: %v", what, err)
			}
			checkMoved(t, dir, "handoff", files)
		}
	}
}

// TestDirectories moves the directories that the environment names, below a home
// that is a link.
func TestDirectories(t *testing.T) {
	real, home := t.TempDir(), filepath.Join(t.TempDir(), "home")
	if err := os.Symlink(real, home); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(real, "config/handoff"), ourFiles["settings"])
	write(t, filepath.Join(real, "cache/handoff"), ourFiles["cache"])
	write(t, filepath.Join(real, "state/handoff"), ourFiles["state"])
	env := map[string]string{"XDG_CONFIG_HOME": home + "/config", "XDG_CACHE_HOME": home + "/cache",
		"XDG_STATE_HOME": home + "/state"}
	Move(func(name string) string { return env[name] })
	checkMoved(t, filepath.Join(real, "config"), "handoff", ourFiles["settings"])
	checkMoved(t, filepath.Join(real, "cache"), "handoff", ourFiles["cache"])
	checkMoved(t, filepath.Join(real, "state"), "handoff", ourFiles["state"])
	Move(func(string) string { return "" })
}

// TestForeignDirectories leaves directories of other programs alone, byte for byte.
func TestForeignDirectories(t *testing.T) {
	cases := map[string]func(dir string){
		"empty":              func(dir string) { os.MkdirAll(dir, 0o755) },
		"an empty directory": func(dir string) { os.MkdirAll(filepath.Join(dir, "projects"), 0o755) },
		"ours and an empty one": func(dir string) {
			write(t, dir, ourFiles["state"])
			os.Mkdir(filepath.Join(dir, "projects"), 0o755)
		},
		"a file":                func(dir string) { os.WriteFile(dir, []byte("{\n  \"edits\": []}"), 0o644) },
		"only a lock":           func(dir string) { write(t, dir, map[string]string{"x/index.lock": ""}) },
		"only a temporary file": func(dir string) { write(t, dir, map[string]string{".handoff-1-2-x": ""}) },
		"ours and a link": func(dir string) {
			write(t, dir, ourFiles["state"])
			os.Symlink("workspaces", filepath.Join(dir, "clients", "claude.json"))
		},
		"ours and a deeper one": func(dir string) {
			write(t, dir, ourFiles["cache"])
			os.MkdirAll(filepath.Join(dir, "threads", "a"), 0o755)
		},
		"ours and a named pipe": func(dir string) {
			write(t, dir, ourFiles["state"])
			syscall.Mkfifo(filepath.Join(dir, "clients", "claude.json"), 0o600)
		},
		"a link to nowhere": func(dir string) { os.Symlink("/nonexistent", dir) },
		"a link to itself":  func(dir string) { os.Symlink("handoff", dir) },
		"a directory, unreadable": func(dir string) {
			write(t, dir, map[string]string{"notes.md": "x"})
			os.Chmod(dir, 0o300)
		},
	}
	for name, content := range foreignFiles {
		cases["only "+name] = func(dir string) { write(t, dir, map[string]string{name: content}) }
		for what, files := range ourFiles {
			cases[what+" and "+name] = func(dir string) { write(t, dir, files); write(t, dir, map[string]string{name: content}) }
		}
	}
	for what, build := range cases {
		dir := t.TempDir()
		former, present := names(dir)
		build(former)
		info, err := os.Lstat(former)
		if err != nil {
			t.Fatal(err)
		}
		readable := !strings.Contains(what, "unreadable") && !strings.Contains(what, "pipe")
		var before map[string]string
		if readable {
			before = tree(t, dir)
		}
		if err := move(former, present, exchange); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := os.Lstat(present); err == nil {
			t.Errorf("%s: %s was created", what, present)
		}
		if now, err := os.Lstat(former); err != nil || !os.SameFile(now, info) {
			t.Errorf("%s: %s was replaced: %v", what, former, err)
		}
		if readable && !maps.Equal(tree(t, dir), before) {
			t.Errorf("%s: the directory changed", what)
		}
		os.Chmod(former, 0o700) // so that it can be removed
	}
}

// TestInterruptedMove continues after a process that died between its two steps, and
// removes what it left if the directory is gone or foreign since.
func TestInterruptedMove(t *testing.T) {
	for what, files := range map[string]map[string]string{"ours": ourFiles["state"], "gone": nil,
		"foreign": {"notes.md": "x"}} {
		dir := t.TempDir()
		former, present := names(dir)
		write(t, former, files)
		if err := os.Symlink("agent-handoff", present); err != nil {
			t.Fatal(err)
		}
		if err := move(former, present, exchange); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if what == "ours" {
			checkMoved(t, dir, "handoff", files)
			continue
		}
		if _, err := os.Lstat(present); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the link to itself was left: %v", what, err)
		}
	}
}

// TestDirectoryThatCannotMove makes the present name a link where names can't be
// exchanged, and where the user has moved the directory to another place.
func TestDirectoryThatCannotMove(t *testing.T) {
	dir := t.TempDir()
	former, present := names(dir)
	write(t, former, ourFiles["cache"])
	busy := func(a, b string) error { return &os.LinkError{Op: "rename", Old: a, New: b, Err: syscall.EBUSY} }
	if err := move(former, present, busy); err != nil {
		t.Fatal(err)
	}
	checkMoved(t, dir, "agent-handoff", ourFiles["cache"])

	dir, elsewhere := t.TempDir(), t.TempDir()
	former, present = names(dir)
	write(t, elsewhere, ourFiles["cache"])
	if err := os.Symlink(elsewhere, former); err != nil {
		t.Fatal(err)
	}
	if err := move(former, present, exchange); err != nil {
		t.Fatal(err)
	}
	checkMoved(t, dir, "agent-handoff", ourFiles["cache"])
}

// TestBothNames leaves both directories alone where each version has its own.
func TestBothNames(t *testing.T) {
	dir := t.TempDir()
	former, present := names(dir)
	write(t, former, ourFiles["state"])
	write(t, present, map[string]string{"workspaces": "/new\n"})
	before := tree(t, dir)
	if err := move(former, present, exchange); err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(tree(t, dir), before) {
		t.Errorf("%v, want %v", slices.Sorted(maps.Keys(tree(t, dir))), slices.Sorted(maps.Keys(before)))
	}
}

// TestConcurrentMoves moves a directory from many processes at once, while an earlier
// version reads and writes under the former name: no file is ever missing there.
func TestConcurrentMoves(t *testing.T) {
	for round := range 50 {
		dir := t.TempDir()
		former, present := names(dir)
		write(t, former, ourFiles["state"])
		var movers, readers sync.WaitGroup
		done := make(chan struct{})
		readers.Go(func() {
			for i := 0; ; i++ {
				if _, err := os.ReadFile(filepath.Join(former, "workspaces")); err != nil {
					t.Errorf("round %d: %v", round, err)
					return
				}
				if err := os.WriteFile(filepath.Join(former, "clients", "pi.json"), fmt.Appendf(nil, `{"lastCall":%d}`, i),
					0o600); err != nil {
					t.Errorf("round %d: %v", round, err)
					return
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
		for range 8 {
			movers.Go(func() {
				if err := move(former, present, exchange); err != nil {
					t.Errorf("round %d: %v", round, err)
				}
				if _, err := os.ReadFile(filepath.Join(present, "workspaces")); err != nil {
					t.Errorf("round %d: after the move: %v", round, err)
				}
			})
		}
		movers.Wait()
		close(done)
		readers.Wait()
		checkMoved(t, dir, "handoff", ourFiles["state"])
	}
}

// TestReadOnlyParent leaves the directory where it is.
func TestReadOnlyParent(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root can write to every directory")
	}
	dir := t.TempDir()
	former, present := names(dir)
	write(t, former, ourFiles["state"])
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o700)
	if err := move(former, present, exchange); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("%v, want a permission error", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}
