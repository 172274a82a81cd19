package sqlindex_test

import (
	"flag"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/internal/log/sqlindex"
	"github.com/agent-handoff/handoff/internal/tool/testdir"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // the tests lack time, not memory
	sqlindex.SetPortion(3)
	if os.Getenv("HANDOFF_LONG") == "" {
		_ = flag.Set("rapid.checks", "25")
	}
	os.Exit(testdir.Run(m.Run))
}

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
