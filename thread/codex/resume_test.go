package codex_test

import (
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread/codex"
)

func TestRealResume(t *testing.T) { threadtest.CheckAllResume(t, codex.Driver(), ".codex") }
