package workspace

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"

	"github.com/agent-handoff/handoff/internal/log/localstate"
)

var background = context.Background()

func testWorkspace(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	must(t, os.WriteFile(filepath.Join(dir, "a.md"), []byte("text"), 0o666))
	return dir
}

// optionsFor names the workspace, so that none above it is found, and the given
// variables.
func optionsFor(dir string, vars ...string) Options {
	env := map[string]string{"HANDOFF_WORKSPACE": dir}
	for i := 0; i < len(vars); i += 2 {
		env[vars[i]] = vars[i+1]
	}
	return Options{Getenv: func(name string) string { return env[name] }}
}

func openDir(t *testing.T, dir string) *Workspace {
	t.Helper()
	w, err := Open(dir, optionsFor(dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// publishSome publishes n times, without a warning, and closes the workspace.
func publishSome(t *testing.T, dir string, n int) {
	t.Helper()
	w := openDir(t, dir)
	defer w.Close()
	var last []string
	for i := range n {
		d := handoff.Draft{Path: "a.md", Channel: "design", Title: "Retry policy " + fmt.Sprint(i)}
		if i%3 == 2 {
			d.Replaces = last
		}
		p, err := w.Publish(t.Context(), d)
		if err != nil || len(p.Warnings) > 0 {
			t.Fatalf("Publish = %v, warnings %q", err, p.Warnings)
		}
		last = []string{p.Artifact.ID}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func size(t *testing.T, file string) int64 {
	t.Helper()
	info, err := os.Stat(file)
	must(t, err)
	return info.Size()
}

// flip inverts a bit of the file at an offset.
func flip(t *testing.T, file string, offset int64) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	b := make([]byte, 1)
	_, err = f.ReadAt(b, offset)
	must(t, err)
	b[0] ^= 1
	_, err = f.WriteAt(b, offset)
	must(t, err)
}

// alter changes a record in the index, wherever the file has it.
func alter(t *testing.T, _, file string) {
	t.Helper()
	b, err := os.ReadFile(file)
	must(t, err)
	altered := bytes.ReplaceAll(b, []byte(`"title":"Retry policy 7`), []byte(`"title":"Retry policy 8`))
	if bytes.Equal(b, altered) {
		t.Fatalf("the record is nowhere in %s", file)
	}
	must(t, os.WriteFile(file, altered, 0o600))
}

// badPages overwrites the beginning of every page but the first.
func badPages(t *testing.T, _, file string) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	for at := int64(4096); at < size(t, file); at += 4096 {
		_, err := f.WriteAt([]byte{0xA5, 0x5A, 0xA5}, at)
		must(t, err)
	}
}

// noLock puts a directory where the lock file belongs.
func noLock(t *testing.T, dir string) {
	t.Helper()
	must(t, os.Remove(filepath.Join(dir, localstate.LockName)))
	must(t, os.Rename(filepath.Join(dir, "lock"), filepath.Join(dir, localstate.LockName)))
}

func query(t *testing.T, file, text string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+file)
	must(t, err)
	defer db.Close()
	if _, err := db.Exec(text); err != nil {
		t.Logf("%s: %v", text, err)
	}
}

// killedWriter leaves what a process leaves that is killed while it publishes.
func killedWriter(t *testing.T, runtime, _ string) {
	t.Helper()
	cmd := again(filepath.Dir(runtime), "LOCAL_TEST_PUBLISH=100000")
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	_, err = out.Read(make([]byte, 1))
	must(t, err)
	must(t, cmd.Process.Kill())
	cmd.Wait()
}

// lockedByTheDead leaves what a process leaves that is killed while it holds
// the index's write lock, in the midst of a change.
func lockedByTheDead(t *testing.T, runtime, _ string) {
	t.Helper()
	cmd := lockIndex(t, runtime)
	must(t, cmd.Process.Kill())
	cmd.Wait()
}

// lockIndex starts a process that holds the index's write lock.
func lockIndex(t *testing.T, runtime string) *exec.Cmd {
	t.Helper()
	cmd := again(filepath.Dir(runtime), "LOCAL_TEST_LOCK=1")
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatalf("the lock was not taken: %v", err)
	}
	return cmd
}

// holdIndex takes the write lock of the index, changes much, says so, and waits
// for its end.
func holdIndex(dir string) int {
	runtime := filepath.Join(dir, ".handoff")
	lock, err := os.OpenFile(filepath.Join(runtime, localstate.LockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return 1
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_SH); err != nil {
		return 1
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(runtime, localstate.FileName)+"?_pragma=cache_size(1)")
	if err != nil {
		return 1
	}
	db.SetMaxOpenConns(1)
	for _, q := range []string{"BEGIN IMMEDIATE", "DELETE FROM artifacts", "UPDATE place SET seq = 0",
		"CREATE TABLE big AS SELECT zeroblob(1000000)"} {
		if _, err := db.Exec(q); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	os.Stdout.WriteString("locked")
	time.Sleep(time.Hour) // select {} would be a deadlock
	return 1
}
