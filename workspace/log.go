package workspace

import (
	"cmp"
	"context"
	"crypto/rand"
	"io"
	"path/filepath"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/config"
	"github.com/agent-handoff/handoff/internal/log/localstate"
	"github.com/agent-handoff/handoff/internal/log/queue"
	"github.com/agent-handoff/handoff/storage"
)

// CopyLog appends to a log the records of another that it does not have, with their
// bodies. The locations are URLs as in HANDOFF_LOG; "file:" is the built-in log of the
// workspace that dir belongs to. Records keep their IDs, and the target has an ID of
// its own. If the copy ends early, the next one continues.
//
// Kinds: Invalid (a location), Conflict (the target is not the beginning of the
// source), Corrupt, Unavailable, Unsupported.
func CopyLog(ctx context.Context, dir string, o Options, from, to string) (result storage.LogCopy, err error) {
	return copyLog(ctx, dir, o, from, to, false)
}

// CopyRedactedLog is CopyLog for a new log without the secrets that were redacted: it
// writes records with their replacements.
func CopyRedactedLog(ctx context.Context, dir string, o Options, from, to string) (storage.LogCopy, error) {
	return copyLog(ctx, dir, o, from, to, true)
}

func copyLog(ctx context.Context, dir string, o Options, from, to string, redact bool) (result storage.LogCopy,
	err error) {
	o.Getenv, o.Rand = o.environment(), cmp.Or[io.Reader](o.Rand, rand.Reader)
	if dir, err = filepath.Abs(dir); err != nil {
		return result, err
	}
	found, settings, _, err := localstate.Find(dir, o.Getenv)
	if err != nil {
		return result, err
	}
	c := localstate.Copier{Backends: o.Backends, ShareThreads: settings.SharesThreads(), Redact: redact,
		Progress: o.Progress,
		Options: storage.BackendOptions{Root: found.Root, Runtime: found.Runtime, Rand: o.Rand, Getenv: o.Getenv,
			Warn: o.Warn}}
	return c.Copy(ctx, from, to)
}

// openQueue returns the log and bodies that were opened, with a queue for the time in
// which the log can't be reached, unless it is switched off.
func openQueue(c config.Config, opened localstate.Opened, runtime string, o Options) (handoff.Log, handoff.Bodies,
	*queue.Log) {
	engine, ok := opened.Log.(queue.Engine)
	on := opened.Backend.Queue
	if c.Queue != nil {
		on = *c.Queue
	}
	if !ok || !on || !opened.Backend.Remote {
		return opened.Log, opened.Bodies, nil
	}
	q := queue.New(engine, queue.Options{Runtime: runtime, Location: localstate.Identity(opened.Backend, c.Log),
		Rand: o.Rand, Warn: o.Warn,
		Known: func() (string, handoff.Seq) { return localstate.Remembered(opened.Backend, c.Log, runtime, o.Getenv) }})
	return q, q.Bodies(opened.Bodies), q
}
