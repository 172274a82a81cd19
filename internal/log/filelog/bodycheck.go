package filelog

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/agent-handoff/handoff"
)

// Check implements handoff.BodyChecker. It verifies that every body matches its
// digest, and that there are no foreign files.
func (b *Bodies) Check(ctx context.Context) (handoff.Report, error) {
	report, _, err := b.check(ctx)
	return report, err
}

// check also returns the names of the files that are to be quarantined.
func (b *Bodies) check(ctx context.Context) (handoff.Report, []string, error) {
	c := newLogCheck()
	bodies, foreign, err := b.files()
	if err != nil {
		return c.Report, nil, b.failure("check", err)
	}
	var damaged []string
	for _, name := range foreign {
		if strings.Contains(name, quarantinedDamage) {
			c.note(name, "is a quarantined file that had the name of a body")
			continue
		}
		c.problem(name, "does not belong to the bodies")
		if bodyName().MatchString(name) {
			damaged = append(damaged, name)
		}
	}
	for _, f := range bodies {
		if f.removing {
			c.note(f.name, "is a body that was about to be collected")
		}
		err := b.verifyOne(ctx, f)
		switch {
		case errors.Is(err, handoff.Corrupt):
			c.problem(f.name, "does not match its digest")
			damaged = append(damaged, f.name)
		case ctx.Err() != nil:
			return c.Report, nil, ctx.Err()
		case err != nil && !errors.Is(err, handoff.NotFound): // else it was collected since
			c.problem(f.name, "can't be read: %v", reason(err))
		}
	}
	return c.Report, damaged, nil
}

// bodyName matches the names that bodies have.
var bodyName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^` + bodiesDir + `/[0-9a-f]{2}/[0-9a-f]{62}(` + regexp.QuoteMeta(removingSuffix) + `)?$`)
})

// Repair implements handoff.Repairer. It renames what is damaged, so that the
// body can be stored again by whoever still has it.
func (b *Bodies) Repair(ctx context.Context, now time.Time) error {
	_, damaged, err := b.check(ctx)
	if err != nil {
		return err
	}
	for _, name := range damaged {
		err := os.Rename(b.log.path(name), b.log.path(name+quarantinedDamage+now.UTC().Format(timestamp)))
		if errors.Is(err, fs.ErrNotExist) {
			continue // another repair was first
		}
		if err == nil {
			err = b.log.disk.syncDir(path.Dir(name))
		}
		if err != nil {
			return b.failure("repair", err)
		}
	}
	return nil
}

func (b *Bodies) verifyOne(ctx context.Context, f bodyFile) error {
	r, err := b.Open(ctx, f.Digest)
	if err != nil {
		return err
	}
	return r.Close()
}
