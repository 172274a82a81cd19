// Package all knows every provider. A new one is one line here.
package all

import (
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/codex"
)

// Drivers returns the drivers of all providers, in the order in which they are
// asked for an id that names none.
func Drivers() []thread.Driver {
	return []thread.Driver{
		codex.Driver(),
	}
}
