package sqlindex_test

import (
	"path/filepath"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/internal/log/sqlindex"
)

func open(t testing.TB, file, log string) *sqlindex.Index {
	t.Helper()
	x, err := sqlindex.Open(t.Context(), file, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

func TestIndex(t *testing.T) {
	logtest.RunIndex(t, func(t *testing.T) func() handoff.Index {
		file := filepath.Join(t.TempDir(), "index.db")
		return func() handoff.Index { return open(t, file, "log1") }
	})
}
