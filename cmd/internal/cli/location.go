package cli

import (
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
// prefix so that it is not taken for another file.
func (a *App) Path(art handoff.Artifact) string {
	switch {
	case art.File == "" && (art.Target == handoff.Remote || art.Target == handoff.Available):
		return remote + art.Path
	case art.File == "":
		return unreachable + art.Path
	}
	return a.Rel(art.File)
}

// Named returns Path for use in a sentence that says if it can't be reached.
func (a *App) Named(art handoff.Artifact) string {
	return strings.TrimPrefix(strings.TrimPrefix(a.Path(art), unreachable), remote)
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

// PrintChanged reports the active artifacts among some whose files are no longer
// what was published, and the command that prints what was.
func (a *App) PrintChanged(list ...handoff.Artifact) {
	var c Changes
	c.Print(a, list...)
	c.End(a)
}

// Changed states that the file of an artifact is not what was published, or can't
// be reached, and suggests how to read what was. reason is "" if neither is known.
func Changed(a handoff.Artifact) (reason string, how handoff.Hint) {
	switch {
	case a.Target == handoff.Modified:
		reason = "was modified after it was published"
	case a.File == "" && (a.Target == handoff.Missing || a.Target == handoff.Unknown):
		reason = "can't be reached from here"
	case a.Target == handoff.Missing:
		reason = "is missing"
	default:
		return "", handoff.Hint{}
	}
	if !a.Kept {
		return reason + ", and no copy was kept", handoff.Hint{}
	}
	return reason, handoff.Suggest("read what was published", handoff.ActionRead, a.ID)
}

// Changes is PrintChanged for artifacts that come in several parts.
type Changes struct{ n int }

// maxChanges is the number of artifacts that are reported each.
const maxChanges = 3

func (c *Changes) Print(a *App, list ...handoff.Artifact) {
	for _, art := range list {
		reason, how := Changed(art)
		if reason == "" || art.Status != handoff.Active {
			continue
		}
		if c.n++; c.n > maxChanges {
			continue
		}
		if text := HintText(how); text != "" {
			reason += "; " + text
		}
		a.Warn("%s %s", a.Named(art), reason)
	}
}

// End reports how many more there were.
func (c *Changes) End(a *App) {
	if c.n > maxChanges {
		a.Warn("%d more files changed after they were published", c.n-maxChanges)
	}
}
