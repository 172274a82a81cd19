package sqlindex

import (
	"context"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/sqlite"
)

var _ handoff.TargetCache = (*Index)(nil)

// Targets implements handoff.TargetCache.
func (x *Index) Targets(ctx context.Context, fingerprints map[string]string) (map[string]handoff.Target, error) {
	known := map[string]handoff.Target{}
	err := x.read(ctx, func(c *sqlite.Conn) error {
		for id, fingerprint := range fingerprints {
			_, err := c.One(ctx, `SELECT target FROM verdicts WHERE id = ? AND fingerprint = ?`, []any{id, fingerprint},
				func(r *sqlite.Row) {
					known[id] = handoff.Target(r.Text())
				})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return known, err
}

// PutTarget implements handoff.TargetCache. It does not wait long for the write
// lock: a cached state is not worth it.
func (x *Index) PutTarget(ctx context.Context, id, fingerprint string, t handoff.Target) error {
	known, err := x.Targets(ctx, map[string]string{id: fingerprint})
	if err != nil || known[id] == t {
		return err
	}
	return x.once(ctx, "BEGIN IMMEDIATE", func(c *sqlite.Conn) error {
		return c.Exec(ctx, `INSERT OR REPLACE INTO verdicts (id, fingerprint, target) VALUES (?, ?, ?)`, id, fingerprint,
			string(t))
	})
}
