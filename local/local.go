// Package local opens a workspace on this machine. It is the front door for
// programs that use handoff.
package local

import (
	"cmp"
	"crypto/rand"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/config"
	"github.com/agent-handoff/handoff/filelog"
)

// A Workspace is an open workspace. Close it when done.
type Workspace struct {
	*handoff.Hub
	config.Workspace
	Config config.Config
	Log    *filelog.Log

	files *os.Root
	now   func() time.Time
	rand  io.Reader
}

// Options are what Open takes from its caller; the zero value is good.
type Options struct {
	Getenv func(string) string // nil for no environment
	Now    func() time.Time    // nil for the system's clock
	Rand   io.Reader           // nil for the system's randomness
	Checks []handoff.Check
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
	files, err := os.OpenRoot(found.Root)
	if err != nil {
		return nil, &handoff.Error{Op: "open workspace", Name: found.Root, Kind: handoff.Unavailable, Err: err}
	}
	w := &Workspace{Workspace: found, Config: settings, Log: filelog.Open(found.Runtime, o.Rand), files: files,
		now: o.Now, rand: o.Rand}
	w.Hub = handoff.New(w.Log, handoff.NewMemory(), handoff.Options{
		Now: o.Now, Rand: o.Rand, Files: files, Checks: o.Checks,
		Runtime: w.runtime, RuntimePath: below(found.Root, found.Runtime),
		DigestLimit: int64(settings.Limits.Digest),
	})
	return w, nil
}

// Close releases what Open holds.
func (w *Workspace) Close() error { return w.files.Close() }

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
