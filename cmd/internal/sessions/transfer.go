package sessions

import (
	"fmt"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

func exportCommand(a *cli.App) *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "export SESSION -o FILE",
		Short: "Write a session with its runs to a tar file",
		Long: `Export writes a new tar file with the session's records and those of the runs
in it, their kept bodies, and the files in its folder, archived or not. The
first entries are a manifest and the SHA-256 of all others. Links are left out,
and so are files outside the folder that are not kept.`,
		Example:           "  handoff session export intake-app#1 -o intake.tar",
		Args:              cli.Exactly(1, "one session"),
		ValidArgsFunction: a.CompleteSessions,
	}
	c.Flags().StringVarP(&file, "output", "o", "", "tar `file` to create")
	c.MarkFlagRequired("output")
	a.JSONFlag(c, "print JSON")
	c.RunE = func(c *cobra.Command, args []string) error {
		return transfer(a, func(w *workspace.Workspace) (workspace.SessionTransfer, error) {
			return w.ExportSession(c.Context(), args[0], file)
		})
	}
	return c
}

func importCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "import FILE",
		Short: "Import an exported session",
		Long: `Import adds a session that handoff session export wrote, with its IDs. It
verifies the complete file before it writes anything, and refuses a session,
artifact or folder that exists. All of the session appears at once; an import
that was interrupted is completed by repeating it. Of several sessions, import
the one that others build on first.`,
		Example: "  handoff session import intake.tar",
		Args:    cli.Exactly(1, "one file"),
	}
	a.JSONFlag(c, "print JSON")
	c.RunE = func(c *cobra.Command, args []string) error {
		return transfer(a, func(w *workspace.Workspace) (workspace.SessionTransfer, error) {
			return w.ImportSession(c.Context(), args[0])
		})
	}
	return c
}

func transfer(a *cli.App, do func(w *workspace.Workspace) (workspace.SessionTransfer, error)) error {
	return a.Writing(func(w *workspace.Workspace) error {
		done, err := do(w)
		if err != nil {
			return err
		}
		a.Warnings(done.Warnings)
		if a.AsJSON {
			return a.JSON(done)
		}
		fmt.Fprintln(a.Out, done.SessionID)
		fmt.Fprintf(a.Err, "%s, %s, %s\n", cli.Count(done.Sessions, "session"), cli.Count(done.Records, "record"),
			cli.Count(done.Files, "file"))
		return nil
	})
}
