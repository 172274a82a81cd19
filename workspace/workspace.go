// Package workspace opens a workspace on this machine. It is the front door for
// programs that use handoff.
package workspace

import (
	"cmp"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/config"
	"github.com/agent-handoff/handoff/internal/content"
	"github.com/agent-handoff/handoff/internal/filelog"
	"github.com/agent-handoff/handoff/internal/session"
)

// A Workspace is an open workspace. Close it when done.
type Workspace struct {
	*handoff.Hub
	config.Workspace
	Config config.Config
	Log    *filelog.Log
	Bodies *filelog.Bodies

	files     *os.Root
	published *content.Files // what artifacts point at, in files
	home      *os.Root       // below which the folders of sessions lie
	now       func() time.Time
	rand      io.Reader
	index     *index
	sessions  *session.Sessions

	sessionDir string // as the environment names it
}

// Options are what Open takes from its caller; the zero value is good.
type Options struct {
	Getenv func(string) string // nil for no environment
	Now    func() time.Time    // nil for the system's clock
	Rand   io.Reader           // nil for the system's randomness
	Checks []handoff.Check

	// Progress is told how far the index has come, while it catches up with
	// the log.
	Progress func(done, total handoff.Seq)
}

// Open opens the workspace that a directory belongs to. Nothing is written
// before something is published.
//
// Kinds: NotFound, Invalid (the settings), Unavailable.
func Open(dir string, o Options) (*Workspace, error) {
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Rand = cmp.Or[io.Reader](o.Rand, rand.Reader)
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	found, err := config.Find(dir, o.Getenv)
	if err != nil {
		return nil, err
	}
	settings, err := config.Load(found.Runtime)
	if err != nil {
		return nil, err
	}
	files, err := openRoot(found.Root)
	if err != nil {
		return nil, err
	}
	home, err := openRoot(found.Home())
	if err != nil {
		return nil, errors.Join(err, files.Close())
	}
	w := &Workspace{Workspace: found, Config: settings, Log: filelog.Open(found.Runtime, o.Rand), files: files, home: home, now: o.Now, rand: o.Rand,
		sessionDir: config.SessionDir(o.Getenv, dir)}
	w.index = &index{log: w.Log, runtime: found.Runtime, dirs: indexDirs(found.Runtime, o.Getenv), progress: o.Progress}
	w.Log.Passed = w.index.passed
	w.Bodies = w.Log.Bodies()
	w.published = &content.Files{
		Root: w.files, Now: o.Now, Runtime: w.runtime, RuntimePath: below(found.Root, found.Runtime),
		Linked: found.Linked, Worktree: found.Worktree, SessionDir: w.DirOf,
		Keep: settings.Keep, DigestLimit: int64(settings.Limits.Digest),
	}
	w.Hub = handoff.New(w.Log, w.index, w.Bodies, handoff.Options{Now: o.Now, Rand: o.Rand, Checks: o.Checks, Files: w.published})
	w.sessions = session.New(w.Hub, session.Options{Files: home, Root: found.Root, Now: o.Now, Rand: o.Rand, Pending: w.index})
	return w, nil
}

// Close renders what is still to be rendered, and releases what Open holds.
func (w *Workspace) Close() error {
	w.sessions.Flush()
	return errors.Join(w.index.Close(), w.home.Close(), w.files.Close())
}

func openRoot(dir string) (*os.Root, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, &handoff.Error{Op: "open workspace", Name: dir, Kind: handoff.Unavailable, Err: err,
			Hint: handoff.Advice("--workspace and HANDOFF_WORKSPACE name another")}
	}
	return root, nil
}

// runtime opens the runtime directory, making it where it is missing.
func (w *Workspace) runtime() (*os.Root, error) {
	if err := w.Log.Make(); err != nil {
		return nil, err
	}
	return os.OpenRoot(w.Runtime)
}

// below returns the path of name below root, slash-separated, or "" where it
// lies elsewhere.
func below(root, name string) string {
	rel, err := filepath.Rel(root, name)
	if err != nil || !filepath.IsLocal(rel) {
		return ""
	}
	return filepath.ToSlash(rel)
}
