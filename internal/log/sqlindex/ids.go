package sqlindex

import (
	"context"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/sqlite"
)

// IDNames implements handoff.IDLister. It takes one step in the table for each
// name.
func (x *Index) IDNames(ctx context.Context) (names []string, err error) {
	const next = `SELECT coalesce(min(space), '') FROM labels WHERE space > ? AND space < ?`
	err = x.read(ctx, func(c *sqlite.Conn) error {
		for space := slotSpace(""); ; {
			_, err := c.One(ctx, next, []any{space, slotSpace(last)}, func(r *sqlite.Row) { space = r.Text() })
			if err != nil || space == "" {
				return err
			}
			if name := strings.TrimPrefix(space, slotSpace("")); !slices.Contains(labelSlots, name) {
				names = append(names, name)
			}
		}
	})
	return names, err
}
