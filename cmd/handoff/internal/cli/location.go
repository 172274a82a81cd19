package cli

import (
	"path/filepath"
	"strings"

	"github.com/agent-handoff/handoff"
)

// unreachable is the prefix of a path that can't be opened from here.
const unreachable = "unreachable:"

// Path returns the path of an artifact's file as it can be opened from the
// caller's directory. A file that can't be reached has its recorded path, with a
// prefix so that it is not taken for another file.
func (a *App) Path(art handoff.Artifact) string {
	if art.File == "" {
		return unreachable + art.Path
	}
	return a.Rel(art.File)
}

// Named returns Path for use in a sentence that says if it can't be reached.
func (a *App) Named(art handoff.Artifact) string { return strings.TrimPrefix(a.Path(art), unreachable) }

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

// PrintChanged reports the active artifacts among some whose files are no longer
// what was published, and the command that prints what was.
func (a *App) PrintChanged(list ...handoff.Artifact) {
	const shown = 3
	n := 0
	for _, art := range list {
		reason, how := art.Changed()
		if reason == "" || art.Status != handoff.Active {
			continue
		}
		if n++; n > shown {
			continue
		}
		if text := HintText(how); text != "" {
			reason += "; " + text
		}
		a.Warn("%s %s", a.Named(art), reason)
	}
	if n > shown {
		a.Warn("%d more files changed after they were published", n-shown)
	}
}
