package sqlindex

import (
	"cmp"
	"context"

	"github.com/agent-handoff/handoff"
)

// CountByChannel returns the number of artifacts that q selects in each channel.
// Paging is ignored. No record is read.
func (x *Index) CountByChannel(ctx context.Context, q handoff.ArtifactQuery) (map[string]int, error) {
	var counts map[string]int
	err := x.read(ctx, func(c *conn) error {
		counts = map[string]int{}
		s := newStore(ctx, c)
		w, err := selects(s, q)
		if err != nil {
			return err
		}
		if len(w.terms) == 0 { // the index of channels has all that is needed
			w.from, w.narrow = w.from+" INDEXED BY by_channel", true
		}
		w = w.and("a.channel IS NOT NULL")
		if q.Status != "" || !q.IncludeInactive {
			w = w.status("= ?", string(cmp.Or(q.Status, handoff.Active)))
		}
		return s.load("SELECT a.channel, count(*)"+w.String()+" GROUP BY a.channel", func(r *row) error {
			counts[r.text()] = int(r.integer())
			return nil
		}, w.args...)
	})
	return counts, err
}
