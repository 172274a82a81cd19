package sqlindex

import (
	"context"

	"github.com/agent-handoff/handoff"
)

var _ handoff.TargetCache = (*Index)(nil)

// Targets implements handoff.TargetCache.
func (x *Index) Targets(ctx context.Context, fingerprints map[string]string) (map[string]handoff.Target, error) {
	known := map[string]handoff.Target{}
	err := x.read(ctx, func(c *conn) error {
		for id, fingerprint := range fingerprints {
			_, err := c.one(ctx, `SELECT target FROM verdicts WHERE id = ? AND fingerprint = ?`, []any{id, fingerprint}, func(r *row) {
				known[id] = handoff.Target(r.text())
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
	return x.transact(ctx, "BEGIN IMMEDIATE", func(c *conn) error {
		return c.exec(ctx, `INSERT OR REPLACE INTO verdicts (id, fingerprint, target) VALUES (?, ?, ?)`, id, fingerprint, string(t))
	})
}
