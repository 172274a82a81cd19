package sessions

import (
	"fmt"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

func adoptCommand(a *cli.App) *cobra.Command {
	var o workspace.AdoptOptions
	c := &cobra.Command{
		Use:   "adopt DIR",
		Short: "Import session folders created by another engine",
		Long: `Adopt reads the manifest of a folder in the workspace and records the session
with its outputs, links and status. If DIR has no manifest, adopt imports every
session folder in it. From then on handoff renders the manifests; unknown fields
are preserved.

A manifest that violates the specification is rejected, with a JSON pointer to
each error. With --lenient the errors are warnings and the valid parts are
imported; outputs that are not are listed in metadata.handoff.rejected. Files
outside the folder are never imported.

If DIR has no manifest and a directory artifacts, such as the session directory
of pi, each file in artifacts/RUN becomes a name of this run, and no file is
changed. For folders of pipelines there is handoff pipeline adopt.

With --dry-run, adopt checks manifests and records nothing. The exit code is 1
if one of several folders can't be imported.`,
		Example: "  handoff session adopt docs/agent-outputs/a3f2c9d1-4b5e-4789-81ab-cdef12345678\n  handoff session adopt " +
			"\"$PI_ARTIFACT_SESSION_DIR\" --dry-run\n  handoff session adopt docs/agent-outputs --dry-run",
		Args: cli.Exactly(1, "one directory"),
	}
	c.Flags().BoolVar(&o.Lenient, "lenient", false, "import the valid parts of an invalid manifest")
	c.Flags().BoolVar(&o.DryRun, "dry-run", false, "check manifests and record nothing")
	a.JSONFlag(c, "print JSON")
	a.AllowSecretFlag(c)
	table := a.NewTable(c, adoptionColumns)
	c.RunE = func(c *cobra.Command, args []string) error {
		do := func(w *workspace.Workspace) error {
			list, err := w.AdoptSessions(c.Context(), args[0], o)
			a.Warnings(list.Warnings)
			if err != nil {
				return err
			}
			if len(list.Names) > 0 {
				return printNames(a, list)
			}
			if len(list.Sessions) == 1 && !o.DryRun && !a.AsJSON && list.Sessions[0].Status == workspace.Adopted {
				fmt.Fprintln(a.Out, list.Sessions[0].ID)
				return nil
			}
			return printAdoptions(a, table, list)
		}
		if o.DryRun {
			return a.Reading(do)
		}
		return a.Writing(do)
	}
	return c
}

// printNames prints a line for each file of a name. It returns ErrNo if one can't be
// adopted.
func printNames(a *cli.App, list workspace.Adoptions) (answer error) {
	for _, n := range list.Names {
		if n.Reason != "" {
			answer = cli.ErrNo
		}
		if a.AsJSON {
			continue
		}
		fmt.Fprintln(a.Out, cli.OneLine(n.Ref)+"\t"+n.Status)
		if n.Reason != "" {
			fmt.Fprintf(a.Err, "%s: %s\n", cli.OneLine(n.Ref), cli.OneLine(n.Reason))
		}
	}
	if a.AsJSON {
		if err := a.JSONList("sessions", list); err != nil {
			return err
		}
	}
	return answer
}

var adoptionColumns = []cli.Column{{Name: "id"}, {Name: "status"}, {Name: "folder", Rank: 1, Long: true}}

// printAdoptions prints the results for session folders, and the problems of
// each. It returns ErrNo if one can't be imported.
func printAdoptions(a *cli.App, table *cli.Table, list workspace.Adoptions) error {
	var answer error
	rows := make([][]string, len(list.Sessions))
	for i, s := range list.Sessions {
		rows[i] = []string{s.ID, s.Status, s.Folder}
		if s.Status == workspace.Unadopted {
			answer = cli.ErrNo
		}
		for _, problem := range s.Problems {
			if !a.AsJSON {
				fmt.Fprintf(a.Err, "%s: %s\n", cli.OneLine(s.Folder), cli.OneLine(problem))
			}
		}
	}
	if a.AsJSON {
		if err := a.JSONList("sessions", list); err != nil {
			return err
		}
		return answer
	}
	if err := table.Print(adoptionColumns, rows); err != nil {
		return err
	}
	return answer
}
