// Package all knows every provider. A new one is one line here.
package all

import (
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/amp"
	"github.com/agent-handoff/handoff/thread/claude"
	"github.com/agent-handoff/handoff/thread/codex"
	"github.com/agent-handoff/handoff/thread/gemini"
	"github.com/agent-handoff/handoff/thread/opencode"
	"github.com/agent-handoff/handoff/thread/pi"
)

// Drivers returns the drivers of all providers, in the order in which they are
// asked for an id that names none.
func Drivers() []thread.Driver {
	return []thread.Driver{
		claude.Driver(),
		codex.Driver(),
		gemini.Driver(),
		pi.Driver(),
		opencode.Driver(),
		amp.Driver(),
	}
}
