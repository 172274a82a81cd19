package sqlindex

import (
	"context"
	"iter"

	"github.com/agent-handoff/handoff"
)

// SetPortion sets how many artifacts are loaded before what their views need is.
func SetPortion(n int) { portion = n }

// OpenMemory opens an empty index in memory.
func OpenMemory(ctx context.Context) (*Index, error) {
	none := func(handoff.Seq) iter.Seq2[handoff.Record, error] { return func(func(handoff.Record, error) bool) {} }
	return FillMemory(ctx, none, nil)
}
