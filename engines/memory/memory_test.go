package memory_test

import (
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/engines/memory"
)

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
