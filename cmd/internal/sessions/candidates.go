package sessions

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/cmd/internal/complete"
	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/storage"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/candidates"
	"github.com/spf13/cobra"
)

const compareHelp = `Compare shows artifacts of which one is to be chosen, side by side: who made
each, what its patch changes, whether its claims hold, its review and its cost.

With one ref, it shows the artifact and those that one must be chosen of: the
active ones that replace the same artifact or were compared with it; those of
its channel that other agents published for the same task; and the results of
other writers for its stage of a pipeline. Without a ref it shows all that
compete, and with several refs these. Two sessions are compared by their outputs
and inputs; the second one may be '#2', of the same workflow.

handoff accept chooses one.`

// candidateColumns are the columns of compare.
var candidateColumns = []cli.Column{{Name: "id", ID: true}, {Name: "by"}, {Name: "files", Rank: 3},
	{Name: "lines", Rank: 1}, {Name: "tests"}, {Name: "review"}, {Name: "cost", Rank: 2},
	{Name: "title", Text: true, Rank: 4}}

func candidatesCommand(a *cli.App) *cobra.Command {
	var contents bool
	c := &cobra.Command{
		Use:     "compare [REF…]",
		Short:   "Show artifacts that compete, or two sessions, side by side",
		Long:    compareHelp,
		Example: "  handoff compare\n  handoff compare patch:latest -p\n  handoff compare deep-dive-app#1 '#2'",
	}
	c.Flags().BoolVarP(&contents, "patch", "p", false, "print the contents, too")
	return compareWith(a, c, &contents)
}

// diffCommand is compare -p.
func diffCommand(a *cli.App) *cobra.Command {
	contents := true
	c := &cobra.Command{Use: "diff [REF…]", Short: "Print the contents of artifacts that compete",
		Long: "This is handoff compare -p.", Hidden: true}
	return compareWith(a, c, &contents)
}

func compareWith(a *cli.App, c *cobra.Command, contents *bool) *cobra.Command {
	c.Args, c.ValidArgsFunction = cobra.ArbitraryArgs, complete.Ref(a)
	a.JSONFlag(c, "print JSON", cli.Prints(candidates.CandidateList{}))
	table := a.NewTable(c, candidateColumns)
	c.RunE = func(c *cobra.Command, args []string) error {
		set := thread.NewSet(all.Drivers(), a.Getenv, a.Getenv("HOME"))
		return a.Reading(func(w *workspace.Workspace) error {
			found, err := w.Reviews().Candidates(set).Compare(c.Context(), args)
			if err != nil {
				return err
			}
			a.Warnings(found.Warnings)
			switch {
			case a.AsJSON:
				return a.JSONList("candidates", found)
			case found.Sessions != nil:
				printComparison(a, *found.Sessions)
				return nil
			}
			if err := table.Print(candidateColumns, candidateRows(found.Candidates)); err != nil || !*contents {
				return err
			}
			return printContents(c.Context(), a, w, found.Candidates)
		})
	}
	return c
}

func candidateRows(list []candidates.Candidate) (rows [][]string) {
	for _, d := range list {
		row := []string{d.Artifact.ID, cmp.Or(textfmt.OneLine(d.By), "-")}
		for _, f := range textfmt.Figures(d) {
			row = append(row, cmp.Or(f.Text, "-"))
		}
		rows = append(rows, append(row, textfmt.OneLine(d.Artifact.Title)))
	}
	return rows
}

// printContents prints the content of each candidate. One that can't be read is a warning.
func printContents(ctx context.Context, a *cli.App, w *workspace.Workspace, list []candidates.Candidate) error {
	for _, d := range list {
		fmt.Fprintf(a.Out, "\n%s  %s\n", d.Artifact.ID, textfmt.OneLine(d.Artifact.Label()))
		b, err := w.Read(ctx, d.Artifact.ID, workspace.ReadOptions{})
		if err == nil {
			_, err = b.CopyPage(a.Out, storage.Span{})
			err = errors.Join(err, b.Close())
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			a.Warn("%s: %v", d.Artifact.ID, err)
		}
	}
	return nil
}
