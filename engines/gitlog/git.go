package gitlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	gitcmd "github.com/agent-handoff/handoff/internal/tool/git"
	"github.com/agent-handoff/handoff/internal/tool/plainfile"
)

// A repository is the private bare repository that records are fetched into and
// pushed from. Only this package writes to it.
type repository struct {
	dir         string
	options     []string // before the command, on every command line
	env         []string
	fetch, push string        // URLs, as they were written
	from, to    string        // the same without passwords, for git's arguments
	timeout     time.Duration // of one command
	other       bool          // it is the repository that contains dir, which is only read
}

// settings is the configuration file of a private repository. Another file could
// name programs, so it is replaced.
const settings = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n"

// expected are the names that a private repository may contain. Other names would
// change what git reads: another configuration, grafts, hooks.
var expected = []string{"HEAD", "config", "objects", "refs", "info", "packed-refs", "FETCH_HEAD", "ORIG_HEAD", "gc.pid",
	"gc.log", "logs",
	"fetch.lock", "append.lock", "config.lock", "packed-refs.lock", "gc.pid.lock", "gc.log.lock", verifiedName}

// crashReport begins the names of the files that git fast-import leaves when it dies,
// such as on a full disk.
const crashReport = "fast_import_crash_"

// create creates the private repository in dir, unless it exists, and verifies
// that it is one that this package created.
func (r *repository) create() error {
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return r.failure("create private repository", durable.Reason(err))
	}
	if err := r.check(); err != nil {
		return err
	}
	b, err := plainfile.Read(filepath.Join(r.dir, "config"), int64(len(settings)))
	if err != nil || string(b) != settings { // before git reads it
		if err := r.writeFile("config", settings); err != nil {
			return err
		}
	}
	for _, name := range []string{"objects", "refs"} {
		if err := os.Mkdir(filepath.Join(r.dir, name), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return r.failure("create private repository", durable.Reason(err))
		}
	}
	if _, err := os.Lstat(filepath.Join(r.dir, "HEAD")); err != nil {
		// last: with it, the repository is complete
		if err := r.writeFile("HEAD", "ref: refs/heads/none\n"); err != nil {
			return err
		}
	}
	f, err := r.openLock("fetch.lock") // a repository that can't be written is of no use
	if err != nil {
		return err
	}
	return f.Close()
}

// writeFile replaces a file of the private repository.
func (r *repository) writeFile(name, text string) error {
	root, err := os.OpenRoot(r.dir)
	if err == nil {
		err = durable.Replace(root, name, func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
		root.Close()
	}
	if err != nil {
		return r.failure("write private repository", durable.Reason(err))
	}
	return nil
}

// check refuses a repository with files that this package does not create. A
// cloned repository can contain a runtime directory.
func (r *repository) check() error {
	refused := func(err error) error {
		return handoff.E("open private repository", r.dir, handoff.Corrupt, err,
			handoff.Advice("rename it; another one is created"))
	}
	unexpected := func(name string) error { return refused(fmt.Errorf("has an unexpected file %q", name)) }
	if err := plainfile.CheckDir(r.dir); err != nil {
		return refused(durable.Reason(err))
	}
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		return r.failure("open private repository", durable.Reason(err))
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), crashReport) && e.Type().IsRegular() {
			_ = os.Remove(filepath.Join(r.dir, e.Name())) // it names nothing that git reads
			continue
		}
		known := slices.Contains(expected, e.Name()) || durable.IsTemporary(e.Name())
		if !known || (!e.IsDir() && !e.Type().IsRegular()) {
			return unexpected(e.Name())
		}
	}
	// git would follow links in them
	for _, name := range []string{"objects", "objects/info", "objects/pack", "refs", "refs/handoff"} {
		entries, err := os.ReadDir(filepath.Join(r.dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return unexpected(name)
		}
		for _, e := range entries {
			if !e.IsDir() && !e.Type().IsRegular() {
				return unexpected(name + "/" + e.Name())
			}
		}
	}
	info, err := os.ReadDir(filepath.Join(r.dir, "info"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return r.failure("open private repository", durable.Reason(err))
	}
	for _, e := range info { // git gc lists the refs there; grafts would change the history
		if e.Name() != "refs" || !e.Type().IsRegular() {
			return unexpected("info/" + e.Name())
		}
	}
	for _, name := range []string{"objects/info/alternates", "objects/info/http-alternates"} {
		if _, err := os.Lstat(filepath.Join(r.dir, name)); err == nil {
			return unexpected(name)
		}
	}
	return nil
}

// alwaysOptions keep git from running a program that a repository names, and
// from doing more than it is asked to. Fetched objects are checked.
var alwaysOptions = []string{"--no-pager", "--no-optional-locks",
	"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false",
	"-c", "fetch.fsckObjects=true", "-c", "transfer.fsckObjects=true", "-c", "fetch.writeCommitGraph=false",
	"-c", "gc.autoDetach=false", "-c", "repack.updateServerInfo=false", "-c", "maintenance.autoDetach=false",
	"-c", "push.followTags=false", "-c", "push.gpgSign=false", "-c", "submodule.recurse=false",
	"-c", "http.lowSpeedLimit=100", "-c", "http.lowSpeedTime=30"}

// command returns a git command in the private repository.
func (r *repository) command(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "git", slices.Concat(alwaysOptions, r.options, args)...)
	c.Dir = r.dir
	c.Env = append(gitcmd.Environ(c.Environ()), r.env...)
	if !r.other {
		c.Env = append(c.Env, "GIT_DIR="+r.dir)
	}
	c.Env = append(c.Env, "GIT_ALLOW_PROTOCOL=file:git:http:https:ssh", "GIT_TERMINAL_PROMPT=0",
		"GIT_NO_REPLACE_OBJECTS=1", "LC_ALL=C")
	// git then removes its temporary files and locks
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = 5 * time.Second // a transport may keep the pipes open
	return c
}

var errNoGit = errors.New("git is not installed")

// git runs git with an input, which may be nil, and returns what it printed. Kinds:
// Unavailable; the context's error if it ended.
func (r *repository) git(ctx context.Context, in io.Reader, args ...string) (string, error) {
	limited, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	c := r.command(limited, args...)
	var stdout, stderr bytes.Buffer
	c.Stdin = in
	c.Stdout = &stdout
	c.Stderr = &stderr
	err := c.Run()
	op := "git " + c.Args[1+len(alwaysOptions)+len(r.options)]
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.Is(err, exec.ErrNotFound):
		return "", handoff.E("open log", "", handoff.Unavailable, errNoGit,
			handoff.Advice("install git, or choose another log"))
	case limited.Err() != nil:
		return "", r.failure(op, fmt.Errorf("no answer within %v", r.timeout))
	case err != nil:
		return "", r.failure(op, r.reason(stdout.String()+"\n"+stderr.String(), err))
	}
	return strings.TrimSpace(stdout.String()), nil
}

// unlock removes the lock of a ref of the private repository that a killed git has
// left. The caller has the lock under which the ref is written, so no other process of
// this package is writing it.
func (r *repository) unlock(ref string) {
	_ = os.Remove(filepath.Join(r.dir, filepath.FromSlash(ref)+".lock")) // otherwise git reports it
}

// reason returns the most specific line of what git printed, without the
// credentials of URLs.
func (r *repository) reason(printed string, err error) error {
	best := ""
	for line := range strings.Lines(printed) {
		line = strings.TrimSpace(line)
		switch {
		case line == "", strings.HasPrefix(line, "hint:"), strings.HasPrefix(line, "To "), line == "Done",
			isObject(line):
		case best == "", strings.HasPrefix(line, "fatal: ") && !isVague(line), strings.HasPrefix(line, "!"):
			best = line
		}
	}
	if _, rejected, found := strings.Cut(best, "\t["); found { // "!", the refs, and why
		best = "[" + rejected
	}
	if best == "" {
		return err
	}
	for _, url := range []string{r.fetch, r.push} {
		best = strings.ReplaceAll(best, url, redact(url))
	}
	return errors.New(strings.TrimPrefix(best, "fatal: "))
}

// isObject reports whether a line is the ID of an object.
func isObject(line string) bool {
	return len(line) == len(noObject) && strings.Trim(line, "0123456789abcdef") == ""
}

// isVague reports whether a line only states that a connection ended. The server also
// prints one, over ssh, when git has ended because of something else.
func isVague(line string) bool {
	return strings.HasPrefix(line, "fatal: Could not read from remote") ||
		strings.HasPrefix(line, "fatal: the remote end hung up")
}

func (r *repository) failure(op string, err error) error {
	return handoff.E(op, redact(r.fetch), handoff.Unavailable, err,
		handoff.Advice("check that git can read and write this repository, and try again"))
}

func (r *repository) openLock(name string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(r.dir, name), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, r.failure("lock", durable.Reason(err))
	}
	return f, nil
}

// locked runs do while no other process has the lock with a name.
func (r *repository) locked(ctx context.Context, name string, do func() error) error {
	f, err := r.openLock(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := durable.Lock(ctx, f, syscall.LOCK_EX, 2*r.timeout); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return r.failure("lock", err)
	}
	return do()
}
