package sqlindex

import (
	"context"
	"time"

	"github.com/agent-handoff/handoff"
)

// Unrendered returns at most n sessions that records came for, longer ago than
// the given time, after which nobody said that the manifest was rendered:
// whoever was about to was killed. Those come first whose records are newest.
func (x *Index) Unrendered(ctx context.Context, age time.Duration, n int) (ids []string, err error) {
	err = x.read(ctx, func(c *conn) error {
		// A clock that was set back makes nobody wait.
		const query = `SELECT id FROM unrendered WHERE abs(unixepoch('subsec') - at) >= ? ORDER BY seq DESC LIMIT ?`
		for r, err := range c.each(ctx, query, age.Seconds(), n) {
			if err != nil {
				return err
			}
			ids = append(ids, r.text())
		}
		return nil
	})
	return ids, err
}

// Rendered says that the manifest of a session shows all records up to a
// place. It waits for no other writer for long: what is rendered once too
// often is the same.
func (x *Index) Rendered(ctx context.Context, id string, upTo handoff.Seq) error {
	var pending bool
	err := x.read(ctx, func(c *conn) (err error) {
		pending, err = c.one(ctx, `SELECT 1 FROM unrendered WHERE id = ? AND seq <= ?`, []any{id, int64(upTo)}, func(*row) {})
		return err
	})
	if err != nil || !pending {
		return err
	}
	return x.transact(ctx, "BEGIN IMMEDIATE", func(c *conn) error {
		return c.exec(ctx, `DELETE FROM unrendered WHERE id = ? AND seq <= ?`, id, int64(upTo))
	})
}

// toRender remembers that records up to a place changed what manifests show. A
// run has none, and neither has a session that only other records name.
func (k *keeper) toRender(last handoff.Seq) error {
	for _, id := range k.touched.take() {
		err := k.exec(`INSERT INTO unrendered (id, seq, at) SELECT id, ?, unixepoch('subsec') FROM sessions WHERE id = ? AND opened > 0 AND parent = ''
			ON CONFLICT (id) DO UPDATE SET seq = excluded.seq`, int64(last), id)
		if err != nil {
			return err
		}
	}
	return nil
}
