package sqlindex

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/sqlite"
)

// IDNames implements handoff.IDLister. It takes one step in the table for each
// name.
func (x *Index) IDNames(ctx context.Context) (names []string, err error) {
	const next = `SELECT coalesce(min(space), '') FROM labels WHERE space > ? AND space < ?`
	_, err = x.view(ctx, func(c *sqlite.Conn) error {
		for space := slotSpace(""); ; {
			found, err := c.One(ctx, next, []any{space, slotSpace(last)}, func(r *sqlite.Row) { space = r.Text() })
			if err != nil || !found || space == "" {
				return err
			}
			if name := strings.TrimPrefix(space, slotSpace("")); !slices.Contains(labelSlots, name) {
				names = append(names, name)
			}
		}
	})
	return names, err
}

// instant returns a time as nanoseconds since 1970, or the nearest int64.
func instant(t time.Time) int64 {
	switch {
	case t.Before(time.Unix(0, math.MinInt64)):
		return math.MinInt64
	case t.After(time.Unix(0, math.MaxInt64)):
		return math.MaxInt64
	}
	return t.UnixNano()
}
