package sqlindex

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/sqlite"
)

// CountIn returns how many active artifacts were published in each of some sessions or runs.
// No record is read.
func (x *Index) CountIn(ctx context.Context, ids []string) (map[string]int, error) {
	var counts map[string]int
	_, err := x.view(ctx, func(c *sqlite.Conn) error {
		counts = map[string]int{}
		count := func(r *sqlite.Row) error {
			id := r.Text()
			counts[id] += int(r.Integer())
			return nil
		}
		for portion := range sqlite.Portions(ids) {
			for _, place := range []string{"session", "run"} {
				query := "SELECT " + place + ", count(*) FROM artifacts INDEXED BY by_" + place +
					" WHERE status = 'active' AND " + place + sqlite.Among + " GROUP BY " + place
				if err := newStore(ctx, c).load(query, count, portion...); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return counts, err
}

// CountByChannel returns the number of artifacts that q selects in each channel.
// Paging is ignored. No record is read.
func (x *Index) CountByChannel(ctx context.Context, q handoff.ArtifactQuery) (map[string]int, error) {
	var counts map[string]int
	_, err := x.view(ctx, func(c *sqlite.Conn) error {
		counts = map[string]int{}
		s := newStore(ctx, c)
		count := func(r *sqlite.Row) error {
			counts[r.Text()] = int(r.Integer())
			return nil
		}
		w, err := selects(s, q)
		if err != nil {
			return err
		}
		status := q.Status
		if !q.IncludeInactive {
			status = cmp.Or(status, handoff.Active)
		}
		if len(w.terms) == 0 {
			return s.load("SELECT channel, sum(n) FROM totals WHERE channel <> '' AND (status = ?1 OR ?1 = '') "+
				"GROUP BY channel HAVING sum(n) > 0", count, string(status))
		}
		w = w.and("a.channel IS NOT NULL")
		if status != "" {
			w = w.status("= ?", string(status))
		}
		return s.load("SELECT a.channel, count(*)"+w.String()+" GROUP BY a.channel", count, w.args...)
	})
	return counts, err
}

// AgentsOf returns, by their IDs, the agents in the records of the artifacts that have one of some
// IDs, or that one of some threads or calls of tools published as their records have it. No
// record is read.
func (x *Index) AgentsOf(ctx context.Context, ids, threads, calls []string) (map[string]string, error) {
	var agents map[string]string
	_, err := x.view(ctx, func(c *sqlite.Conn) error {
		agents = map[string]string{}
		add := func(r *sqlite.Row) error {
			id := r.Text()
			agents[id] = r.Text()
			return nil
		}
		s := newStore(ctx, c)
		const found = `SELECT a.id, coalesce(a.agent, '') FROM `
		return errors.Join(s.loadAll(found+`artifacts a WHERE a.id`, add, ids),
			s.loadAll(found+`artifacts a WHERE a.thread`, add, threads),
			s.loadAll(found+`labels l CROSS JOIN artifacts a ON a.seq = l.seq WHERE l.space = '`+slotSpace("tool-call")+
				`' AND l.value`, add, calls))
	})
	return agents, err
}

// Threaded returns those of the newest artifacts, of which it looks at so many, whose records name
// a thread. They have their ID, time and thread only. No record is read.
func (x *Index) Threaded(ctx context.Context, most int) (list []handoff.Artifact, err error) {
	_, err = x.view(ctx, func(c *sqlite.Conn) error {
		list = nil
		return newStore(ctx, c).load(`SELECT id, created, thread FROM
			(SELECT id, created, thread FROM artifacts ORDER BY seq DESC LIMIT ?) WHERE thread IS NOT NULL`,
			func(r *sqlite.Row) error {
				var a handoff.Artifact
				a.ID, a.CreatedAt = r.Text(), time.Unix(0, r.Integer())
				a.Producer.Thread = r.Text()
				list = append(list, a)
				return nil
			}, most)
	})
	return list, err
}
