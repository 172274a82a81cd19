package gitlog

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/durable"
)

// Repair implements handoff.Repairer. If the ref was set back, rewritten or deleted, it
// is followed from now on, after its whole history was verified. The private repository
// keeps the history that it had, under a ref with the time.
func (l *Log) Repair(ctx context.Context, now time.Time) error {
	r, err := l.repository(ctx)
	if err != nil {
		return err
	}
	defer l.fresh.Clear()
	return r.locked(ctx, "append.lock", func() error {
		return r.locked(ctx, "fetch.lock", func() error { return l.accept(ctx, r, now) })
	})
}

// accept follows the ref of the server if it does not follow what is known.
func (l *Log) accept(ctx context.Context, r *repository, now time.Time) error {
	known, err := r.verified()
	if err != nil {
		return err
	}
	if _, err = l.fetch(ctx, r, known); !errors.Is(err, handoff.Corrupt) {
		return err
	}
	tip, err := l.fetch(ctx, r, commit{})
	if err == nil && known.id != "" {
		_, err = r.git(ctx, nil, "update-ref", "refs/handoff/replaced-"+now.UTC().Format("20060102T150405.000000000"),
			known.id)
	}
	switch {
	case err != nil:
		return err
	case tip.id != "":
		return r.setVerified(tip)
	}
	if err := os.Remove(filepath.Join(r.dir, verifiedName)); err != nil {
		return r.failure("write private repository", durable.Reason(err))
	}
	return nil
}
