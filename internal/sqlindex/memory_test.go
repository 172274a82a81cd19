package sqlindex_test

import (
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/sqlindex"
	"github.com/agent-handoff/handoff/logtest"
)

// TestOpenMemory runs the conformance suite of indexes over one in memory, each
// with its own content.
func TestOpenMemory(t *testing.T) {
	logtest.RunIndex(t, func(t *testing.T) func() handoff.Index {
		x, err := sqlindex.OpenMemory(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { x.Close() })
		return func() handoff.Index { return x }
	})
}
