package sqlindex

import (
	"context"
	"iter"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/sqlite"
)

// derived are the tables that follow from the log alone, and their rows that do.
var derived = []string{"artifacts", "named", "labels", "contested", "published_in", "users", "pointers",
	"sessions", "session_tags", "session_links", "works", "damaged", "totals WHERE n != 0"}

// Differs reports whether the index contains something else than a new index of its
// log would. That is made in a temporary file, which SQLite removes. moved is the first
// artifact that the log has at another place, 0 for none: a log never moves one.
func (x *Index) Differs(ctx context.Context, log handoff.Log) (differs bool, moved handoff.Seq, err error) {
	seq, err := x.Seq(ctx)
	if err != nil {
		return false, 0, err
	}
	db := sqlite.New("", "")
	defer db.Close()
	err = db.Use(ctx, func(c *sqlite.Conn) error {
		if err := c.Exec(ctx, `ATTACH ? AS stored`, x.file); err != nil {
			return err
		}
		if err := c.Exec(ctx, `BEGIN`); err != nil {
			return err
		}
		for _, statement := range schema { // without the indexes that only queries use
			if err := c.Exec(ctx, statement); err != nil {
				return err
			}
		}
		if err := applyUpTo(ctx, c, log.Read(ctx, 0), seq); err != nil {
			return err
		}
		var now handoff.Seq // from here on, the index does not change for c
		_, err := c.One(ctx, `SELECT seq FROM stored.place`, nil, func(r *sqlite.Row) { now = handoff.Seq(r.Integer()) })
		if err != nil || now < seq { // another process has emptied the index
			return err
		}
		if err := applyUpTo(ctx, c, log.Read(ctx, seq), now); err != nil {
			return err
		}
		if differs, err = compare(ctx, c); err != nil || !differs {
			return err
		}
		_, err = c.One(ctx,
			`SELECT now.seq FROM main.artifacts now JOIN stored.artifacts was ON was.id = now.id AND was.seq <> now.seq
			ORDER BY now.seq LIMIT 1`, nil, func(r *sqlite.Row) { moved = handoff.Seq(r.Integer()) })
		return err
	})
	return differs, moved, wrapError(ctx, err)
}

// applyUpTo applies records up to a position.
func applyUpTo(ctx context.Context, c *sqlite.Conn, records iter.Seq2[handoff.Record, error], to handoff.Seq) error {
	var batch []handoff.Record
	for r, err := range records {
		if err != nil {
			return err
		}
		if r.Seq > to {
			break
		}
		if batch = append(batch, r); len(batch) == applyBatch {
			if err := applyAll(ctx, c, batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	return applyAll(ctx, c, batch)
}

// applyBatch is the number of records whose states are in memory at a time.
const applyBatch = 512

// compare reports whether a derived table of the attached index has other rows.
func compare(ctx context.Context, c *sqlite.Conn) (differs bool, err error) {
	for _, table := range derived {
		query := `SELECT EXISTS (SELECT * FROM main.` + table + ` EXCEPT SELECT * FROM stored.` + table + `)
			OR EXISTS (SELECT * FROM stored.` + table + ` EXCEPT SELECT * FROM main.` + table + `)`
		_, err := c.One(ctx, query, nil, func(r *sqlite.Row) { differs = r.Integer() != 0 })
		if err != nil || differs {
			return differs, err
		}
	}
	return false, nil
}
