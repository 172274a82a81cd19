package sqlindex

import (
	"context"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/sqlite"
)

// productionKeys are what the artifacts of a producer are told apart by in a query. Those
// that are missing are told apart here, see division.
var productionKeys = map[string]string{"": "''", "work": "''",
	"session": "coalesce(session, '') || '/' || coalesce(run, '')", "channel": "channel",
	"day": "created / 86400000000000", "revision": "revision IS NOT NULL"}

// Productions implements handoff.ProductionLister.
func (x *Index) Productions(ctx context.Context, q handoff.ProductionQuery) (list []handoff.Production, err error) {
	_, err = x.view(ctx, func(c *sqlite.Conn) error {
		s := newStore(ctx, c)
		if q.In != "" {
			list, err = s.threadsIn(q.In)
			return err
		}
		sums, key, err := s.divide(q)
		if err != nil {
			return err
		}
		since, until := period(q)
		without, err := s.numbersOf(q.Without)
		if err != nil {
			return err
		}
		index := "by_producer"
		if few, err := s.hasFew(since, until); err != nil {
			return err
		} else if few {
			index = "by_created"
		}
		add := func(work, where, group string) error {
			query := producing(index, work, where, group, key)
			if key == "" {
				query = eachProduced(index, where)
			}
			return s.load(query, func(r *sqlite.Row) error {
				sums.add(productionFrom(r, q.By), r)
				return nil
			}, without, since, until)
		}
		work, apart := "NULL, NULL", "thread"
		if q.By == "work" {
			work, apart = "work, harness", "thread, work, harness"
		}
		if err = add(work, "thread IS NOT NULL AND", apart); err == nil && !q.OfThreads {
			err = add("work, harness", "thread IS NULL AND", unnamed)
		}
		list = sums.list
		return err
	})
	return list, err
}

// numbersOf returns the numbers of artifacts as a list in JSON.
func (s *store) numbersOf(ids []string) (string, error) {
	list := "["
	err := s.loadAll(`SELECT seq FROM artifacts WHERE id`, func(r *sqlite.Row) error {
		list += strconv.FormatInt(r.Integer(), 10) + ","
		return nil
	}, ids)
	return strings.TrimSuffix(list, ",") + "]", err
}

// threadsIn returns the threads that published in a session or run.
func (s *store) threadsIn(id string) (list []handoff.Production, err error) {
	err = s.load(`SELECT thread FROM published_in WHERE place = ?`, func(r *sqlite.Row) error {
		list = append(list, handoff.Production{Thread: r.Text()})
		return nil
	}, id)
	return list, err
}

// A publishedIn is a session or run with a thread that published in it.
type publishedIn struct{ place, thread string }

// addPlaces notes the session and the run in which a thread published.
func (k *keeper) addPlaces(by handoff.Producer) {
	for _, place := range []string{by.Session, by.RunID} {
		if place != "" && by.Thread != "" {
			k.places.add(publishedIn{place, by.Thread})
		}
	}
}

// writePlaces stores the sessions and runs in which threads published.
func (k *keeper) writePlaces() error {
	for _, p := range k.places.take() {
		if err := k.exec(`INSERT OR IGNORE INTO published_in (place, thread) VALUES (?, ?)`, p.place, p.thread); err != nil {
			return err
		}
	}
	return nil
}

// period returns the first and the last time of a query.
func period(q handoff.ProductionQuery) (since, until int64) {
	if q.Until.IsZero() {
		return instant(q.Since), math.MaxInt64
	}
	return instant(q.Since), instant(q.Until) - 1
}

// hasFew reports whether few artifacts were published in a period, so that reading them
// takes less than reading the index of all.
func (s *store) hasFew(since, until int64) (bool, error) {
	const many = 1000
	n := int64(0)
	_, err := s.c.One(s.ctx, `SELECT count(*) FROM (SELECT 1 FROM artifacts WHERE created BETWEEN ? AND ? LIMIT ?)`,
		[]any{since, until, many}, func(r *sqlite.Row) { n = r.Integer() })
	return n < many, err
}

// unnamed are what artifacts are told apart by of which no thread is known.
const unnamed = "work, harness, session, run, agent"

// producing returns a query of productions. Bare columns are those of the row with the
// highest seq.
func producing(index, work, where, group, key string) string {
	apart := ", " + key
	if key == "''" {
		apart = "" // no sort
	}
	return `SELECT thread, ` + work + `, ` + key + `, session, run, agent, created, max(seq),
		count(*), count(revision), sum(status = 'active'), sum(readers),
		CAST(total(iif(readers > 0, size * readers, NULL)) AS INTEGER), count(iif(readers > 0, size, NULL)),
		CAST(total(iif(readers > 0, NULL, size)) AS INTEGER), count(iif(readers > 0, NULL, size))
		FROM artifacts INDEXED BY ` + index + ` WHERE ` + where + `
		seq NOT IN (SELECT value FROM json_each(?)) AND created BETWEEN ? AND ? GROUP BY ` + group + apart
}

// eachProduced returns a query of productions of one artifact each, those of a producer
// together. With by_producer, it does not sort.
func eachProduced(index, where string) string {
	return `SELECT thread, work, harness, seq, session, run, agent, created, seq,
		1, revision IS NOT NULL, status = 'active', readers, iif(readers > 0, size * readers, NULL),
		readers > 0 AND size IS NOT NULL,
		iif(readers > 0, NULL, size), size IS NOT NULL AND (readers > 0) IS NOT TRUE
		FROM artifacts INDEXED BY ` + index + ` WHERE ` + where + `
		seq NOT IN (SELECT value FROM json_each(?)) AND created BETWEEN ? AND ? ORDER BY thread, ` + unnamed
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
	p.Thread = text(0)
	p.WorkID = text(1)
	p.Harness = text(2)
	if by != "work" && p.Thread != "" {
		p.WorkID, p.Harness = "", ""
	}
	p.Session = text(4)
	p.RunID = text(5)
	p.Agent = text(6)
	p.Newest = time.Unix(0, number(7)).UTC()
	p.Count = int(number(9))
	p.Revisions = int(number(10))
	p.Active = int(number(11))
	p.RefsPassed = int(number(12))
	if number(14) > 0 {
		read := number(13)
		p.BytesRead = &read
	}
	if number(16) > 0 {
		stayed := number(15)
		p.BytesStayed = &stayed
	}
	switch by {
	case "session", "channel":
		p.Key = text(3)
	case "day":
		p.Key = p.Newest.Format(time.DateOnly)
	case "revision":
		p.Key = strconv.FormatInt(number(3), 10)
	}
	return p
}
