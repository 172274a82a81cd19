package claude

import (
	"path/filepath"
	"strings"

	"github.com/agent-handoff/handoff/thread"
)

// IFlow returns the driver of iFlow CLI, whose sessions are named session-UUID.
func IFlow() thread.Driver {
	const prefix = "session-"
	d := fork("iflow", ".iflow")
	d.ID = func(s string) (string, bool) {
		id, ok := thread.UUIDs(strings.TrimPrefix(s, prefix))
		return prefix + id, ok
	}
	return d
}

// Qoder returns the driver of Qoder CLI.
func Qoder() thread.Driver {
	d := fork("qoder", ".qoder")
	d.Unverified = "the format is from public programs that read it; no session is published"
	return d
}

// fork returns the driver of a tool that writes the transcripts of this tool to a
// directory in the user's home directory.
func fork(name, dir string) thread.Driver {
	return thread.Driver{
		Name: name, Env: home, ID: thread.UUIDs, Beside: beside, Open: opener(name, home),
		Roots: func(_ func(string) string, home string) []string { return []string{filepath.Join(home, dir)} },
	}
}
