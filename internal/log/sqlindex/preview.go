package sqlindex

import (
	"context"
	"errors"
	"slices"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/sqlite"
)

// With returns the index as it would be after more records: it answers queries with
// them applied, and stores nothing. Their sequence numbers continue those of the
// index; start returns that of the first one in the last query. It is valid as long as x
// is, and needs no Close.
func (x *Index) With(records []handoff.Record) (at *Index, start func() handoff.Seq) {
	at = &Index{db: x.db, log: x.log, pending: slices.Clone(records), parent: x}
	return at, func() handoff.Seq { return at.pending[0].Seq }
}

// errUndo ends a transaction whose changes are not stored.
var errUndo = errors.New("undo")

// preview runs do with the pending records applied, and undoes that. Meanwhile
// nobody else can write to the database.
func (x *Index) preview(ctx context.Context, do func(*sqlite.Conn) error) error {
	never := func(Position) bool { return false }
	err := x.parent.write(ctx, never, func(c *sqlite.Conn) error {
		p, err := position(ctx, c, x.log)
		if err != nil {
			return err
		}
		for i := range x.pending {
			x.pending[i].Seq = p.Seq + handoff.Seq(i) + 1
		}
		if err := applyAll(ctx, c, x.pending); err != nil {
			return err
		}
		if err := do(c); err != nil {
			return err
		}
		return errUndo
	})
	if errors.Is(err, errUndo) {
		return nil
	}
	return err
}
