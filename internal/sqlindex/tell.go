package sqlindex

import (
	"cmp"
	"context"
	"strings"

	"github.com/agent-handoff/handoff"
)

// tellAtOnce is how many artifacts' texts one transaction holds.
const tellAtOnce = 256

// Tell makes the words of all artifacts findable that no earlier call of it,
// by whatever process, has told of: those of their records, and those of their
// bodies, which body returns, "" for none. So a publish costs no full text,
// and who never searches has none. A body whose artifact is withdrawn is
// forgotten, and not asked for.
//
// An error of body's ends it; what was told before stays. After each
// transaction it reports the place that it has come to.
func (x *Index) Tell(ctx context.Context, body func(handoff.Artifact) (string, error), progress func(handoff.Seq)) error {
	for {
		after, list, err := x.untold(ctx)
		if err != nil || len(list) == 0 {
			return err
		}
		bodies := make([]string, len(list))
		for i, a := range list {
			if a.Withdrawn {
				continue
			}
			bodies[i], err = body(handoff.Artifact{Record: a.Record, ArtifactPublished: *a.Published, Status: a.Status()})
			if err != nil {
				return err
			}
		}
		if err := x.tell(ctx, after, list, bodies); err != nil {
			return err
		}
		progress(list[len(list)-1].Record.Seq)
	}
}

// untold returns the first artifacts that were not told of, and the place
// before them.
func (x *Index) untold(ctx context.Context) (after int64, list []*handoff.ArtifactState, err error) {
	err = x.read(ctx, func(c *conn) error {
		list = nil
		if _, err := c.place(ctx, x.log); err != nil {
			return err
		}
		if after, err = c.told(ctx); err != nil {
			return err
		}
		return newStore(ctx, c).load(`SELECT seq, id, record, state, sum, family, status FROM artifacts WHERE seq > ? ORDER BY seq LIMIT ?`, func(r *row) error {
			a, err := artifactFrom(r)
			list = append(list, a)
			return err
		}, after, tellAtOnce)
	})
	return after, list, err
}

func (c *conn) told(ctx context.Context) (seq int64, err error) {
	_, err = c.one(ctx, `SELECT told FROM place`, nil, func(r *row) { seq = r.integer() })
	return seq, err
}

// tell stores texts, unless another process did meanwhile.
func (x *Index) tell(ctx context.Context, after int64, list []*handoff.ArtifactState, bodies []string) error {
	never := func(Place) bool { return false }
	return x.write(ctx, never, func(c *conn) error {
		if _, err := c.place(ctx, x.log); err != nil {
			return err
		}
		if told, err := c.told(ctx); err != nil || told != after {
			return err
		}
		for i, a := range list {
			p := a.Published
			err := c.exec(ctx, `INSERT INTO texts (rowid, title, summary, name, tags, body) VALUES (?, ?, ?, ?, ?, ?)`,
				int64(a.Record.Seq), plain(p.Title), plain(p.Summary), plain(cmp.Or(p.Name, p.Path)), plain(strings.Join(p.Tags, " ")), plain(bodies[i]))
			if err != nil {
				return err
			}
		}
		last := int64(list[len(list)-1].Record.Seq)
		err := c.exec(ctx, `UPDATE texts SET body = '' WHERE rowid IN
			(SELECT seq FROM artifacts WHERE status = 'withdrawn' AND seq > ? AND seq <= ?)`, after, last) // while bodies were read
		if err != nil {
			return err
		}
		return c.exec(ctx, `UPDATE place SET told = ?`, last)
	})
}
