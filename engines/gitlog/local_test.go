package gitlog

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/workspace"
)

// privateRepository returns the private repository in a runtime directory or cache.
func privateRepository(t *testing.T, dir string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "git", "*", "HEAD"))
	if err != nil || len(found) != 1 {
		t.Fatalf("private repositories: %q, %v, want one", found, err)
	}
	return filepath.Dir(found[0])
}

// TestLeftByKilledGit leaves in the private repository what a git does that died: the
// next command of this machine works.
func TestLeftByKilledGit(t *testing.T) {
	for _, name := range []string{"fast_import_crash_4711", "refs/handoff/next.lock", "refs/handoff/fetched.lock"} {
		url, runtime := server(t), t.TempDir()
		logtest.Append(t, openAt(t, url, runtime), "first.md")
		file := filepath.Join(privateRepository(t, runtime), filepath.FromSlash(name))
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		logtest.Append(t, machine(t, url), "second.md")
		l := openAt(t, url, runtime)
		if n := len(logtest.Collect(t, l, 0)); n != 2 {
			t.Errorf("with %s: %d records, want 2", name, n)
		}
		logtest.Append(t, l, "third.md")
	}
}

// TestRemoteURL holds that the URL of a remote is the one from which git would fetch.
func TestRemoteURL(t *testing.T) {
	work := t.TempDir()
	git(t, work, "init", "-q")
	git(t, work, "init", "-q", "--bare", "one.git")
	git(t, work, "init", "-q", "--bare", filepath.Join("sub", "two.git"))
	for _, tt := range []struct {
		add         []string
		fetch, push string
	}{
		{[]string{"one.git"}, "one.git", "one.git"},
		{[]string{"./one.git"}, "one.git", "one.git"},
		{[]string{"one.git", "sub/two.git"}, "one.git", "one.git"},
		{[]string{"sub/two.git", "one.git"}, "sub/two.git", "sub/two.git"},
		{[]string{filepath.Join(work, "one.git"), "--push", "sub/two.git"}, "one.git", "sub/two.git"},
	} {
		git(t, work, "remote", "add", "origin", tt.add[0])
		if len(tt.add) > 1 {
			git(t, work, append([]string{"remote", "set-url", "--add"},
				append(tt.add[1:len(tt.add)-1:len(tt.add)-1], "origin", tt.add[len(tt.add)-1])...)...)
		}
		r, err := Open(Options{Remote: "origin", Work: work, Name: "default"}).connect(t.Context())
		if err != nil || r.fetch != filepath.Join(work, tt.fetch) || r.push != filepath.Join(work, tt.push) {
			t.Errorf("%q: fetches from %s and pushes to %s, %v", tt.add, r.fetch, r.push, err)
		}
		git(t, work, "remote", "remove", "origin")
	}
	for _, other := range []string{"https://host/x.git", "git@host:team/x.git", "host:x.git", "/srv/x.git",
		"ssh://host/x"} {
		if got := (&Log{o: Options{Work: work}}).absolute(other); got != other {
			t.Errorf("absolute(%s) = %s", other, got)
		}
	}
}

// TestPasswordInURL holds that no error shows a password, also of a URL that git
// accepts and that is not a URL by its standard.
func TestPasswordInURL(t *testing.T) {
	const password = `tok en"%zz@x`
	work := t.TempDir()
	git(t, work, "init", "-q")
	git(t, work, "remote", "add", "origin", "http://user:"+password+"@127.0.0.1:1/x.git")
	l := Open(Options{Remote: "origin", Work: work, Name: "default", Runtime: t.TempDir()})
	defer l.Close()
	_, err := l.Newest(t.Context())
	if !errors.Is(err, handoff.Unavailable) || strings.Contains(err.Error(), "tok") ||
		strings.Contains(err.Error(), "user") {
		t.Errorf("Newest = %v, want kind Unavailable without the password", err)
	}
}

// A site is a machine with a directory, a home and a cache of its own.
type site struct{ dir, home string }

func newSite(t *testing.T) site { return site{t.TempDir(), t.TempDir()} }

func (s site) open(t *testing.T, url string) *workspace.Workspace {
	t.Helper()
	env := map[string]string{"HANDOFF_WORKSPACE": s.dir, "HANDOFF_LOG": "git:" + url + "?poll=0s", "HOME": s.home,
		"XDG_CACHE_HOME": filepath.Join(s.home, "cache"), "XDG_STATE_HOME": filepath.Join(s.home, "state")}
	w, err := workspace.Open(s.dir, workspace.Options{Backends: Backends, Getenv: func(name string) string {
		return env[name]
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// TestReadOnlyMachine has a machine that only reads: it keeps the history in the cache,
// answers without the server, and goes on from there when it publishes.
func TestReadOnlyMachine(t *testing.T) {
	url := server(t)
	writer, reader := newSite(t), newSite(t)
	first := publish(t, writer.open(t, url), "first", "one", nil)
	list := func(want int) *workspace.Workspace {
		t.Helper()
		w := reader.open(t, url)
		page, err := w.List(t.Context(), workspace.ListOptions{})
		if err != nil || len(page.Artifacts) != want {
			t.Errorf("List = %d artifacts, %v, want %d", len(page.Artifacts), err, want)
		}
		return w
	}
	list(1)
	if _, err := os.Stat(filepath.Join(reader.dir, ".handoff")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("reading created a runtime directory: %v", err)
	}
	kept := privateRepository(t, filepath.Join(reader.home, "cache", "agent-handoff"))
	if err := os.Rename(url, url+".away"); err != nil {
		t.Fatal(err)
	}
	w := list(1)
	b, err := w.Read(t.Context(), first.ID, workspace.ReadOptions{})
	if err != nil {
		t.Errorf("Read without the server = %v", err)
	} else {
		b.Close()
	}
	publish(t, reader.open(t, url), "queued", "two", nil)
	list(2)
	if err := os.Rename(url+".away", url); err != nil {
		t.Fatal(err)
	}
	publish(t, reader.open(t, url), "third", "three", nil)
	list(3)
	if again := privateRepository(t, filepath.Join(reader.home, "cache", "agent-handoff")); again != kept {
		t.Errorf("the private repository is %s, and was %s", again, kept)
	}
}

// TestRollback sets the repository of the server back.
func TestRollback(t *testing.T) {
	url, sites := server(t), map[string]site{}
	as := func(machine string, do func(w *workspace.Workspace) error) error {
		if sites[machine].dir == "" {
			sites[machine] = newSite(t)
		}
		w := sites[machine].open(t, url)
		return errors.Join(do(w), w.Close())
	}
	logtest.Rollback{
		Publish: func(machine string) error {
			return as(machine, func(w *workspace.Workspace) error {
				_, err := w.Publish(t.Context(), handoff.Draft{Body: strings.NewReader("x"), Filename: "a.md",
					Channel: "design", Title: machine})
				return err
			})
		},
		List: func(machine string) error {
			return as(machine, func(w *workspace.Workspace) error {
				_, err := w.List(t.Context(), workspace.ListOptions{})
				return err
			})
		},
		Accept: func(machine string) error {
			return as(machine, func(w *workspace.Workspace) error {
				_, err := w.Store().Repair(t.Context(), time.Now())
				return err
			})
		},
		Save: func() func() {
			saved := filepath.Join(t.TempDir(), "saved")
			if err := os.CopyFS(saved, os.DirFS(url)); err != nil {
				t.Fatal(err)
			}
			return func() {
				if err := errors.Join(os.RemoveAll(url), os.CopyFS(url, os.DirFS(saved))); err != nil {
					t.Fatal(err)
				}
			}
		},
	}.Run(t, 2)
}
