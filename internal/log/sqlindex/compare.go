package sqlindex

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/sqlite"
)

// derived are the tables that follow from the log alone.
var derived = []string{"artifacts", "named", "labels", "contested", "published_in", "users", "pointers",
	"sessions", "session_tags", "session_links", "works", "damaged", "totals"}

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
		// without the indexes that only queries use
		for _, statement := range slices.Concat([]string{`PRAGMA main.` + cacheSize, `BEGIN`}, schema) {
			if err := c.Exec(ctx, statement); err != nil {
				return err
			}
		}
		if err := applyUpTo(ctx, c, log.Read(ctx, 0), seq, func(handoff.Seq) {}); err != nil {
			return err
		}
		var now handoff.Seq // from here on, the index does not change for c
		_, err := c.One(ctx, `SELECT seq FROM stored.place`, nil, func(r *sqlite.Row) { now = handoff.Seq(r.Integer()) })
		if err != nil || now < seq { // another process has emptied the index
			return err
		}
		if err := applyUpTo(ctx, c, log.Read(ctx, seq), now, func(handoff.Seq) {}); err != nil {
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

// applyUpTo applies records up to a position, and calls applied after each batch but the last.
func applyUpTo(ctx context.Context, c *sqlite.Conn, records iter.Seq2[handoff.Record, error], to handoff.Seq,
	applied func(handoff.Seq)) error {
	var batch []handoff.Record
	for r, err := range records {
		if err != nil {
			return err
		}
		if r.Seq > to {
			break
		}
		if batch = append(batch, r); len(batch) == applyBatch {
			if err := advance(ctx, c, batch); err != nil {
				return err
			}
			batch = batch[:0]
			applied(r.Seq)
		}
	}
	return advance(ctx, c, batch)
}

// applyBatch is the number of records whose states are in memory at a time.
const applyBatch = 512

// compare reports whether a derived table of the attached index has other rows. Each has a
// primary key, in the order of which the rows are read.
func compare(ctx context.Context, c *sqlite.Conn) (differs bool, err error) {
	for _, table := range derived {
		var keys, now, was []string
		columns := `SELECT name, pk FROM pragma_table_info('` + table + `', 'main')`
		err := newStore(ctx, c).load(columns, func(r *sqlite.Row) error {
			column := r.Text()
			now, was = append(now, "now."+column), append(was, "was."+column)
			if r.Integer() > 0 {
				keys = append(keys, "was."+column+" = now."+column)
			}
			return nil
		})
		if err != nil {
			return false, err
		}
		rows := table + ` now WHERE true`
		if table == "totals" {
			rows = table + ` now WHERE now.n <> 0`
		}
		query := `SELECT (SELECT count(*) FROM main.` + rows + `) <> (SELECT count(*) FROM stored.` + rows + `)
			OR EXISTS (SELECT 1 FROM main.` + rows + ` AND NOT EXISTS (SELECT 1 FROM stored.` + table + ` was
			WHERE ` + strings.Join(keys, " AND ") +
			` AND (` + strings.Join(was, ", ") + `) IS (` + strings.Join(now, ", ") + `)))`
		_, err = c.One(ctx, query, nil, func(r *sqlite.Row) { differs = r.Integer() != 0 })
		if err != nil || differs {
			return differs, err
		}
	}
	return false, nil
}
