package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/cmd/internal/setup"
	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/internal/tool/userdir"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/places"
)

// removable are the kinds of leftovers that the user can name.
var removable = []string{setup.Caches, setup.State, setup.Settings, setup.Refs, setup.Workspace}

// checkRemove refuses kinds that are unknown, and to remove a workspace that is not named.
func (f initFlags) checkRemove(named bool) error {
	for _, kind := range f.remove {
		if !slices.Contains(removable, kind) {
			return cli.Invalid("init", kind, "unknown kind", "the kinds are "+strings.Join(removable, ", "))
		}
	}
	switch {
	case len(f.remove) > 0 && !(f.undo && f.everywhere):
		return cli.Invalid("init", f.remove[0], "only --undo --everywhere takes a kind", "add both flags")
	case slices.Contains(f.remove, setup.Workspace) && !named:
		return cli.Invalid("init", setup.Workspace, "no workspace is named", "name it with --workspace")
	}
	return nil
}

func undoInit(ctx context.Context, a *cli.App, j *setup.Journal, o setup.Undo, answer initAnswer,
	remove []string) error {
	for _, name := range o.Names {
		if !slices.Contains(setup.Names(), name) {
			return cli.Invalid("init", name, "unknown agent program", "the programs are "+strings.Join(setup.Names(), ", "))
		}
	}
	var err error
	if answer.Undone, err = j.Undo(o); err != nil {
		return err
	}
	if answer.Remaining = j.Remaining(o); o.Everywhere {
		answer.Left = leftovers(ctx, a)
		removeLeftovers(ctx, a, &answer, o, remove)
	}
	return printUndone(a, answer, o)
}

// leftovers returns what undoing init leaves: of the user, and of each workspace and
// repository that the user has opened.
func leftovers(ctx context.Context, a *cli.App) []setup.Leftover {
	opened := places.Opened(a.Options())
	registered, err := setup.Registered(userdir.State(a.Getenv))
	if err != nil {
		a.Warn("%v", err)
	}
	for _, place := range registered {
		if !slices.Contains(opened, place) {
			opened = append(opened, place)
		}
	}
	return setup.Leftovers(ctx, a.Getenv, opened, runtimeOf)
}

// runtimeOf returns the runtime directory of a place, "" if it has none of handoff.
func runtimeOf(place string) string {
	_, dir, err := workspace.Find(place, workspace.Options{})
	if err != nil {
		return ""
	}
	for _, name := range []string{"HANDOFF", "log/ID", "origin"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return dir
		}
	}
	return ""
}

// removeLeftovers removes the kinds that the user named. Of the workspaces it removes the
// one that the user named only, and none with records that are nowhere else. The state
// stays as long as it says what init wrote.
func removeLeftovers(ctx context.Context, a *cli.App, answer *initAnswer, o setup.Undo, kinds []string) {
	failed := slices.ContainsFunc(answer.Undone, func(u setup.Undone) bool { return u.Failed }) || answer.Remaining > 0
	own := ""
	if slices.Contains(kinds, setup.Workspace) {
		own = ownRuntime(ctx, a, answer)
	}
	for i := range answer.Left {
		l := &answer.Left[i]
		switch {
		case o.DryRun || !slices.Contains(kinds, l.Kind) || l.Kind == setup.Workspace && l.Path != own:
		case l.Kind == setup.State && failed:
			l.Reason = "it has the journal of files that still have entries"
		default:
			l.Remove(ctx, answer.Left, kinds)
		}
	}
}

// ownRuntime returns the runtime directory of the workspace that the user named, "" if
// it must stay.
func ownRuntime(ctx context.Context, a *cli.App, answer *initAnswer) string {
	w, err := a.Open()
	if err == nil {
		defer w.Close()
		var n int
		if n, _, err = w.Store().Queued(ctx); err == nil && n > 0 {
			err = errors.New("has records that are on this machine only")
		}
	}
	dir := ""
	if w != nil {
		dir = w.Store().Runtime()
	}
	if err != nil {
		answer.Left = append(answer.Left, setup.Leftover{Kind: setup.Workspace, Path: dir, Reason: err.Error()})
		return ""
	}
	listed := slices.ContainsFunc(answer.Left, func(l setup.Leftover) bool { return l.Path == dir })
	if !listed && runtimeOf(w.Root()) == dir {
		answer.Left = append(answer.Left, setup.Leftover{Kind: setup.Workspace, Path: dir})
	}
	return dir
}

func printUndone(a *cli.App, answer initAnswer, o setup.Undo) error {
	if a.AsJSON {
		return exitFailed(a.JSON(answer), answer)
	}
	if len(answer.Undone) == 0 {
		fmt.Fprintln(a.Err, "nothing was set up")
	}
	for _, u := range answer.Undone {
		if o.DryRun {
			printDiff(a, u.File, u.Before, u.After, false, u.Removed)
		} else {
			fmt.Fprintf(a.Out, "%-9s  %s\n", undoneVerb(u), textfmt.OneLine(u.File))
		}
		if u.Reason != "" {
			a.Warn("%s: %s", u.File, u.Reason)
		}
	}
	for _, l := range answer.Left {
		verb, what := "left", textfmt.OneLine(l.Path)
		if l.Removed {
			verb = "removed"
		}
		if l.Kind == setup.Refs {
			what += " " + strings.Join(l.Refs, " ")
		} else {
			what += " (" + textfmt.Size(l.SizeBytes) + ")"
		}
		fmt.Fprintf(a.Out, "%-9s  %-9s  %s\n", verb, l.Kind, what)
		if l.Reason != "" {
			a.Warn("%s: %s", l.Path, l.Reason)
		}
	}
	if answer.Remaining > 0 {
		a.Warn("%s of another scope, repository or program still have entries; see --project, --everywhere and --agent",
			textfmt.Count(answer.Remaining, "file"))
	}
	return exitFailed(nil, answer)
}

func undoneVerb(u setup.Undone) string {
	switch {
	case u.Restored:
		return "restored"
	case u.Removed:
		return "removed"
	case u.Failed:
		return "failed"
	case bytes.Equal(u.Before, u.After):
		return "unchanged"
	}
	return "changed"
}
