package sqlindex

import (
	"context"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/sqlite"
)

// Manifests tracks the files of sessions, see lifecycle.Pending.
type Manifests struct{ x *Index }

// Manifests returns what tracks the manifests of sessions.
func (x *Index) Manifests() Manifests { return Manifests{x} }

// Unrendered returns at most n sessions whose manifest has been out of date for
// longer than age, because the process that would have rendered it was killed.
// The sessions with the newest records come first. An index in memory does not know what other
// processes have rendered, and returns none.
func (m Manifests) Unrendered(ctx context.Context, age time.Duration, n int) (ids []string, err error) {
	// abs: a clock that was set back delays nobody.
	const query = `SELECT id FROM unrendered WHERE abs(unixepoch('subsec') - at) >= ? ORDER BY seq DESC, id LIMIT ?`
	err = m.x.Do(ctx, func(at *Index) error {
		if at.file == "" {
			return nil
		}
		return at.read(ctx, func(c *sqlite.Conn) error {
			ids = nil
			return newStore(ctx, c).load(query, func(r *sqlite.Row) error {
				ids = append(ids, r.Text())
				return nil
			}, age.Seconds(), n)
		})
	})
	return ids, err
}

// Extendable returns the digest of a session's manifest as it was last rendered, "" if
// since then more happened than that artifacts were published in it.
func (m Manifests) Extendable(ctx context.Context, id string) (sum string, err error) {
	err = m.x.read(ctx, func(c *sqlite.Conn) error {
		_, err := c.One(ctx, `SELECT sum FROM manifests WHERE id = ?1
			AND NOT EXISTS (SELECT 1 FROM unrendered WHERE id = ?1 AND much)`, []any{id}, func(r *sqlite.Row) { sum = r.Text() })
		return err
	})
	return sum, err
}

// Rendered marks the manifest of a session as up to date up to a position, with the digest of
// its file. It returns true if the file must be rendered again: more was recorded since, or it
// replaced a newer one. It does not wait long for the write lock: rendering once more is
// harmless.
func (m Manifests) Rendered(ctx context.Context, id string, upTo handoff.Seq, sum string) (again bool, err error) {
	err = m.x.once(ctx, "BEGIN IMMEDIATE", func(c *sqlite.Conn) error {
		_, err := c.One(ctx, `SELECT seq FROM manifests WHERE id = ?`, []any{id}, func(r *sqlite.Row) {
			again = handoff.Seq(r.Integer()) > upTo
		})
		if err != nil {
			return err
		}
		if again {
			return c.Exec(ctx, `UPDATE manifests SET sum = '' WHERE id = ?`, id)
		}
		if err := c.Exec(ctx, `INSERT OR REPLACE INTO manifests (id, seq, sum) VALUES (?, ?, ?)`, id, int64(upTo),
			sum); err != nil {
			return err
		}
		if err := c.Exec(ctx, `DELETE FROM unrendered WHERE id = ? AND seq <= ?`, id, int64(upTo)); err != nil {
			return err
		}
		again, err = c.One(ctx, `SELECT 1 FROM unrendered WHERE id = ?`, []any{id}, func(*sqlite.Row) {})
		return err
	})
	return again, err
}

// toRender marks the manifests and the texts of the sessions that records up to
// last changed as out of date. A run has no manifest, and neither has a session that was only
// named.
func (k *keeper) toRender(last handoff.Seq) error {
	defer clear(k.much)
	for _, id := range k.touched.take() {
		err := k.exec(
			`INSERT INTO unrendered (id, seq, at, much) SELECT id, ?, unixepoch('subsec'), ? FROM sessions
			WHERE id = ? AND opened > 0 AND parent = ''
			ON CONFLICT (id) DO UPDATE SET seq = excluded.seq, much = max(much, excluded.much)`, int64(last), k.much[id], id)
		if err == nil {
			err = k.toDescribe(id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
