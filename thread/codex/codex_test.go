package codex_test

import (
	"testing"

	"github.com/agent-handoff/handoff/thread/codex"
	"github.com/agent-handoff/handoff/threadtest"
)

func TestSuite(t *testing.T) {
	threadtest.Run(t, threadtest.Suite{Driver: codex.Driver(), Write: home, Lines: true, Big: big})
}
