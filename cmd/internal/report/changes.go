package report

import (
	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
)

// Changes reports the active artifacts among some whose files are no longer
// what was published, and the command that prints what was. A worktree that was removed
// after its files were kept is not reported.
func Changes(a *cli.App, list ...handoff.Artifact) {
	var c ChangeList
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

// A ChangeList is Changes for artifacts that come in several parts.
type ChangeList struct{ n int }

// maxChanges is the number of artifacts that are reported each.
const maxChanges = 3

// Print reports some of the artifacts.
func (c *ChangeList) Print(a *cli.App, list ...handoff.Artifact) {
	for _, art := range list {
		reason, how := Changed(art)
		if reason == "" || art.Status != handoff.Active || cli.IsOnlyKept(art) {
			continue
		}
		if c.n++; c.n > maxChanges {
			continue
		}
		if text := cli.HintText(how); text != "" {
			reason += "; " + text
		}
		a.Warn("%s %s", a.Named(art), reason)
	}
}

// End reports how many more there were.
func (c *ChangeList) End(a *cli.App) {
	if c.n > maxChanges {
		a.Warn("%d more files are missing, or changed after they were published", c.n-maxChanges)
	}
}
