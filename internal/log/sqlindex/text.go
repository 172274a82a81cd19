package sqlindex

import (
	"cmp"
	"context"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/fold"
	"github.com/agent-handoff/handoff/internal/tool/sqlite"
)

// textBatch is the number of artifacts whose texts one transaction stores.
const textBatch = 256

// IndexText adds the texts of all artifacts that no earlier call, of any process,
// has added: the texts of their records, and those of their bodies, which body
// returns, "" for none. A publish therefore costs no full-text indexing, and a
// workspace that is never searched has none. The body of a withdrawn artifact
// is not read, and is no longer found.
//
// An error of body ends the call; texts that were stored before remain. After
// each transaction, progress is called with the position reached.
func (x *Index) IndexText(ctx context.Context, body func(handoff.Artifact) (string, error),
	progress func(handoff.Seq)) error {
	for !x.empty {
		after, redacted, list, err := x.unindexed(ctx)
		if err != nil || len(list) == 0 {
			return err
		}
		bodies := make([]string, len(list))
		for i, a := range list {
			if a.Status == handoff.Withdrawn {
				continue
			}
			bodies[i], err = body(a)
			if err != nil {
				return err
			}
		}
		if err := x.storeTexts(ctx, after, redacted, list, bodies); err != nil {
			return err
		}
		progress(list[len(list)-1].Seq)
	}
	return nil
}

// unindexed returns the first artifacts whose texts are not stored, the position
// before them, and what is redacted.
func (x *Index) unindexed(ctx context.Context) (after int64, redacted string, list []handoff.Artifact, err error) {
	err = x.read(ctx, func(c *sqlite.Conn) error {
		list = nil
		if _, err := position(ctx, c, x.log); err != nil {
			return err
		}
		if after, err = textSeq(ctx, c); err != nil {
			return err
		}
		s := newStore(ctx, c)
		if redacted, err = s.Pointer(fold.RedactedSpace, ""); err != nil {
			return err
		}
		return s.load(`SELECT seq, id, record, state, sum, family, coalesce(contest, ''), status FROM artifacts WHERE seq > ? ORDER BY seq LIMIT ?`,
			func(r *sqlite.Row) error {
				a, err := artifactFrom(r)
				if err != nil {
					return err
				}
				v, err := fold.Readable(s, a)
				list = append(list, v)
				return err
			}, after, textBatch)
	})
	return after, redacted, list, err
}

func textSeq(ctx context.Context, c *sqlite.Conn) (seq int64, err error) {
	_, err = c.One(ctx, `SELECT text_seq FROM place`, nil, func(r *sqlite.Row) { seq = r.Integer() })
	return seq, err
}

// nameOf returns the name or path that an artifact is found by.
func nameOf(a handoff.Artifact) string {
	if a.Title = ""; a.IsManaged() {
		return a.DisplayName()
	}
	return cmp.Or(a.Name, a.Path)
}

// storeTexts stores texts, unless another process already has.
func (x *Index) storeTexts(ctx context.Context, after int64, redacted string, list []handoff.Artifact,
	bodies []string) error {
	never := func(Position) bool { return false }
	return x.write(ctx, never, func(c *sqlite.Conn) error {
		if _, err := position(ctx, c, x.log); err != nil {
			return err
		}
		if seq, err := textSeq(ctx, c); err != nil || seq != after {
			return err
		}
		if now, err := newStore(ctx, c).Pointer(fold.RedactedSpace, ""); err != nil || now != redacted {
			return err
		}
		last := int64(list[len(list)-1].Seq)
		imported := int64(-len(list)) // while bodies were read
		_, err := c.One(ctx, `SELECT count(*) FROM artifacts WHERE seq > ? AND seq <= ?`, []any{after, last},
			func(r *sqlite.Row) { imported += r.Integer() })
		if err != nil || imported != 0 {
			return err
		}
		for i, p := range list {
			err := c.Exec(ctx, `INSERT INTO texts (rowid, title, summary, name, tags, body) VALUES (?, ?, ?, ?, ?, ?)`,
				int64(p.Seq), plain(p.Title), plain(p.Summary), plain(nameOf(p)), plain(strings.Join(p.Tags, " ")),
				plain(bodies[i]))
			if err != nil {
				return err
			}
		}
		err = c.Exec(ctx, `UPDATE texts SET body = '' WHERE rowid IN
			(SELECT seq FROM artifacts WHERE status = 'withdrawn' AND seq > ? AND seq <= ?)`, after, last) // while bodies were read
		if err != nil {
			return err
		}
		return c.Exec(ctx, `UPDATE place SET text_seq = ?`, last)
	})
}
