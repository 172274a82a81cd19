package localstate

import (
	"context"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/sqlindex"
)

// Bodies returns what an index knows of bodies, as Bodies of sqlindex.Index. One in memory knows none.
func (x *Index) Bodies(ctx context.Context, by string) (sqlindex.Bodies, error) {
	return ask(ctx, x, func(at handoff.Index) (list sqlindex.Bodies, err error) {
		if file, ok := at.(*sqlindex.Index); ok {
			list, err = file.Bodies(ctx, by)
		}
		return list, err
	})
}
