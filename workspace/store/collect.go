package store

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/content"
	"github.com/agent-handoff/handoff/internal/log/remote"
	"github.com/agent-handoff/handoff/internal/log/retention"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/settings"
	"github.com/agent-handoff/handoff/storage"
)

// remoteAge is the age below which a body in a bucket is not collected.
const remoteAge = 24 * time.Hour

// minAge is the age below which a body is not collected: it may belong to a
// publish that is running.
const minAge = time.Hour

// Garbage are what takes space, the kept bodies that no artifact needs, the largest first,
// the sessions that are due to be archived, and what a policy decides about the others.
type Garbage struct {
	Usage     []storage.DiskUsage    `json:"usage,omitempty"`
	Bodies    []storage.UnneededBody `json:"bodies"`
	SizeBytes int64                  `json:"sizeBytes"` // of Bodies
	Collected bool                   `json:"collected"` // the bodies have been removed

	Retention *storage.Retention `json:"retention,omitempty"` // nil without a policy

	Archive []session.Due     `json:"archive,omitempty"` // the sessions that are due to be archived; not with Collect
	Trash   []session.Summary `json:"trash,omitempty"`   // the deleted sessions that have files, or had them
}

// GarbageOptions select what Garbage does.
type GarbageOptions struct {
	By      string          // what Usage is grouped by: channel, agent, session or state; "" for no Usage
	Policy  settings.Policy // the zero value for none
	Collect bool            // remove what no artifact needs, and what the policy does not keep
	Remote  bool            // the bodies in the bucket of the log, not the copies on this machine
}

// Policy returns the policy of the user's settings.
func (s Store) Policy() settings.Policy { return s.c.Settings.Policy() }

// Garbage returns what takes space and what of it is not needed. Bodies that were stored in the
// last hour are left out, and with Remote those of the last 24 hours. With Collect it removes
// what is not needed: a record names what a policy dropped before the first body is removed. A
// body that is stored again meanwhile remains.
//
// Kinds: Unavailable, Corrupt (there is a problem in the log, so a damaged
// record may need any body), Unsupported (the store can't list its bodies, or with Collect
// not remove them), Conflict (with Remote: another machine collects).
func (s Store) Garbage(ctx context.Context, o GarbageOptions) (g Garbage, err error) {
	if err := s.c.Anonymous.Closed(); err != nil {
		return g, err
	}
	if o.By != "" && !slices.Contains(retention.GroupedBy, o.By) {
		return g, handoff.E("list usage", o.By, handoff.Invalid, errors.New("bodies are not grouped by this"),
			handoff.Advice("use one of: "+strings.Join(retention.GroupedBy, ", ")))
	}
	if o.Collect {
		if err := s.c.RuntimeDir.Writable(); err != nil {
			return g, err
		}
	}
	if err := s.c.Index.Verify(ctx); err != nil {
		return g, err
	}
	if !o.Remote {
		return s.garbage(ctx, o, s.c.RawBodies, s.c.Now().Add(-minAge))
	}
	b, ok := s.c.RawBodies.(*remote.Bodies)
	if !ok {
		return g, handoff.E("collect", "", handoff.Unsupported, errors.New("the log is on this machine"),
			handoff.Advice("list the bodies on this machine"))
	}
	c, err := b.Collector()
	if err != nil {
		return g, err
	}
	if !o.Collect {
		return s.garbage(ctx, o, remoteBodies{b, c}, s.c.Now().Add(-remoteAge))
	}
	claimed, now, release, err := c.Claim(ctx)
	if err != nil {
		return g, err
	}
	defer release()
	g, err = s.garbage(claimed, o, remoteBodies{b, c}, now.Add(-remoteAge))
	if claimed.Err() != nil && ctx.Err() == nil {
		err = handoff.E("collect", "", handoff.Unavailable, errors.New("took longer than its claim counts"),
			handoff.Advice("run it again: it continues with what is left"))
	}
	return g, err
}

// remoteBodies are the bodies of a remote store, without the copies on this machine.
type remoteBodies struct {
	handoff.Bodies
	remote.Collector
}

// garbage is Garbage for some bodies, those that were stored before a time.
func (s Store) garbage(ctx context.Context, o GarbageOptions, bodies handoff.Bodies, before time.Time) (g Garbage,
	err error) {
	index, err := s.bodies(ctx, o.By)
	if err != nil {
		return g, err
	}
	var views retention.Views
	var unneeded []storage.UnneededBody
	usage, known := []storage.DiskUsage(nil), false
	if o.By != "" && !o.Collect && o.Policy.IsZero() { // nothing is decided
		usage, known, err = s.indexed(ctx, o.By, index, bodies)
	}
	if !known && err == nil {
		if views, unneeded, err = s.survey(ctx, o, bodies, before); err == nil && o.By != "" {
			usage = retention.Usage(views, o.By)
		}
	}
	if err != nil {
		return g, err
	}
	if g.Trash, err = s.sessions.Trash(ctx); err != nil {
		return g, err
	}
	views.Trash = trashed(g.Trash)
	if !o.Collect {
		g.Archive, err = s.sessions.ToArchive(ctx)
	}
	if o.By != "" && err == nil {
		g.Usage = append(usage, s.others(unneeded, g.Trash, index.LogBytes)...)
	}
	if !o.Policy.IsZero() && err == nil {
		r := retention.Plan(o.Policy, views, s.c.Now(), before)
		g.Retention = &r
	}
	if o.Collect && err == nil {
		unneeded, err = s.collect(ctx, bodies, unneeded, g.Retention, views, before)
		if err == nil && len(g.Trash) > 0 {
			g.Trash, err = s.sessions.RemoveTrash(ctx, g.removes(o, before))
		}
		if err == nil && g.Retention != nil {
			g.Retention.Dropped = g.Retention.Drops()+g.Retention.DropsSessions() > 0
		}
	}
	g.Bodies, g.Collected = append([]storage.UnneededBody{}, unneeded...), o.Collect
	for _, b := range unneeded {
		g.SizeBytes += b.SizeBytes
	}
	return g, err
}

// removes returns which of the deleted sessions a collection removes: those that the policy does not keep, or
// without one those that were deleted before a time.
func (g Garbage) removes(o GarbageOptions, before time.Time) func(session.Summary) bool {
	return func(t session.Summary) bool {
		if g.Retention == nil {
			return !o.Remote && t.DeletedAt.Before(before)
		}
		drops := func(s storage.RetainedSession) bool { return s.Drop && s.ID == t.ID }
		return slices.ContainsFunc(g.Retention.Sessions, drops)
	}
}

// survey reads the log, and returns what a policy decides about and the bodies that are not needed.
func (s Store) survey(ctx context.Context, o GarbageOptions, bodies handoff.Bodies, before time.Time) (
	v retention.Views, unneeded []storage.UnneededBody, err error) {
	needed, unneeded, err := content.Survey(ctx, s.c.Checked, bodies, before)
	if err == nil && (o.By != "" || !o.Policy.IsZero()) {
		v, err = s.views(ctx, needed)
	}
	return v, unneeded, err
}

// collect removes what is not needed and what a policy does not keep, and returns the
// bodies that were not needed and that it removed.
func (s Store) collect(ctx context.Context, bodies handoff.Bodies, unneeded []storage.UnneededBody,
	r *storage.Retention, views retention.Views, before time.Time) ([]storage.UnneededBody, error) {
	if r != nil && r.Drops()+r.DropsSessions() > 0 {
		if err := s.drop(ctx, bodies, r, views, before); err != nil {
			return nil, err
		}
	}
	return content.Collect(ctx, bodies, unneeded, before)
}

// drop records what a policy drops, and removes it. What a killed process leaves is
// removed by the next collection.
func (s Store) drop(ctx context.Context, bodies handoff.Bodies, r *storage.Retention, views retention.Views,
	before time.Time) error {
	if _, err := content.Collect(ctx, bodies, nil, before); err != nil {
		return err // the bodies can't be removed
	}
	for _, f := range retention.Facts(*r, views) {
		if _, _, err := s.c.Hub.Record(ctx, f); err != nil {
			return err
		}
	}
	var list []storage.UnneededBody
	for _, b := range r.Bodies {
		if b.Drop {
			list = append(list, storage.UnneededBody{StoredBody: b.StoredBody, Need: storage.Dropped})
		}
	}
	_, err := content.Collect(ctx, bodies, list, before)
	return err
}

// views returns what a policy decides about.
func (s Store) views(ctx context.Context, bodies []retention.Body) (v retention.Views, err error) {
	v.Bodies = bodies
	if _, err := s.c.Anonymous.Newest(ctx); err != nil { // the index is up to date
		return v, err
	}
	// from the index: the hub would look for the file of each
	err = content.EachArtifact(ctx, s.c.Index, handoff.ArtifactQuery{IncludeInactive: true},
		func(a handoff.Artifact) error {
			v.Artifacts = append(v.Artifacts, retention.Of(a))
			return ctx.Err()
		})
	if err != nil {
		return v, err
	}
	slices.Reverse(v.Artifacts)
	if v.Threads, err = s.c.Anonymous.KeptThreads(ctx, ""); err != nil {
		return v, err
	}
	page, err := s.c.Anonymous.Sessions(ctx, handoff.SessionQuery{IncludeArchived: true})
	for _, open := range page.Sessions {
		if open.Status == handoff.Running {
			v.Open = append(v.Open, open)
		}
	}
	return v, err
}

// trashed returns what a policy decides about, the session that started last first.
func trashed(list []session.Summary) (t []retention.Trashed) {
	list = slices.Clone(list)
	order.Sort(list, func(a, b session.Summary) int {
		if c := b.OpenedAt.Compare(a.OpenedAt); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	for _, s := range list {
		t = append(t, retention.Trashed{ID: s.ID, StartedAt: s.OpenedAt, SizeBytes: s.SizeBytes,
			Needed: len(s.NeededBy) > 0})
	}
	return t
}
