package filelog

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/content"
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
		if strings.Contains(name, quarantined) {
			c.note(name, "lay where a body belongs, and is kept aside")
			continue
		}
		c.problem(name, "does not belong to the bodies")
		if bodyName().MatchString(name) {
			c.spoilt = append(c.spoilt, name)
		}
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
			c.spoilt = append(c.spoilt, k.name)
		case ctx.Err() != nil:
			return err
		case err != nil:
			c.problem(k.name, "can't be read: %v", reason(err))
		case k.Need == content.Orphan && !k.aside:
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

// quarantined marks the names of what is not the body that its name said.
const quarantined = ".damaged-"

// bodyName is what the names of bodies look like.
var bodyName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^` + bodiesDir + `/[0-9a-f]{2}/[0-9a-f]{62}(` + regexp.QuoteMeta(asideSuffix) + `)?$`)
})

// quarantine gives what is damaged another name, so that the body can be kept
// anew by whoever still has it.
func (b *Bodies) quarantine(c *check, now time.Time) error {
	for _, name := range c.spoilt {
		err := os.Rename(b.log.path(name), b.log.path(name+quarantined+now.UTC().Format(stamp)))
		if errors.Is(err, fs.ErrNotExist) {
			continue // another repair was here
		}
		if err == nil {
			err = b.log.disk.syncDir(path.Dir(name))
		}
		if err != nil {
			return err
		}
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
