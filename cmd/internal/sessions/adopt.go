package sessions

import (
	"context"
	"fmt"
	"os"

	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/session"

	"github.com/agent-handoff/handoff/workspace/sessions"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

func importCommand(a *cli.App) *cobra.Command {
	var o session.AdoptOptions
	c := &cobra.Command{
		Use:   "import PATH",
		Short: "Import an exported session, or session folders of another engine",
		Long: `Import of a file adds a session that handoff export tar wrote, with its IDs. It
verifies the complete file before it writes anything, and refuses a session,
artifact or folder that exists. All of the session appears at once; an import
that was interrupted is completed by repeating it. Of several sessions, import
the one that others build on first.

Import of a folder of the workspace reads its manifest and records the session
with its outputs, links and status. If it has no manifest, import reads every
session folder in it. From then on handoff renders the manifests; unknown fields
are preserved.

A manifest that violates the specification is rejected, with a JSON pointer to
each error. With --lenient the errors are warnings and the valid parts are
imported; outputs that are not are listed in metadata.handoff.rejected. Files
outside the folder are never imported.

If the folder has no manifest and a directory artifacts, such as the session
directory of pi, each file in artifacts/RUN becomes a name of this run, and no
file is changed. For folders of pipelines there is handoff pipeline adopt.

With --dry-run, import checks manifests and records nothing. The exit code is 1
if one of several folders can't be imported.`,
		Example: "  handoff import intake.tar\n  handoff import docs/agent-outputs --dry-run\n" +
			"  handoff import \"$PI_ARTIFACT_SESSION_DIR\" --dry-run",
		Args: cli.Exactly(1, "one file or directory"),
	}
	c.Flags().BoolVar(&o.Lenient, "lenient", false, "import the valid parts of an invalid manifest")
	c.Flags().BoolVar(&o.DryRun, "dry-run", false, "check manifests and record nothing")
	a.JSONFlag(c, "print JSON", cli.Prints(sessions.Adoptions{}), cli.Prints(session.Transfer{}))
	a.AllowSecretFlag(c)
	table := a.NewTable(c, adoptionColumns)
	c.RunE = func(c *cobra.Command, args []string) error {
		if info, err := os.Stat(cli.Absolute(a.Dir, args[0])); err != nil || !info.IsDir() {
			return importFile(a, c, args[0], o)
		}
		do := func(w *workspace.Workspace) error { return importFolders(c.Context(), a, w, args[0], o, table) }
		if o.DryRun {
			return a.Reading(do)
		}
		return a.Writing(do)
	}
	return c
}

// importFile imports an exported session.
func importFile(a *cli.App, c *cobra.Command, file string, o session.AdoptOptions) error {
	if o != (session.AdoptOptions{}) {
		return cli.Invalid("import", file, "not a directory", "--lenient and --dry-run are for session folders")
	}
	return transfer(a, func(w *workspace.Workspace) (session.Transfer, error) {
		return w.Sessions().Import(c.Context(), file)
	})
}

// importFolders imports session folders of another engine.
func importFolders(ctx context.Context, a *cli.App, w *workspace.Workspace, dir string, o session.AdoptOptions,
	table *cli.Table) error {
	list, err := w.Sessions().Adopt(ctx, dir, o)
	a.Warnings(list.Warnings)
	if err != nil {
		return err
	}
	if len(list.Names) > 0 {
		return printNames(a, list)
	}
	if len(list.Sessions) == 1 && !o.DryRun && !a.AsJSON && list.Sessions[0].Status == session.Adopted {
		fmt.Fprintln(a.Out, list.Sessions[0].ID)
		return nil
	}
	return printAdoptions(a, table, list)
}

// printNames prints a line for each file of a name. It returns ErrNo if one can't be
// adopted.
func printNames(a *cli.App, list sessions.Adoptions) (answer error) {
	for _, n := range list.Names {
		if n.Reason != "" {
			answer = cli.ErrNo
		}
		if a.AsJSON {
			continue
		}
		fmt.Fprintln(a.Out, textfmt.OneLine(n.Ref)+"\t"+n.Status)
		if n.Reason != "" {
			fmt.Fprintf(a.Err, "%s: %s\n", textfmt.OneLine(n.Ref), textfmt.OneLine(n.Reason))
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
func printAdoptions(a *cli.App, table *cli.Table, list sessions.Adoptions) error {
	var answer error
	rows := make([][]string, len(list.Sessions))
	for i, s := range list.Sessions {
		rows[i] = []string{s.ID, s.Status, s.Folder}
		if s.Status == session.Unadopted {
			answer = cli.ErrNo
		}
		for _, problem := range s.Problems {
			if !a.AsJSON {
				fmt.Fprintf(a.Err, "%s: %s\n", textfmt.OneLine(s.Folder), textfmt.OneLine(problem))
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
