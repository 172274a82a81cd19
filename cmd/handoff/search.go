package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/internal/sqlindex"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

func searchCommand(a *cli.App) *cobra.Command {
	var q sqlindex.Query
	var in []string
	c := &cobra.Command{
		Use:     "search WORD…",
		Short:   "Find artifacts by words of their titles, summaries, names, tags and bodies",
		GroupID: cli.Find,
		Long: `Search finds the artifacts that have all of the words, in any field and any
case, and shows where: found words stand in [brackets]. A word that ends in *
is the beginning of one; nothing else has a meaning. The newest come first;
those that were replaced or withdrawn only with --all.

Of bodies, text is searched, as it was published: of bodies of up to 1 MiB the
first 64 KiB, from the kept copy, or from the file if it is unchanged when it is
first searched. Bodies of what was withdrawn are not searched.`,
		Example: "  handoff search retry policy\n  handoff search 'back* off' --limit 5 --json",
		Args:    cobra.MinimumNArgs(1),
	}
	c.Flags().StringSliceVar(&in, "in", []string{"artifacts"}, "`where` to look: artifacts")
	c.Flags().BoolVar(&q.IncludeInactive, "all", false, "of every status")
	c.Flags().IntVar(&q.Limit, "limit", 20, "at most this `number`; 0 for all")
	a.JSONFlag(c, "print JSON")
	c.RegisterFlagCompletionFunc("in", cobra.FixedCompletions([]string{"artifacts"}, cobra.ShellCompDirectiveNoFileComp))
	c.RunE = func(c *cobra.Command, args []string) error {
		for _, where := range in {
			if where != "artifacts" {
				return cli.Invalid("--in", where, "can't be searched", "leave it out, or write --in artifacts")
			}
		}
		if q.Limit < 0 {
			return cli.Invalid("--limit", strconv.Itoa(q.Limit), "is negative", "0 shows all")
		}
		q.Text = strings.Join(args, " ")
		return a.Reading(func(w *workspace.Workspace) error { return search(c.Context(), a, w, q) })
	}
	return c
}

// A match is an artifact that was found, as it is printed.
type match struct {
	Artifact handoff.Artifact `json:"artifact"`
	Snippets []snippet        `json:"snippets"`
}

// A snippet is where words were found. Its pieces join to its text; each
// second one was found.
type snippet struct {
	Field  string   `json:"field"`
	Text   string   `json:"text"`
	Pieces []string `json:"pieces"`
}

func search(ctx context.Context, a *cli.App, w *workspace.Workspace, q sqlindex.Query) error {
	more := q
	if q.Limit > 0 {
		more.Limit++
	}
	found, err := w.Search(ctx, more)
	if err != nil {
		return err
	}
	beyond := q.Limit > 0 && len(found) > q.Limit
	if beyond {
		found = found[:q.Limit]
	}
	answer := struct {
		Matches []match `json:"matches"`
		More    bool    `json:"more"` // there are more than --limit
	}{[]match{}, beyond}
	for _, m := range found {
		shown := match{m.Artifact, []snippet{}}
		for _, s := range m.Snippets {
			shown.Snippets = append(shown.Snippets, newSnippet(s))
		}
		answer.Matches = append(answer.Matches, shown)
	}
	if a.AsJSON {
		return a.JSON(answer)
	}
	rows := make([][]string, len(answer.Matches))
	for i, m := range answer.Matches {
		rows[i] = []string{m.Artifact.ID, m.Artifact.Channel, m.Artifact.Path, m.Artifact.Title, a.Age(m.Artifact.CreatedAt), best(m.Snippets).marked()}
		if q.IncludeInactive {
			rows[i] = append(rows[i], string(m.Artifact.Status))
		}
	}
	head := []string{"id", "channel", "path", "title", "age", "found"}
	if q.IncludeInactive {
		head = append(head, "status")
	}
	a.Table(head, rows)
	if beyond {
		fmt.Fprintf(a.Err, "there are more; --limit %d shows them\n", 2*q.Limit)
	}
	return nil
}

// newSnippet takes apart what marks found words.
func newSnippet(s sqlindex.Snippet) snippet {
	pieces := strings.Split(strings.ReplaceAll(s.Text, sqlindex.End, sqlindex.Begin), sqlindex.Begin)
	return snippet{s.Field, strings.Join(pieces, ""), pieces}
}

// best returns the snippet in which the most was found, the first of several.
func best(list []snippet) (b snippet) {
	for _, s := range list {
		if len(s.Pieces) > len(b.Pieces) {
			b = s
		}
	}
	return b
}

// marked returns the snippet as a person reads it.
func (s snippet) marked() string {
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
