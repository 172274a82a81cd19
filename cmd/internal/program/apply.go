package program

import (
	"fmt"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/cmd/internal/complete"
	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/internal/tool/userdir"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/candidates"
	"github.com/spf13/cobra"
)

const applyHelp = `Apply puts a patch or a directory into the git working tree of the current
directory: all of it or nothing. The paths of a patch are relative to the root
of the working tree. A file of a directory gets the path that it was published
from; other files stay.

It prints the files that it adds (A), modifies (M) and deletes (D). Each of them
must be as in HEAD, in the working tree and in the index. Apply again completes
what was interrupted. Nothing is staged or committed. What was applied to which
commit is recorded; handoff show REF prints it.

It refuses links, submodules, and paths inside .git, .handoff or another
repository.`

func applyCommand(a *cli.App) *cobra.Command {
	var o candidates.ApplyOptions
	var who cli.Identity
	c := &cobra.Command{
		Use:               "apply REF",
		Short:             "Put a patch or directory into the working tree",
		Long:              applyHelp,
		Example:           "  handoff apply patch:latest --check\n  handoff apply art_01K…",
		Args:              cli.Exactly(1, "one ref"),
		ValidArgsFunction: complete.Ref(a),
	}
	c.Flags().BoolVar(&o.Check, "check", false, "change nothing, only test whether it can be applied")
	a.JSONFlag(c, "print the files and the commit as JSON", cli.Prints(candidates.Applied{}))
	who.Add(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		open := a.Writing
		if o.Check {
			open = a.Reading
		}
		return open(func(w *workspace.Workspace) error {
			w, err := who.As(a, w)
			if err != nil {
				return err
			}
			if a.Typed && w.Caller().Producer.Source == handoff.FromNone {
				o.User = userdir.Name(a.Getenv)
			}
			done, err := w.Reviews().Candidates(nil).Apply(c.Context(), args[0], o)
			if err != nil {
				return err
			}
			a.Warnings(done.Warnings)
			switch {
			case done.Existing:
				fmt.Fprintln(a.Err, "it is applied already")
			case o.Check:
				fmt.Fprintln(a.Err, "it can be applied to", done.Commit)
			default:
				fmt.Fprintln(a.Err, "applied to", done.Commit)
			}
			if a.AsJSON {
				return a.JSON(done)
			}
			for _, f := range done.Files {
				if _, err := fmt.Fprintf(a.Out, "%s\t%s\n", f.Change, textfmt.OneLine(f.Path)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return c
}
