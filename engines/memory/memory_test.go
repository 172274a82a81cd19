package memory_test

import (
	"flag"
	"os"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/engines/memory"
)

func TestMain(m *testing.M) {
	if os.Getenv("HANDOFF_LONG") == "" {
		_ = flag.Set("rapid.checks", "25")
	}
	os.Exit(m.Run())
}

func TestLog(t *testing.T) {
	logtest.Run(t, func(*testing.T) func() handoff.Log {
		log := memory.NewLog()
		return func() handoff.Log { return log }
	})
}

func TestIndex(t *testing.T) {
	logtest.RunIndex(t, func(*testing.T) func() handoff.Index {
		index := memory.NewIndex()
		return func() handoff.Index { return index }
	})
}

func TestBodies(t *testing.T) {
	logtest.RunBodies(t, func(*testing.T) func() handoff.Bodies {
		bodies := memory.NewBodies()
		return func() handoff.Bodies { return bodies }
	})
}
