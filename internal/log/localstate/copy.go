package localstate

import (
	"context"
	"errors"
	"io"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/config"
	"github.com/agent-handoff/handoff/internal/log/logcopy"
	"github.com/agent-handoff/handoff/storage"
)

// A Copier copies a log of a workspace to another one.
type Copier struct {
	Backends     []storage.Backend
	Options      storage.BackendOptions
	ShareThreads bool // to a log that other machines use: copies of transcripts without secrets
	Redact       bool // leave out the secrets that were redacted
	Progress     func(done, total handoff.Seq)
}

// Copy opens two logs by their URLs, which the caller trusts, and copies one to the
// other as logcopy.Copy does.
func (c Copier) Copy(ctx context.Context, from, to string) (result storage.LogCopy, err error) {
	source, err := c.open(from)
	if err != nil {
		return result, err
	}
	target, err := c.open(to)
	if err != nil {
		return result, errors.Join(err, CloseLog(source.Log))
	}
	result, err = c.copy(ctx, source, target)
	return result, errors.Join(err, CloseLog(source.Log), CloseLog(target.Log))
}

func (c Copier) open(location string) (Opened, error) {
	return OpenBackend(config.Config{Log: location}, c.Backends, nil, c.Options)
}

func (c Copier) copy(ctx context.Context, source, target Opened) (result storage.LogCopy, err error) {
	dir := NewDir(c.Options.Runtime, c.Options.Rand)
	if err := dir.Create(ctx); err != nil {
		return result, err
	}
	o := logcopy.Options{Progress: c.Progress, Redact: c.Redact}
	if target.Backend.Remote {
		o.Thread = func(k *handoff.ThreadKept) bool { return c.ShareThreads && k.Secrets == 0 }
		if o.Origin, err = dir.NewOrigin(); err != nil {
			return result, err
		}
	}
	return logcopy.Copy(ctx, logcopy.Side{Log: source.Log, Bodies: source.Bodies},
		logcopy.Side{Log: target.Log, Bodies: target.Bodies}, o)
}

// CloseLog closes a log that can be closed.
func CloseLog(log handoff.Log) error {
	if c, ok := log.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
