package evidence

import (
	"fmt"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

// GitAICommand returns the command that exports who wrote the lines of commits.
func GitAICommand(a *cli.App) *cobra.Command {
	var write bool
	c := &cobra.Command{
		Use:   "git-ai COMMIT ...",
		Short: "Print which threads wrote the lines of commits, as notes of git-ai",
		Long: `Git-ai prints the lines that each commit adds and the threads that wrote them,
in the format of the Git AI Standard v3.0.0. Lines are left out if their writer
is not exact: the recorded edits of threads must give the bytes of the file. A
squash merge has the writers of the commits in it.

With --write, it merges them into the notes of refs/notes/ai and prints the
commits. A line that has a writer there keeps it. Push the notes with:
git push origin refs/notes/ai

handoff why reads these notes, also those of other programs.`,
		Example: "  handoff export git-ai HEAD\n  handoff export git-ai --write $(git rev-list main..HEAD)",
		Args:    cli.Between(1, 10_000, "one to 10,000 commits"),
	}
	c.Flags().BoolVar(&write, "write", false, "merge the lines into the notes of the commits in refs/notes/ai")
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.Reading(func(w *workspace.Workspace) error {
			list, warnings, err := w.Claims(thread.NewSet(all.Drivers(), a.Getenv, a.Getenv("HOME"))).
				GitAI(c.Context(), args, write)
			a.Warnings(warnings)
			for _, l := range list {
				switch {
				case l.Lines == 0:
					fmt.Fprintf(a.Err, "%s has no line whose writer is exact\n", l.Commit)
				case write:
					fmt.Fprintf(a.Out, "%s  %d lines\n", l.Commit, l.Lines)
				case len(list) > 1:
					fmt.Fprintf(a.Out, "commit %s\n%s\n", l.Commit, l.Note)
				default:
					fmt.Fprint(a.Out, l.Note)
				}
			}
			return err
		})
	}
	return c
}
