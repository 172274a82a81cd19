package sqlindex_test

import (
	"context"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/internal/log/sqlindex"
	"pgregory.net/rapid"
)

// TestOpenMemory compares the answers of an index in memory with those of the
// fold, each time with a new one: nothing of the others may be in it.
func TestOpenMemory(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		records := logtest.DrawRecords(rt)
		x, err := sqlindex.OpenMemory(t.Context())
		if err != nil {
			rt.Fatal(err)
		}
		defer x.Close()
		want := logtest.NewReference()
		for _, index := range []interface {
			Apply(ctx context.Context, records ...handoff.Record) error
		}{x, want} {
			if err := index.Apply(t.Context(), records...); err != nil {
				rt.Fatal(err)
			}
		}
		logtest.CheckAnswers(rt, x, want, records)
	})
}
