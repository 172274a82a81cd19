package work

import (
	"context"
	"fmt"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/news"
	"github.com/agent-handoff/handoff/workspace/places"
	"github.com/spf13/cobra"
)

// A placeNews is the news of one workspace or repository.
type placeNews struct {
	Dir string `json:"directory"`
	news.Report
}

// A placesNews has the news of all places.
type placesNews struct {
	Places   []placeNews `json:"places"`
	Warnings []string    `json:"warnings,omitempty"`
}

// A placeStatus is the status of one workspace or repository.
type placeStatus struct {
	Dir string `json:"directory"`
	news.Status
}

// A placesStatus has the status of all places.
type placesStatus struct {
	Places   []placeStatus `json:"places"`
	Warnings []string      `json:"warnings,omitempty"`
}

func everywhereFlag(c *cobra.Command, value *bool) {
	c.Flags().BoolVar(value, "everywhere", false, "show all workspaces and repositories that you have opened")
}

// answersOf are the answers of a command with everywhereFlag: of one place, and of all.
func answersOf(one, all any) []cli.Answer {
	return []cli.Answer{cli.Prints(one), cli.Prints(all), cli.PrintsWith("everywhere", all)}
}

// isPlace reports whether the caller is in a workspace or a repository. Elsewhere, a command
// with everywhereFlag shows all of them.
func isPlace(a *cli.App) bool { return places.In(a.Dir, a.Options()) }

// eachPlace is places.Each for the caller. It prints the warnings that it returns.
func eachPlace(ctx context.Context, a *cli.App,
	do func(dir string, w *workspace.Workspace) ([]string, error)) ([]string, error) {
	warnings, err := places.Each(ctx, a.Dir, a.Options(), do)
	a.Warnings(warnings)
	return warnings, err
}

// everywhere returns columns with one for the place, which a terminal has as a heading.
func everywhere(columns []cli.Column) []cli.Column {
	return append([]cli.Column{{Name: "place", Long: true, More: true}}, columns...)
}

// heading prints the directory of a place on a terminal, if there is one.
func heading(a *cli.App, dir string, before int) {
	if !a.Terminal || dir == "" {
		return
	}
	if before > 0 {
		fmt.Fprintln(a.Out)
	}
	fmt.Fprintln(a.Out, textfmt.OneLine(dir))
}

// printPlace prints the rows of a place. In a pipe, its directory is the first cell of each.
func printPlace(a *cli.App, table *cli.Table, dir string, columns []cli.Column, rows [][]string) error {
	if dir == "" {
		return table.Print(columns, rows)
	}
	columns = everywhere(columns)
	columns[0].More = a.Terminal
	for i, row := range rows {
		rows[i] = append([]string{dir}, row...)
	}
	return table.Print(columns, rows)
}

// noPlaces prints that there is nothing to show.
func noPlaces(a *cli.App) {
	if a.Terminal {
		fmt.Fprintln(a.Out, "no workspace or repository was opened on this machine; handoff help shows what handoff does")
	}
}
