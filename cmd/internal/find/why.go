package find

import (
	"fmt"
	"strings"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
	"github.com/agent-handoff/handoff/trace"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

var hopColumns = []cli.Column{
	{Name: "hop"}, {Name: "ref", Long: true}, {Name: "text", Rank: 1, Text: true}, {Name: "agent", Rank: 4},
	{Name: "age", Rank: 3},
	{Name: "certainty", Rank: 2}, {Name: "evidence", More: true},
}

// WhyCommand returns the command why.
func WhyCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "why FILE[:LINE]|REF|COMMIT",
		Short: "Trace where a file, an artifact or a commit comes from",
		Long: `Why traces where something comes from: the artifact with its former path, the
session, the work, the message of the thread that wrote it, the cost, the
commits with these bytes, what was read to make it, and who has used it since.
With a line, it traces the commit that last changed the line.

Each hop states how certain it is, and --json lists its evidence:
  recorded  a record, git, or the output of a command in a transcript states it
  exact     the bytes are equal, or the recorded edits give these bytes
  inferred  path and time agree, and nothing disagrees
Anything less certain is left out. If nothing is known, only the subject is
printed, and the exit code is 0.

The message of a hop can be opened with: handoff thread URI. The first call
reads all threads and builds an index, as search does.`,
		Example: "  handoff why internal/cart.go\n  handoff why internal/cart.go:42\n  handoff why HEAD --json",
		Args:    cli.Exactly(1, "one file, ref or commit"),
	}
	a.JSONFlag(c, "print JSON", cli.Prints(trace.Origin{}))
	table := a.NewTable(c, hopColumns)
	c.RunE = func(c *cobra.Command, args []string) error {
		set := thread.NewSet(all.Drivers(), a.Getenv, a.Getenv("HOME"))
		return a.Reading(func(w *workspace.Workspace) error {
			t, err := w.Why(c.Context(), set, args[0])
			if err != nil {
				return err
			}
			a.Warnings(t.Warnings)
			if a.AsJSON {
				return a.JSONList("hops", t)
			}
			if err := table.Print(hopColumns, hopRows(a, t)); err != nil {
				return err
			}
			if !t.Known() {
				fmt.Fprintln(a.Err, "nothing else is known about it")
			}
			return nil
		})
	}
	return c
}

func hopRows(a *cli.App, t trace.Origin) (rows [][]string) {
	for _, h := range t.Hops {
		age, text := "", h.Text
		if !h.At.IsZero() {
			age = a.Age(h.At)
		}
		if h.Cost != nil {
			text = textfmt.Cost(*h.Cost) + " " + text
		}
		var evidence []string
		for _, e := range h.Evidence {
			evidence = append(evidence, e.Kind+" "+e.Ref)
		}
		rows = append(rows, []string{string(h.Kind), h.Ref, text, h.Agent, age, string(h.Certainty),
			strings.Join(evidence, ", ")})
	}
	return rows
}
