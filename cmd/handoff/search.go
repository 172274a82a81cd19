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
	var in []string
	c := &cobra.Command{
		Use:     "search WORD…",
		Short:   "Search titles, summaries, names, tags and content of artifacts",
		GroupID: cli.Find,
		Long: `Search finds the artifacts that contain all of the words, in any field and any
case, newest first. A trailing * matches any ending; there are no other
operators. Matches are shown in [brackets]. Superseded and withdrawn artifacts
are included with --all only.

Content is searched if it is text of at most 1 MiB: its first 64 KiB, as
published. The content of withdrawn artifacts is not searched.`,
		Example: "  handoff search retry policy\n  handoff search 'back* off' --limit 5 --json",
		Args:    cli.Between(1, math.MaxInt, "at least one word"),
	}
	c.Flags().StringSliceVar(&in, "in", []string{"artifacts"}, "`scope` to search: artifacts")
	c.Flags().BoolVar(&o.IncludeInactive, "all", false, "include superseded and withdrawn artifacts")
	c.Flags().IntVar(&o.Limit, "limit", 20, "maximum `number` of artifacts; 0 for no limit")
	a.JSONFlag(c, "print JSON")
	table := a.NewTable(c, matchColumns)
	c.RegisterFlagCompletionFunc("in", cobra.FixedCompletions([]string{"artifacts"}, cobra.ShellCompDirectiveNoFileComp))
	c.RunE = func(c *cobra.Command, args []string) error {
		for _, scope := range in {
			if scope != "artifacts" {
				return cli.Invalid("--in", scope, "can't be searched", "leave it out, or use --in artifacts")
			}
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
	rows := make([][]string, len(result.Matches))
	for i, m := range result.Matches {
		rows[i] = []string{m.Artifact.ID, m.Artifact.Channel, a.Path(m.Artifact), m.Artifact.Title, a.Age(m.Artifact.CreatedAt), marked(best(m.Snippets)), string(m.Artifact.Status)}
	}
	columns := slices.Clone(matchColumns)
	columns[len(columns)-1].More = !o.IncludeInactive
	if err := table.Print(columns, rows); err != nil {
		return err
	}
	if result.More {
		fmt.Fprintf(a.Err, "there are more; --limit %d shows more\n", 2*o.Limit)
	}
	return nil
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
