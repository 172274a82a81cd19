package sqlindex

import (
	"context"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/sqlite"
)

// Unrendered returns at most n sessions whose manifest has been out of date for
// longer than age, because the process that would have rendered it was killed.
// The sessions with the newest records come first.
func (x *Index) Unrendered(ctx context.Context, age time.Duration, n int) (ids []string, err error) {
	err = x.read(ctx, func(c *sqlite.Conn) error {
		// abs: a clock that was set back delays nobody.
		const query = `SELECT id FROM unrendered WHERE abs(unixepoch('subsec') - at) >= ? ORDER BY seq DESC LIMIT ?`
		for r, err := range c.Each(ctx, query, age.Seconds(), n) {
			if err != nil {
				return err
			}
			ids = append(ids, r.Text())
		}
		return nil
	})
	return ids, err
}

// Rendered marks the manifest of a session as up to date up to a position. It
// does not wait long for the write lock: rendering once more is harmless.
func (x *Index) Rendered(ctx context.Context, id string, upTo handoff.Seq) error {
	var pending bool
	err := x.read(ctx, func(c *sqlite.Conn) (err error) {
		pending, err = c.One(ctx, `SELECT 1 FROM unrendered WHERE id = ?`, []any{id}, func(*sqlite.Row) {})
		return err
	})
	if err != nil || !pending {
		return err
	}
	return x.transact(ctx, "BEGIN IMMEDIATE", func(c *sqlite.Conn) error {
		return c.Exec(ctx, `DELETE FROM unrendered WHERE id = ? AND seq <= ?`, id, int64(upTo))
	})
}

// toRender marks the manifests and the texts of the sessions that records up to
// last changed as out of date. A run has no manifest, and neither has a session that was only
// named.
func (k *keeper) toRender(last handoff.Seq) error {
	for _, id := range k.touched.take() {
		err := k.exec(
			`INSERT INTO unrendered (id, seq, at) SELECT id, ?, unixepoch('subsec') FROM sessions WHERE id = ? AND opened > 0 AND parent = ''
			ON CONFLICT (id) DO UPDATE SET seq = excluded.seq`, int64(last), id)
		if err == nil {
			err = k.toDescribe(id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
