package claude_test

import (
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread/claude"
)

func TestRealResume(t *testing.T) { threadtest.CheckAllResume(t, claude.Driver(), ".claude") }
