package opencode_test

import (
	"testing"

	"github.com/agent-handoff/handoff/thread/opencode"
	"github.com/agent-handoff/handoff/threadtest"
)

func TestSuite(t *testing.T) {
	threadtest.Run(t, threadtest.Suite{Driver: opencode.Driver(), Write: home, Big: big})
}
