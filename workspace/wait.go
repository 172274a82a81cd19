package workspace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/names/refs"
)

// A Barrier says which artifacts to wait for: those that Refs name, or Count that the
// filter selects.
type Barrier struct {
	Filter
	Refs     []string // of any kind that Resolve takes
	Any      bool     // one of Refs is enough
	Count    int      // without Refs: how many, at least 1
	Reviewed bool     // and somebody else than its author must have decided about each

	Warn func(warning string) // see WatchOptions
}

// Wait returns the artifacts that it waits for, once all of them are there: in the order
// of the refs, otherwise the oldest first. If ctx ends before that, it returns those that
// are there, in words what is missing, and the error of ctx.
//
// Kinds: Invalid (the barrier), those of Resolve except NotFound, and those of reading the
// log.
func (b Barrier) Wait(ctx context.Context, w *Workspace) (there []handoff.Artifact, missing []string, err error) {
	q, after, err := w.watchQuery(ctx, WatchOptions{Filter: b.Filter, Warn: b.Warn})
	if err == nil {
		err = b.check()
	}
	if err != nil {
		return nil, nil, err
	}
	err = w.until(ctx, after, func() (bool, error) {
		there, missing = nil, nil
		found, absent, err := w.arrived(ctx, q, b)
		for _, a := range found {
			if b.Reviewed && !a.IsReviewed() {
				absent = append(absent, "a review of "+a.ID)
				continue
			}
			there = append(there, a)
		}
		switch n := b.Count - len(there); {
		case len(b.Refs) > 0:
			missing = absent
		case n > 0:
			missing = []string{fmt.Sprintf("%d of %d artifacts", n, b.Count)}
		default:
			there = there[-n:] // the newest
		}
		return len(missing) == 0 || (b.Any && len(there) > 0), err
	})
	w.attribution(w.threads).AttributeEvents(ctx, there...)
	return there, missing, err
}

func (b Barrier) check() error {
	refuse := func(reason, hint string) error {
		return handoff.E("wait", strings.Join(b.Refs, " "), handoff.Invalid, errors.New(reason), handoff.Advice(hint))
	}
	switch {
	case len(b.Refs) > 0 && b.Count != 0:
		return refuse("has both refs and a number of artifacts", "leave one of them out")
	case len(b.Refs) == 0 && b.Count < 1:
		return refuse("names neither refs nor a number of artifacts above 0", "name what to wait for")
	case b.Any && len(b.Refs) == 0:
		return refuse("any of no refs", "name the refs")
	}
	return nil
}

// arrived returns the artifacts that are there now, and the refs that name none.
func (w *Workspace) arrived(ctx context.Context, q handoff.ArtifactQuery, b Barrier) (there []handoff.Artifact,
	missing []string, err error) {
	if len(b.Refs) == 0 {
		if !b.Reviewed {
			q.Limit = b.Count
		}
		page, err := w.c.Anonymous.Artifacts(ctx, q)
		slices.Reverse(page.Artifacts)
		return page.Artifacts, nil, err
	}
	for _, ref := range b.Refs {
		a, err := w.named(ctx, q, ref)
		switch {
		case errors.Is(err, handoff.NotFound):
			missing = append(missing, ref)
		case err != nil:
			return there, nil, err
		default:
			there = append(there, a)
		}
	}
	return there, missing, nil
}

// named returns the artifact that a ref names among those that a query selects. Kind:
// NotFound, and those of Resolve.
func (w *Workspace) named(ctx context.Context, q handoff.ArtifactQuery, ref string) (handoff.Artifact, error) {
	in, invalid := refs.SelectIn(q, ref)
	if invalid != nil && strings.Contains(ref, ":") {
		return handoff.Artifact{}, invalid
	}
	if invalid != nil || in.Label == handoff.ApprovedLabel {
		id, err := w.Resolve(ctx, ref)
		switch {
		case errors.Is(err, handoff.NotFound) && invalid != nil && !strings.ContainsAny(ref, "./") &&
			!handoff.IsArtifactIDPrefix(ref): // as --channel of a channel whose name was typed
			return handoff.Artifact{}, invalid
		case err != nil:
			return handoff.Artifact{}, err
		}
		in = q
		in.IDPrefix, in.IncludeInactive = id, in.Status == ""
	}
	in.Limit = 1
	page, err := w.c.Anonymous.Artifacts(ctx, in)
	if err == nil && len(page.Artifacts) == 0 {
		err = handoff.E("wait", ref, handoff.NotFound, nil)
	}
	return append(page.Artifacts, handoff.Artifact{})[0], err
}
