package codex_test

import (
	"testing"

	"github.com/agent-handoff/handoff/thread/codex"
	"github.com/agent-handoff/handoff/threadtest"
)

func TestRealResume(t *testing.T) { threadtest.CheckAllResume(t, codex.Driver(), ".codex") }
