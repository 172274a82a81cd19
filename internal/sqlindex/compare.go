package sqlindex

import (
	"context"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/fold"
)

// Differs reports whether the index contains something else than the states of
// its log. catchUp brings want to the position of the index, which does not
// change meanwhile.
func (x *Index) Differs(ctx context.Context, want *fold.States, catchUp func(handoff.Seq) error) (differs bool, err error) {
	err = x.read(ctx, func(c *conn) error {
		p, err := c.position(ctx, x.log)
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
		scan  func(*row) error
	}{
		{`SELECT seq, id, record, state, sum, family, status FROM artifacts ORDER BY seq`, d.artifact},
		{`SELECT id, state FROM named`, func(r *row) error { return d.count(&d.artifacts, d.want.SameArtifact(r.text(), 0, "", r.text(), nil)) }},
		{`SELECT id, state FROM sessions`, func(r *row) error { return d.count(&d.sessions, d.want.SameSession(r.text(), r.text())) }},
		{`SELECT harness, id, state FROM works`, func(r *row) error { return d.count(&d.works, d.want.SameWork(r.text(), r.text(), r.text())) }},
		{`SELECT space, key, value FROM pointers`, func(r *row) error { return d.count(&d.pointers, d.want.SamePointer(r.text(), r.text(), r.text())) }},
		{`SELECT seq FROM damaged ORDER BY seq`, func(r *row) error { d.damaged = append(d.damaged, handoff.Seq(r.integer())); return nil }},
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

func (d *comparison) artifact(r *row) error {
	a, record, err := stateFrom(r)
	if err != nil {
		return err
	}
	d.statuses[string(a.Status())]++
	state, _ := r.values[3].(string)
	return d.count(&d.artifacts, d.want.SameArtifact(a.ID, a.Record.Seq, a.Family, state, record))
}

// total removes the count of a status if it is right.
func (d *comparison) total(r *row) error {
	status, n := r.text(), int(r.integer())
	if d.statuses[status] == n {
		delete(d.statuses, status)
		return nil
	}
	d.differs = true
	return nil
}
