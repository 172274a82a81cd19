package evidence

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/git"
)

// A repository is one of git in a temporary directory.
type repository struct {
	t   *testing.T
	dir string
}

// long is a time before every test.
var long = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func newRepository(t *testing.T, options ...string) repository {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := repository{t, dir}
	r.git(append([]string{"init", "-q"}, options...)...)
	r.write("a.txt", "a")
	r.write("sub/b.txt", "b")
	// git reads a file that is as young as its index, whatever the settings are
	r.must(os.Chtimes(r.path("a.txt"), long, long))
	r.commit()
	return r
}

func (r repository) git(args ...string) {
	r.t.Helper()
	c := exec.Command("git", append([]string{"-C", r.dir, "-c", "user.name=u", "-c", "user.email=u@example.com", "-c",
		"protocol.file.allow=always"}, args...)...)
	if out, err := c.CombinedOutput(); err != nil {
		r.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

func (r repository) commit() {
	r.t.Helper()
	r.git("add", "-A")
	r.git("commit", "-q", "-m", "change")
}

func (r repository) write(name, text string) {
	r.t.Helper()
	file := filepath.Join(r.dir, name)
	r.must(os.MkdirAll(filepath.Dir(file), 0o755))
	r.must(os.WriteFile(file, []byte(text), 0o644))
}

func (r repository) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r repository) path(name string) string { return filepath.Join(r.dir, name) }

func (r repository) tree() handoff.Tree {
	r.t.Helper()
	return r.state().Tree
}

func (r repository) state() *State {
	r.t.Helper()
	s, err := Trees{Git: Git(git.Run), Own: []string{".handoff", "out"}}.At(r.t.Context(), r.dir)
	r.must(err)
	return s
}

// TestTreeChanges checks that every change of the content of a worktree changes its
// digest.
func TestTreeChanges(t *testing.T) {
	for name, change := range map[string]func(r repository){
		"a modified file":         func(r repository) { r.write("a.txt", "x") },
		"a file of the same size": func(r repository) { r.write("sub/b.txt", "c") },
		"an untracked file":       func(r repository) { r.write("new.txt", "") },
		"a removed file":          func(r repository) { r.must(os.Remove(r.path("a.txt"))) },
		"a renamed file":          func(r repository) { r.must(os.Rename(r.path("a.txt"), r.path("c.txt"))) },
		"an executable file":      func(r repository) { r.must(os.Chmod(r.path("a.txt"), 0o755)) },
		"a symbolic link": func(r repository) {
			r.must(os.Remove(r.path("a.txt")))
			r.must(os.Symlink("a", r.path("a.txt")))
		},
		"a link that leads out": func(r repository) { r.must(os.Symlink("/etc/passwd", r.path("link"))) },
		"a pipe": func(r repository) {
			r.must(os.Remove(r.path("a.txt")))
			r.must(syscall.Mkfifo(r.path("a.txt"), 0o600))
		},
		"a directory in place of a file": func(r repository) {
			r.must(os.Remove(r.path("a.txt")))
			r.write("a.txt/x", "a")
		},
		"a file that git is set not to compare": func(r repository) {
			r.git("update-index", "--assume-unchanged", "a.txt")
			r.write("a.txt", "x")
		},
		"a file that git is set not to read": func(r repository) {
			r.git("update-index", "--skip-worktree", "a.txt")
			r.write("a.txt", "x")
		},
		"a change of the same time that settings hide": func(r repository) {
			r.git("config", "core.checkStat", "minimal")
			r.git("config", "core.trustctime", "false")
			time.Sleep(1100 * time.Millisecond) // git compares the seconds of the time of change
			r.write("a.txt", "x")
			r.must(os.Chtimes(r.path("a.txt"), long, long))
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t)
			before := r.tree()
			change(r)
			if after := r.tree(); after.Digest == before.Digest {
				t.Error("the digest is the same")
			}
		})
	}
}

// TestTreeSame checks what does not change the digest of a worktree.
func TestTreeSame(t *testing.T) {
	for name, change := range map[string]func(r repository){
		"staged":     func(r repository) { r.git("add", "-A") },
		"committed":  func(r repository) { r.commit() },
		"touched":    func(r repository) { r.must(os.Chtimes(r.path("a.txt"), consoleTime, consoleTime)) },
		"an ignored": func(r repository) { r.write("x.o", "x") },
		"own folder": func(r repository) { r.write(".handoff/log/1", "x"); r.write("out/x.md", "x") },
		"a repository inside": func(r repository) {
			r.must(os.MkdirAll(r.path("other"), 0o755))
			inner := repository{r.t, r.path("other")}
			inner.git("init", "-q")
			inner.write("x", "x")
			inner.commit()
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t)
			r.write(".gitignore", "*.o\n")
			r.write("a.txt", "modified")
			r.write("new.txt", "new")
			r.must(os.Symlink("a.txt", r.path("link")))
			before := r.tree()
			change(r)
			if after := r.tree(); after.Digest != before.Digest {
				t.Errorf("got %s, want %s", after.Digest, before.Digest)
			}
		})
	}
}

// TestTreeConverted checks that the digest of files that git converts is that of the
// files on the disk: it does not depend on the index.
func TestTreeConverted(t *testing.T) {
	for name, prepare := range map[string]func(r repository){
		"eol":      func(r repository) { r.write(".gitattributes", "*.txt text eol=crlf\n") },
		"auto":     func(r repository) { r.write(".gitattributes", "* text=auto\n*.go -text\n") },
		"autocrlf": func(r repository) { r.git("config", "core.autocrlf", "true") },
		"input":    func(r repository) { r.git("config", "core.autocrlf", "input") },
		"ident":    func(r repository) { r.write(".gitattributes", "*.txt ident\n") },
		"encoding": func(r repository) { r.write(".gitattributes", "*.txt working-tree-encoding=UTF-16LE\n") },
		"filter": func(r repository) {
			r.git("config", "filter.upper.clean", "tr a-z A-Z")
			r.write(".gitattributes", "*.txt filter=upper\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t)
			prepare(r)
			text := "$Id: x $ one\r\n"
			if name == "encoding" {
				text = "o\x00n\x00e\x00"
			}
			for _, file := range []string{"a.txt", "sub/b.txt", "new.txt"} {
				r.write(file, text)
			}
			want := r.tree().Digest
			for i, change := range []func(){
				r.commit,
				func() { r.must(os.Chtimes(r.path("new.txt"), consoleTime, consoleTime)) },
				func() { r.git("status") },
				func() { r.must(os.Chtimes(r.path("sub/b.txt"), long, long)) },
			} {
				if change(); r.tree().Digest != want {
					t.Errorf("change %d: the digest is another one", i)
				}
			}
			r.write("new.txt", text+text)
			if r.tree().Digest == want {
				t.Error("another content: the digest is the same")
			}
		})
	}
}

// TestTreeForms checks repositories of other forms: without a commit, with SHA-256, and
// with a submodule, whose changes count.
func TestTreeForms(t *testing.T) {
	empty := repository{t, t.TempDir()}
	empty.git("init", "-q")
	if tree := empty.tree(); tree.Digest == "" || tree.Commit != "" {
		t.Errorf("no commit: got %+v, want a digest", tree)
	}
	long := newRepository(t, "--object-format=sha256")
	long.write("a.txt", "x")
	before := long.tree()
	long.commit()
	if after := long.tree(); after.Digest != before.Digest || len(after.Commit) != 64 {
		t.Errorf("SHA-256: got %+v, want the digest of %+v", after, before)
	}
	inner, outer := newRepository(t), newRepository(t)
	outer.git("submodule", "--quiet", "add", inner.dir, "module")
	outer.commit()
	before = outer.tree()
	outer.write("module/a.txt", "changed in the submodule")
	if after := outer.tree(); after.Digest == before.Digest {
		t.Error("a change in a submodule: the digest is the same")
	}
	outer.git("-C", "module", "checkout", "-q", "a.txt")
	if after := outer.tree(); after.Digest != before.Digest {
		t.Error("a submodule as before: the digest is another one")
	}
}

// TestTreeSubdirectory checks that the tree of a directory is that of its worktree.
func TestTreeSubdirectory(t *testing.T) {
	r := newRepository(t)
	r.write("sub/out/x", "x")
	trees := Trees{Git: Git(git.Run), Own: []string{"out"}}
	before, err := trees.At(t.Context(), r.path("sub"))
	r.must(err)
	r.write("sub/out/x", "y")
	if same, _ := trees.At(t.Context(), r.path("sub")); same.Tree != before.Tree {
		t.Errorf("a folder of handoff: got %+v, want %+v", same, before)
	}
	r.write("a.txt", "x")
	if other, _ := trees.At(t.Context(), r.path("sub")); other.Digest == before.Digest {
		t.Error("a file outside the directory: the digest is the same")
	}
	if _, err := trees.At(t.Context(), t.TempDir()); !errors.Is(err, handoff.NotFound) {
		t.Errorf("no repository: got %v, want not found", err)
	}
}

// TestTreeRunsNothing checks that no program that the settings of a repository name is
// run.
func TestTreeRunsNothing(t *testing.T) {
	r := newRepository(t)
	ran := filepath.Join(t.TempDir(), "ran")
	r.git("config", "filter.x.clean", "touch "+ran)
	r.git("config", "core.fsmonitor", "touch "+ran)
	r.git("config", "diff.external", "touch "+ran)
	r.write(".git/hooks/post-index-change", "#!/bin/sh\ntouch "+ran+"\n")
	r.must(os.Chmod(r.path(".git/hooks/post-index-change"), 0o755))
	r.write(".gitattributes", "*.txt filter=x\n")
	r.write("a.txt", "changed")
	os.Remove(ran)
	r.tree()
	if _, err := os.Stat(ran); err == nil {
		t.Error("a program of the repository was run")
	}
}
