package filelog

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/body"
)

// examine looks at every kept body: each is what its name says, none that an
// artifact needs is missing, and nothing else lies among them. It comes after
// the log was looked at, so a body that was needed then was there before.
func (b *Bodies) examine(ctx context.Context, c *check) error {
	bodies, strays, err := b.list(&c.needs)
	if err != nil {
		return err
	}
	for _, name := range strays {
		c.problem(name, "does not belong to the bodies")
	}
	needed := c.needs.Artifacts()
	for _, k := range bodies {
		if k.aside {
			c.note(k.name, "is a body that was about to be collected")
		}
		err := b.examineOne(ctx, k)
		if errors.Is(err, handoff.NotFound) {
			continue // collected since
		}
		delete(needed, k.Digest)
		switch {
		case errors.Is(err, handoff.Corrupt):
			c.problem(k.name, "does not hold the body that its name says")
		case ctx.Err() != nil:
			return err
		case err != nil:
			c.problem(k.name, "can't be read: %v", reason(err))
		case k.Need == body.Orphan && !k.aside:
			c.note(k.name, "is needed by no record: its publish died, or is under way")
		}
	}
	missing := slices.SortedFunc(maps.Keys(needed), func(x, y handoff.Digest) int { return strings.Compare(x.Value, y.Value) })
	for _, d := range missing {
		if !isDigest(d) {
			c.problem(recordsDir+"/"+needed[d]+".json", "tells of a kept body that can't be")
			continue
		}
		_, name := b.place(d)
		c.problem(name, "is missing; it is the body of %s", needed[d])
	}
	return nil
}

func (b *Bodies) examineOne(ctx context.Context, k KeptBody) error {
	f, err := b.Open(ctx, k.Digest)
	if err != nil {
		return err
	}
	return f.Close()
}
