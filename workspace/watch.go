package workspace

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/names/refs"
	"github.com/agent-handoff/handoff/workspace/store"
)

// WatchOptions select what Watch and Wait yield. An artifact matches as it was
// published, so Status can only be active.
type WatchOptions struct {
	Filter

	// Ref selects what CHANNEL:latest, CHANNEL:v2 or CHANNEL:LABEL names, of any
	// status: the artifact that has the label or gets it.
	Ref string

	// After is where to start: after "now", a sequence number (0 for the
	// beginning of the log), or the artifact that a ref names. "" is now; for
	// Wait, an artifact that exists counts too.
	After string

	// Warn is called, before Watch and Wait start to wait, if the filter names a
	// channel that was never used. It may be misspelt. nil for no warning.
	Warn func(warning string)
}

// How long Watch and Wait leave it to the writer of a record to index it. Watch
// also collects what many writers publish. The writers of a remote log are often on
// other machines, with indexes of their own, so Watch then waits as Wait does.
const (
	watchPause = 20 * time.Millisecond
	waitPause  = 2 * time.Millisecond
)

// Watch yields each artifact that a filter selects as it is published, until
// ctx ends, whose error is then the last. An artifact that was replaced or
// withdrawn since is not left out. A record that can't be read is yielded as
// store.ErrDamagedRecord, of kind Corrupt, after which the watch continues.
//
// Kinds: Invalid, those of Resolve, and those of reading the log.
func (w *Workspace) Watch(ctx context.Context, o WatchOptions) iter.Seq2[handoff.Artifact, error] {
	return func(yield func(handoff.Artifact, error) bool) {
		q, after, err := w.watchQuery(ctx, o)
		if err != nil {
			yield(handoff.Artifact{}, err)
			return
		}
		pause := watchPause
		if w.c.Remote {
			pause = waitPause
		}
		for a, err := range w.c.Anonymous.WatchArtifacts(ctx, after, q, pause) {
			one := []handoff.Artifact{a}
			w.attribution(w.threads).AttributeEvents(ctx, one...)
			if !yield(one[0], cmp.Or(err, store.Damaged(a.Record))) {
				return
			}
		}
	}
}

// Wait returns an artifact that a filter selects and that was not replaced or
// withdrawn since, unless the filter includes those: the newest, at once if there
// is one, else as soon as one is published or imported. With After, it is the first
// after it.
//
// Kinds: those of Watch; the error of ctx if it ends first.
func (w *Workspace) Wait(ctx context.Context, o WatchOptions) (handoff.Artifact, error) {
	q, after, err := w.watchQuery(ctx, o)
	if err != nil {
		return handoff.Artifact{}, err
	}
	found := make([]handoff.Artifact, 1)
	if o.After != "" {
		found[0], err = w.next(ctx, q, after)
	} else {
		q.Limit = 1
		err = w.until(ctx, after, func() (bool, error) {
			page, err := w.c.Anonymous.Artifacts(ctx, q)
			copy(found, page.Artifacts)
			return len(page.Artifacts) > 0, err
		})
	}
	if err == nil {
		w.attribution(w.threads).AttributeEvents(ctx, found...)
	}
	return found[0], err
}

// until returns when done does, which is called at first and after each growth of the log
// and of the queue.
func (w *Workspace) until(ctx context.Context, after handoff.Seq, done func() (bool, error)) error {
	for {
		added, stop := w.untilQueued(ctx)
		if is, err := done(); is || err != nil {
			stop()
			return err
		}
		newest, err := w.c.Anonymous.Grown(added, after, waitPause)
		ended := added.Err() != nil && ctx.Err() == nil
		if stop(); err != nil && !ended {
			return err
		}
		after = max(after, newest)
	}
}

// untilQueued returns a context that ends when a record is queued on this machine,
// while the log can't be reached.
func (w *Workspace) untilQueued(ctx context.Context) (context.Context, context.CancelFunc) {
	if w.c.Queue == nil {
		return ctx, func() {}
	}
	return w.c.Queue.UntilAdded(ctx)
}

// next waits for the next artifact after a position.
func (w *Workspace) next(ctx context.Context, q handoff.ArtifactQuery, after handoff.Seq) (handoff.Artifact, error) {
	if q.Label != "" {
		return refs.WaitForLabel(ctx, w.c.Anonymous, q, after)
	}
	for a, err := range w.c.Anonymous.WatchArtifacts(ctx, after, q, waitPause) {
		if err != nil || store.Damaged(a.Record) == nil && (q.IncludeInactive || a.Status == handoff.Active) {
			return a, err
		}
	}
	return handoff.Artifact{}, ctx.Err()
}

func (w *Workspace) watchQuery(ctx context.Context, o WatchOptions) (handoff.ArtifactQuery, handoff.Seq, error) {
	q, err := w.query(ctx, o.Filter)
	if err == nil && o.Ref != "" {
		q, err = refs.SelectIn(q, o.Ref)
	}
	if err == nil && q.Status != "" && q.Status != handoff.Active {
		err = handoff.E("status", o.Status, handoff.Invalid, errors.New("an artifact is active when it is published"),
			handoff.Advice("leave the status out"))
	}
	if err != nil {
		return q, 0, err
	}
	after, err := w.Store().Position(ctx, o.After)
	if err == nil && o.Warn != nil && q.Channel != "" {
		err = w.warnUnused(ctx, q.Channel, o.Warn)
	}
	return q, after, err
}

// warnUnused calls warn if no artifact was published in a channel and it has no
// purpose either.
func (w *Workspace) warnUnused(ctx context.Context, channel string, warn func(string)) error {
	list, err := w.Channels(ctx, Filter{IncludeInactive: true})
	var names []string
	for _, c := range list.Channels {
		names = append(names, c.Name)
	}
	if text := refs.UnusedChannel(channel, names); err == nil && text != "" {
		warn(text)
	}
	return err
}
