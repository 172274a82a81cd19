package cli

import (
	"cmp"
	"path/filepath"
	"strings"

	"github.com/agent-handoff/handoff"
)

// unreachable is the prefix of a path that can't be opened from here.
const unreachable = "unreachable:"

// remote is the prefix of the path of a file on another machine, whose kept copy can
// be read.
const remote = "remote:"

// Path returns the path of an artifact's file as it can be opened from the
// caller's directory. A file that can't be reached has its recorded path, with a
// prefix so that it is not taken for another file. It is "" for a file that is
// stored under the ID of the artifact.
func (a *App) Path(art handoff.Artifact) string {
	switch {
	case art.IsStored():
		return ""
	case art.File == "" && (art.Target == handoff.Remote || art.Target == handoff.Available):
		return remote + art.Path
	case art.File == "":
		return unreachable + art.Path
	}
	return a.Rel(art.File)
}

// Named returns Path for use in a sentence that says if it can't be reached, the
// display name if there is none.
func (a *App) Named(art handoff.Artifact) string {
	file := strings.TrimPrefix(strings.TrimPrefix(a.Path(art), unreachable), remote)
	return cmp.Or(file, art.DisplayName())
}

// Rel returns an absolute path relative to the caller's directory if it is
// inside, and as it is otherwise.
func (a *App) Rel(file string) string {
	for _, resolve := range []func(string) (string, error){filepath.Abs, filepath.EvalSymlinks} {
		if dir, err := resolve(a.Dir); err == nil {
			if rel, err := filepath.Rel(dir, file); err == nil && filepath.IsLocal(rel) {
				return rel
			}
		}
	}
	return file
}
