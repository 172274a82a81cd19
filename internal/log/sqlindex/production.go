package sqlindex

import (
	"context"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/fold"
	"github.com/agent-handoff/handoff/internal/tool/sqlite"
)

// productionKeys are what the artifacts of a producer are told apart by.
var productionKeys = map[string]string{"": "''", "work": "''",
	"session": "coalesce(session, '') || '/' || coalesce(run, '')", "channel": "channel",
	"day":      "created / 86400000000000",
	"revision": "revision IS NOT NULL", "artifact": "seq", "tag": "seq", "label": "seq"}

// Productions implements handoff.ProductionLister.
func (x *Index) Productions(ctx context.Context, q handoff.ProductionQuery) (list []handoff.Production, err error) {
	err = x.read(ctx, func(c *sqlite.Conn) error {
		list = nil
		s := newStore(ctx, c)
		values, err := s.valuesOf(q.By)
		if err != nil {
			return err
		}
		scan := func(r *sqlite.Row) error {
			p := productionFrom(r, q.By)
			if seq, ok := r.Value(3).(int64); ok {
				p.Values = values[seq]
			}
			list = append(list, p)
			return nil
		}
		until := int64(math.MaxInt64)
		if !q.Until.IsZero() {
			until = instant(q.Until) - 1
		}
		add := func(work, where, group string) error {
			return s.load(producing(work, where, group, productionKeys[q.By]), scan, instant(q.Since), until)
		}
		work, apart := "NULL, NULL", "thread"
		if q.By == "work" {
			work, apart = "work, harness", "thread, work, harness"
		}
		if err := add(work, "thread IS NOT NULL AND", apart); err != nil {
			return err
		}
		return add("work, harness", "thread IS NULL AND", unnamed)
	})
	return list, err
}

// unnamed are what artifacts are told apart by of which no thread is known.
const unnamed = "work, harness, session, run, agent"

// producing returns a query of productions. Bare columns are those of the row with the
// highest seq.
func producing(work, where, group, key string) string {
	id, apart := "''", ", "+key
	switch key {
	case "''":
		apart = "" // no sort
	case "seq":
		id = "id"
	}
	return `SELECT thread, ` + work + `, ` + key + `, ` + id + `, session, run, agent, created, max(seq),
		count(*), count(revision), sum(status = 'active'), sum(readers), CAST(total(iif(readers > 0, size * readers, NULL)) AS INTEGER), count(iif(readers > 0, size, NULL)),
		CAST(total(iif(readers > 0, NULL, size)) AS INTEGER), count(iif(readers > 0, NULL, size))
		FROM artifacts INDEXED BY by_producer WHERE ` + where + ` created BETWEEN ? AND ? GROUP BY ` + group + apart
}

// productionFrom returns a production from a row. What a producer did not report is NULL.
func productionFrom(r *sqlite.Row, by string) (p handoff.Production) {
	text := func(column int) string {
		s, _ := r.Value(column).(string)
		return s
	}
	number := func(column int) int64 {
		n, _ := r.Value(column).(int64)
		return n
	}
	p.Thread, p.WorkID, p.Harness = text(0), text(1), text(2)
	p.Session, p.RunID, p.Agent, p.Newest = text(5), text(6), text(7), time.Unix(0, number(8)).UTC()
	p.Count, p.Revisions, p.Active, p.RefsPassed = int(number(10)), int(number(11)), int(number(12)), int(number(13))
	if read := number(14); number(15) > 0 {
		p.BytesRead = &read
	}
	if stayed := number(16); number(17) > 0 {
		p.BytesStayed = &stayed
	}
	switch by {
	case "session", "channel":
		p.Key = text(3)
	case "day":
		p.Key = p.Newest.Format(time.DateOnly)
	case "revision":
		p.Key = strconv.FormatInt(number(3), 10)
	case "artifact", "tag", "label":
		p.Key = text(4)
	}
	return p
}

// valuesOf returns the tags or labels of artifacts, by the Seq of the record, as they
// may be shown.
func (s *store) valuesOf(by string) (map[int64][]string, error) {
	space, ok := map[string]string{"tag": tagSpace, "label": labelSpace}[by]
	if !ok {
		return nil, nil
	}
	values := map[int64][]string{}
	err := s.load(`SELECT seq, value FROM labels WHERE space = ? ORDER BY value`, func(r *sqlite.Row) error {
		seq := r.Integer()
		values[seq] = append(values[seq], r.Text())
		return nil
	}, space)
	if err != nil || by == "label" {
		return values, err
	}
	return values, s.load(artifactsWith, func(r *sqlite.Row) error {
		a, err := artifactFrom(r)
		if err != nil {
			return err
		}
		shown, err := fold.Readable(s, a)
		values[int64(a.Record.Seq)] = slices.Compact(slices.Sorted(slices.Values(shown.Tags)))
		return err
	}, redactedSpace)
}

// artifactsWith selects the artifacts that have any label of a space.
const artifactsWith = `SELECT seq, id, record, state, sum, family, status FROM artifacts
	WHERE seq IN (SELECT seq FROM labels WHERE space = ?)`
