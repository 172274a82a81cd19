package config

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/plainfile"
	"github.com/agent-handoff/handoff/internal/tool/userdir"
)

// openedName is the name of the file with the places that the user has opened, one
// absolute path in a line, in the directory of the user's state.
const openedName = "opened"

// maxOpened is how many places are remembered: those that were added last.
const maxOpened = 1000

// Opened returns the workspaces and repositories that the user has opened on this
// machine and that exist, in the order in which they were first opened.
func Opened(getenv func(string) string) []string {
	return slices.DeleteFunc(opened(userdir.State(getenv)), func(dir string) bool { return !isPlace(dir) })
}

// opened reads the list. One that can't be read is empty: it is a convenience.
func opened(state string) []string {
	data, err := plainfile.Read(filepath.Join(state, openedName), maxConfig)
	if state == "" || err != nil {
		return nil
	}
	return slices.DeleteFunc(strings.Split(string(data), "\n"), func(dir string) bool { return !filepath.IsAbs(dir) })
}

// NoteOpened adds a workspace or repository to those that the user has opened. A
// failure is ignored: the next command notes it. Other directories are not noted.
func (w Workspace) NoteOpened() {
	state, place := w.memory.state, w.Home()
	if slices.Contains(opened(state), place) || strings.ContainsAny(place, "\r\n") || !isPlace(place) {
		return
	}
	_ = changeLines(context.Background(), state, openedName, maxOpened, func() []string {
		others := slices.DeleteFunc(opened(state), func(dir string) bool { return dir == place })
		return append(others, place)
	})
}

// IsPlace reports whether w is a workspace, or a repository, that exists.
func (w Workspace) IsPlace() bool { return isPlace(w.Home()) }

// isPlace reports whether a directory is a workspace or a repository.
func isPlace(dir string) bool {
	for _, name := range []string{".handoff", ".git", "HEAD"} { // the last is that of a bare repository
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}
