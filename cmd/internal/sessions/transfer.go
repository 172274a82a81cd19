package sessions

import (
	"fmt"

	"github.com/agent-handoff/handoff/cmd/internal/complete"
	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/session"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

// ExportCommand returns the command that writes a session to a tar file.
func ExportCommand(a *cli.App) *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "tar SESSION -o FILE",
		Short: "Write a session with its runs to a tar file",
		Long: `Tar writes a new tar file with the session's records and those of the runs
in it, their kept bodies, and the files in its folder, archived or not. The
first entries are a manifest and the SHA-256 of all others. Links are left out,
and so are files outside the folder that are not kept. handoff import reads it.`,
		Example:           "  handoff export tar intake-app#1 -o intake.tar",
		Args:              cli.Exactly(1, "one session"),
		ValidArgsFunction: complete.Sessions(a),
	}
	c.Flags().StringVarP(&file, "output", "o", "", "tar `file` to create")
	c.MarkFlagRequired("output")
	a.JSONFlag(c, "print JSON", cli.Prints(session.Transfer{}))
	c.RunE = func(c *cobra.Command, args []string) error {
		return transfer(a, func(w *workspace.Workspace) (session.Transfer, error) {
			return w.Sessions().Export(c.Context(), args[0], file)
		})
	}
	return c
}

func transfer(a *cli.App, do func(w *workspace.Workspace) (session.Transfer, error)) error {
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
		fmt.Fprintf(a.Err, "%s, %s, %s\n", textfmt.Count(done.Sessions, "session"), textfmt.Count(done.Records, "record"),
			textfmt.Count(done.Files, "file"))
		return nil
	})
}
