package workspace

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"path/filepath"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/config"
	"github.com/agent-handoff/handoff/internal/localstate"
	"github.com/agent-handoff/handoff/internal/logcopy"
)

// A LogCopy is what CopyLog did.
type LogCopy = logcopy.Result

// CopyLog appends to a log the records of another that it does not have, with their
// bodies. The locations are URLs as in HANDOFF_LOG; "file:" is the built-in log of the
// workspace that dir belongs to. Records keep their IDs, and the target has an ID of
// its own. If the copy ends early, the next one continues.
//
// Kinds: Invalid (a location), Conflict (the target is not the beginning of the
// source), Corrupt, Unavailable, Unsupported.
func CopyLog(ctx context.Context, dir string, o Options, from, to string) (result LogCopy, err error) {
	o.Getenv, o.Rand = o.environment(), cmp.Or[io.Reader](o.Rand, rand.Reader)
	if dir, err = filepath.Abs(dir); err != nil {
		return result, err
	}
	found, _, _, err := localstate.Find(dir, o.Getenv)
	if err != nil {
		return result, err
	}
	backend := BackendOptions{Root: found.Root, Runtime: found.Runtime, Rand: o.Rand, Getenv: o.Getenv}
	open := func(location string) (side logcopy.Side, remote bool, err error) {
		trusted := func() error { return nil } // the caller names it
		side.Log, side.Bodies, remote, err = localstate.OpenBackend(config.Config{Log: location}, o.Backends, trusted, backend)
		return side, remote, err
	}
	source, _, err := open(from)
	if err != nil {
		return result, err
	}
	target, remote, err := open(to)
	if err == nil {
		err = localstate.NewDir(found.Runtime, target.Log, o.Rand).Create(ctx)
	}
	c := logcopy.Options{Progress: o.Progress}
	if err == nil && remote {
		c.Origin, err = localstate.NewDir(found.Runtime, target.Log, o.Rand).NewOrigin()
	}
	if err == nil {
		result, err = logcopy.Copy(ctx, source, target, c)
	}
	return result, errors.Join(err, closeLog(source.Log), closeLog(target.Log))
}

func closeLog(log handoff.Log) error {
	if c, ok := log.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// A LogStatus describes the log of a workspace.
type LogStatus struct {
	Location string      `json:"log"` // without user name and password
	Source   string      `json:"source"`
	ID       string      `json:"id,omitempty"` // "" before the first record
	Remote   bool        `json:"remote"`       // other machines may use it
	Origin   string      `json:"origin,omitempty"`
	LastSeq  handoff.Seq `json:"lastSeq"`
}

// LogStatus asks the log for its newest record. Kinds: those of the log.
func (w *Workspace) LogStatus(ctx context.Context) (LogStatus, error) {
	s := LogStatus{Remote: w.remote}
	for _, setting := range w.settings.Settings() {
		if setting.Name == "log" {
			s.Location, s.Source = setting.Value, setting.Source
		}
	}
	var err error
	if s.Origin, err = w.runtimeDir.Origin(); err != nil {
		return s, err
	}
	if s.ID, _, err = localstate.LogID(ctx, w.rawLog); err != nil {
		return s, err
	}
	s.LastSeq, err = w.hub.Newest(ctx)
	return s, err
}
