package claude_test

import (
	"testing"

	"github.com/agent-handoff/handoff/thread/claude"
	"github.com/agent-handoff/handoff/threadtest"
)

func TestRealResume(t *testing.T) { threadtest.CheckAllResume(t, claude.Driver(), ".claude") }
