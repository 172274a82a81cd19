package sqlindex

import (
	"context"

	"github.com/agent-handoff/handoff"
)

var _ handoff.Verdicts = (*Index)(nil)

// Verdicts implements handoff.Verdicts.
func (x *Index) Verdicts(ctx context.Context, fingerprints map[string]string) (map[string]handoff.Target, error) {
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

// PutVerdict implements handoff.Verdicts. It waits for no other writer for
// long: a verdict is not worth it.
func (x *Index) PutVerdict(ctx context.Context, id, fingerprint string, t handoff.Target) error {
	known, err := x.Verdicts(ctx, map[string]string{id: fingerprint})
	if err != nil || known[id] == t {
		return err
	}
	return x.transact(ctx, "BEGIN IMMEDIATE", func(c *conn) error {
		return c.exec(ctx, `INSERT OR REPLACE INTO verdicts (id, fingerprint, target) VALUES (?, ?, ?)`, id, fingerprint, string(t))
	})
}
