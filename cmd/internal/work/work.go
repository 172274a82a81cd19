// Package work has the commands about what agents do: what is running, what it
// cost, and what programs report.
package work

import (
	"fmt"
	"strings"

	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/trace"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/work"
	"github.com/spf13/cobra"
)

// Commands are the commands of this package, in the order of the help.
var Commands = []cli.Command{
	cli.NewCommand(newsCommand, "news"),
	cli.NewCommand(statusCommand, "status"),
	cli.NewCommand(costCommand, "cost"),
	cli.NewCommand(workCommand, "work"),
}

func workCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "work",
		Short: "Record the work of a harness: prompts, tasks and their usage",
		Long: `Work records when a program starts and ends a unit of work, with the program's
own IDs. The hooks of agent programs do this by themselves: these commands are
for other programs. Artifacts name the work that published them with --work.`,
		RunE: cli.Group,
	}
	c.AddCommand(workStartCommand(a), workEndCommand(a), workListCommand(a))
	return c
}

func workStartCommand(a *cli.App) *cobra.Command {
	var unit work.Unit
	var who cli.Identity
	c := &cobra.Command{
		Use:     "start ID",
		Short:   "Record that a unit of work started",
		Example: "  handoff work start task-7 --harness flue --kind task --parent prompt-2",
		Args:    cli.Exactly(1, "one ID"),
	}
	f := c.Flags()
	f.StringVar(&unit.Kind, "kind", "", "`kind` of work: "+strings.Join(work.Kinds(), ", "))
	f.StringVar(&unit.Parent, "parent", "", "`ID` of the work that it is part of")
	f.StringVar(&unit.Name, "name", "", "`name` of the task, skill or tool")
	c.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions(work.Kinds(), cobra.ShellCompDirectiveNoFileComp))
	a.AllowSecretFlag(c)
	a.JSONFlag(c, "print the work as JSON", cli.Prints(work.Change{}))
	who.Add(c)
	who.AddIDs(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		return recordWork(a, who, func(w *workspace.Workspace) (work.Change, error) {
			unit.ID = args[0]
			return w.Work(nil).Start(c.Context(), unit)
		})
	}
	return c
}

func workEndCommand(a *cli.App) *cobra.Command {
	var end work.End
	var who cli.Identity
	var tokens [6]int64
	var cost float64
	c := &cobra.Command{
		Use:   "end ID",
		Short: "Record that a unit of work ended, and its usage",
		Long: `End records that a unit of work ended. Leave out what is not known: it is then
unknown, and not 0. The usage is that of the work itself, without its parts.

The end may be recorded before the start, and again when the usage is known.`,
		Example: "  handoff work end task-7 --harness flue --input 1200 --output 340 --cost 0.02",
		Args:    cli.Exactly(1, "one ID"),
	}
	f := c.Flags()
	f.StringVar(&end.Status, "status", "", "`status`: completed, failed or cancelled (default completed)")
	names := []string{"input", "output", "cache-read", "cache-write", "reasoning", "total"}
	usages := []string{"tokens of input, not from or to a cache", "tokens of output", "tokens read from a cache",
		"tokens written to a cache", "tokens of reasoning, part of the output", "all tokens"}
	for i, name := range names {
		f.Int64Var(&tokens[i], name, 0, "`number` of "+usages[i])
	}
	f.Float64Var(&cost, "cost", 0, "cost in US dollars, a `number`")
	c.RegisterFlagCompletionFunc("status",
		cobra.FixedCompletions([]string{session.Completed, session.Failed, session.Cancelled},
			cobra.ShellCompDirectiveNoFileComp))
	a.JSONFlag(c, "print the work as JSON", cli.Prints(work.Change{}))
	who.Add(c)
	who.AddIDs(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		end.ID = args[0]
		var u handoff.Usage
		for i, to := range []**int64{&u.Input, &u.Output, &u.CacheRead, &u.CacheWrite, &u.Reasoning, &u.TotalTokens} {
			if f.Changed(names[i]) {
				*to, end.Usage = &tokens[i], &u
			}
		}
		if f.Changed("cost") {
			u.Cost, end.Usage = &cost, &u
		}
		return recordWork(a, who, func(w *workspace.Workspace) (work.Change, error) {
			return w.Work(nil).End(c.Context(), end)
		})
	}
	return c
}

func recordWork(a *cli.App, who cli.Identity, record func(*workspace.Workspace) (work.Change, error)) error {
	return a.Writing(func(w *workspace.Workspace) error {
		w, err := who.As(a, w)
		if err != nil {
			return err
		}
		done, err := record(w)
		if err != nil {
			return err
		}
		a.Warnings(done.Warnings)
		if a.AsJSON {
			return a.JSON(done)
		}
		fmt.Fprintln(a.Out, done.ID)
		return nil
	})
}

var workColumns = []cli.Column{
	{Name: "work", Text: true}, {Name: "kind", Rank: 3}, {Name: "name", Rank: 2, Text: true}, {Name: "agent", Rank: 4},
	{Name: "status", Rank: 1},
	{Name: "own", Rank: 5}, {Name: "total"}, {Name: "cost"}, {Name: "harness", More: true}, {Name: "thread", More: true},
}

func workListCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "list [SESSION]",
		Short: "List work as a tree, with the usage that programs reported",
		Long: `List shows the recorded work of a session or run, or of the workspace, as a
tree. OWN is the number of tokens that the program reported for the work itself,
TOTAL that of the work and everything in it, and COST the cost of that.

Work without a recorded end is completed or failed if its transcript shows that,
failed if its process has ended, and stalled if it was not seen for 30 minutes
and its process is not known. If only the end of work is recorded, it is marked
so, and its kind and parent are not known.`,
		Example: "  handoff work list\n  handoff work list --json",
		Args:    cli.Between(0, 1, "at most one session"),
	}
	a.JSONFlag(c, "print JSON", cli.Prints(work.Tree{}))
	table := a.NewTable(c, workColumns)
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.Reading(func(w *workspace.Workspace) error {
			set := thread.NewSet(all.Drivers(), a.Getenv, a.Getenv("HOME"))
			tree, err := w.Work(set).Tree(c.Context(), strings.Join(args, ""))
			if err != nil {
				return err
			}
			if a.AsJSON {
				return a.JSONList("work", tree)
			}
			return table.Print(workColumns, workRows(tree.Work, 0))
		})
	}
	return c
}

func workRows(nodes []*trace.Node, depth int) (rows [][]string) {
	for _, n := range nodes {
		status := n.Work.Status
		switch {
		case n.Work.Reason != "":
			status += " (" + n.Work.Reason + ")"
		case n.Work.Started == 0:
			status += ", start not recorded"
		}
		rows = append(rows, []string{strings.Repeat("  ", min(depth, 20)) + n.Work.ID, n.Work.Kind, n.Work.Name, n.Work.Agent,
			status,
			textfmt.Tokens(n.Own.TotalTokens), textfmt.Tokens(n.Total.TotalTokens), textfmt.Dollars(n.Total.Cost),
			n.Work.Harness,
			n.Work.Thread})
		rows = append(rows, workRows(n.Children, depth+1)...)
	}
	return rows
}
