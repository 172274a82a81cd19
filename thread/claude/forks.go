package claude

import (
	"path/filepath"
	"strings"

	"github.com/agent-handoff/handoff/thread"
)

// IFlow returns the driver of iFlow CLI, which writes the transcripts of this tool.
// Its sessions are named session-UUID.
func IFlow() thread.Driver {
	const name, prefix = "iflow", "session-"
	return thread.Driver{
		Name: name, Env: home, Beside: beside, Open: opener(name, home),
		ID: func(s string) (string, bool) {
			id, ok := thread.UUIDs(strings.TrimPrefix(s, prefix))
			return prefix + id, ok
		},
		Roots: func(_ func(string) string, home string) []string { return []string{filepath.Join(home, ".iflow")} },
	}
}
