package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

func searchCommand(a *cli.App) *cobra.Command {
	var o workspace.SearchOptions
	c := &cobra.Command{
		Use:     "search WORD…",
		Short:   "Search artifacts and their content, and sessions",
		GroupID: cli.Find,
		Long: `Search finds the artifacts and sessions that contain all of the words, in any
field and any case, newest first. A trailing * matches any ending; there are no
other operators. Matches are shown in [brackets]. Superseded and withdrawn
artifacts are included with --all only.

Of artifacts, titles, summaries, names, tags and content are searched; of
sessions, names, agents, workflows, user summaries, tags, inputs and outputs.

Content is searched if it is text of at most 1 MiB: its first 64 KiB, as
published. The content of withdrawn artifacts is not searched.`,
		Example: "  handoff search retry policy\n  handoff search 'back* off' --limit 5 --json",
		Args:    cli.Between(1, math.MaxInt, "at least one word"),
	}
	c.Flags().StringSliceVar(&o.In, "in", workspace.SearchScopes(), "`scope` to search: artifacts, sessions or both")
	c.Flags().BoolVar(&o.IncludeInactive, "all", false, "include superseded and withdrawn artifacts")
	c.Flags().IntVar(&o.Limit, "limit", 20, "maximum `number` of each; 0 for no limit")
	a.JSONFlag(c, "print JSON")
	table := a.NewTable(c, matchColumns)
	c.RegisterFlagCompletionFunc("in", cobra.FixedCompletions(workspace.SearchScopes(), cobra.ShellCompDirectiveNoFileComp))
	c.RunE = func(c *cobra.Command, args []string) error {
		if flags := c.Flags(); flags.Changed("columns") && !flags.Changed("in") {
			o.In = []string{workspace.InArtifacts} // whose columns they are
		}
		o.Text = strings.Join(args, " ")
		return a.Reading(func(w *workspace.Workspace) error { return search(c.Context(), a, w, o, table) })
	}
	return c
}

var matchColumns = []cli.Column{
	{Name: "id", ID: true}, {Name: "channel", Rank: 2}, {Name: "path", Rank: 1, Long: true}, {Name: "title", Rank: 4, Text: true}, {Name: "age", Rank: 5},
	{Name: "match", Rank: 3, Text: true}, {Name: "status", More: true},
}

var sessionMatchColumns = []cli.Column{
	{Name: "id", ID: true}, {Name: "status"}, {Name: "agent", Rank: 3}, {Name: "workflow", Rank: 4}, {Name: "name", Rank: 1, Text: true}, {Name: "age", Rank: 5},
	{Name: "match", Rank: 2, Text: true},
}

func search(ctx context.Context, a *cli.App, w *workspace.Workspace, o workspace.SearchOptions, table *cli.Table) error {
	result, err := w.Search(ctx, o)
	if err != nil {
		return err
	}
	for _, m := range result.Matches {
		a.PrintChanged(m.Artifact)
	}
	if a.AsJSON {
		return a.JSONList("matches", result)
	}
	onlySessions := slices.Equal(o.In, []string{workspace.InSessions})
	if !onlySessions && (len(result.Matches) > 0 || len(result.Sessions) == 0) {
		if err := printMatches(a, result, o, table); err != nil {
			return err
		}
	}
	if onlySessions || len(result.Sessions) > 0 {
		if a.Terminal && len(result.Matches) > 0 {
			fmt.Fprintln(a.Out)
		}
		rows := make([][]string, len(result.Sessions))
		for i, m := range result.Sessions {
			s := m.Session
			rows[i] = []string{s.ID, s.Status, s.Agent.Name, s.Workflow.Name, s.DisplayName, a.Age(s.OpenedAt), marked(best(m.Snippets))}
		}
		if err := table.Print(sessionMatchColumns, rows); err != nil {
			return err
		}
	}
	if result.More {
		fmt.Fprintf(a.Err, "there are more; --limit %d shows more\n", 2*o.Limit)
	}
	return nil
}

func printMatches(a *cli.App, result workspace.SearchResult, o workspace.SearchOptions, table *cli.Table) error {
	rows := make([][]string, len(result.Matches))
	for i, m := range result.Matches {
		rows[i] = []string{m.Artifact.ID, m.Artifact.Channel, a.Path(m.Artifact), m.Artifact.Title, a.Age(m.Artifact.CreatedAt), marked(best(m.Snippets)), string(m.Artifact.Status)}
	}
	columns := slices.Clone(matchColumns)
	columns[len(columns)-1].More = !o.IncludeInactive
	return table.Print(columns, rows)
}

// best returns the first of the snippets that have the most matches.
func best(list []workspace.Snippet) (b workspace.Snippet) {
	for _, s := range list {
		if len(s.Pieces) > len(b.Pieces) {
			b = s
		}
	}
	return b
}

// marked returns a snippet with its matches in brackets.
func marked(s workspace.Snippet) string {
	if s.Field == "" {
		return ""
	}
	var b strings.Builder
	for i, piece := range s.Pieces {
		if i%2 == 1 {
			piece = "[" + piece + "]"
		}
		b.WriteString(piece)
	}
	return s.Field + ": " + strings.Join(strings.Fields(b.String()), " ")
}
