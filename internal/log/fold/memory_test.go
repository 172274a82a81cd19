package fold_test

import (
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/internal/log/fold"
)

func TestMemoryIndex(t *testing.T) {
	logtest.RunIndex(t, func(*testing.T) func() handoff.Index {
		m := fold.NewMemory()
		return func() handoff.Index { return m }
	})
}
