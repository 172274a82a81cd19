package sqlindex

import (
	"context"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/fold"
	"github.com/agent-handoff/handoff/internal/sqlite"
)

// Differs reports whether the index contains something else than the states of
// its log. catchUp brings want to the position of the index, which does not
// change meanwhile.
func (x *Index) Differs(ctx context.Context, want *fold.States, catchUp func(handoff.Seq) error) (differs bool, err error) {
	err = x.read(ctx, func(c *sqlite.Conn) error {
		p, err := position(ctx, c, x.log)
		if err != nil {
			return err
		}
		if err := catchUp(p.Seq); err != nil {
			return err
		}
		d := comparison{store: newStore(ctx, c), want: want, statuses: map[string]int{}}
		err = d.run()
		differs = d.differs
		return err
	})
	return differs, err
}

type comparison struct {
	*store
	want                                 *fold.States
	differs                              bool
	artifacts, sessions, works, pointers int
	damaged                              []handoff.Seq
	statuses                             map[string]int // how many artifacts have each
}

func (d *comparison) run() error {
	for _, table := range []struct {
		query string
		scan  func(*sqlite.Row) error
	}{
		{`SELECT seq, id, record, state, sum, family, status FROM artifacts ORDER BY seq`, d.artifact},
		{`SELECT id, state FROM named`, func(r *sqlite.Row) error {
			return d.count(&d.artifacts, d.want.SameArtifact(r.Text(), 0, "", r.Text(), nil))
		}},
		{`SELECT id, state FROM sessions`, func(r *sqlite.Row) error { return d.count(&d.sessions, d.want.SameSession(r.Text(), r.Text())) }},
		{`SELECT harness, id, state FROM works`, func(r *sqlite.Row) error { return d.count(&d.works, d.want.SameWork(r.Text(), r.Text(), r.Text())) }},
		{`SELECT space, key, value FROM pointers`, func(r *sqlite.Row) error {
			return d.count(&d.pointers, d.want.SamePointer(r.Text(), r.Text(), r.Text()))
		}},
		{`SELECT seq FROM damaged ORDER BY seq`, func(r *sqlite.Row) error { d.damaged = append(d.damaged, handoff.Seq(r.Integer())); return nil }},
		{`SELECT status, sum(n) FROM totals GROUP BY status`, d.total},
	} {
		if err := d.load(table.query, table.scan); err != nil {
			return err
		}
	}
	if !d.want.SameCounts(d.artifacts, d.sessions, d.works, d.pointers, d.damaged) || len(d.statuses) > 0 {
		d.differs = true
	}
	return nil
}

func (d *comparison) count(n *int, same bool) error {
	*n++
	d.differs = d.differs || !same
	return nil
}

func (d *comparison) artifact(r *sqlite.Row) error {
	a, record, err := stateFrom(r)
	if err != nil {
		return err
	}
	d.statuses[string(a.Status())]++
	state, _ := r.Value(3).(string)
	return d.count(&d.artifacts, d.want.SameArtifact(a.ID, a.Record.Seq, a.Family, state, record))
}

// total removes the count of a status if it is right.
func (d *comparison) total(r *sqlite.Row) error {
	status, n := r.Text(), int(r.Integer())
	if d.statuses[status] == n {
		delete(d.statuses, status)
		return nil
	}
	d.differs = true
	return nil
}
