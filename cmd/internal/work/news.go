package work

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/internal/tool/printable"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/news"
	"github.com/spf13/cobra"
)

var newsColumns = []cli.Column{
	{Name: "group"}, {Name: "what"}, {Name: "ref", ID: true, Long: true}, {Name: "text", Text: true},
	{Name: "by", Rank: 2}, {Name: "done", Rank: 4, Text: true}, {Name: "age", Rank: 3}, {Name: "next", Rank: 1},
}

// newsLines is the number of lines that news takes on a terminal, unless more rows need
// a person.
const newsLines = 20

type newsOptions struct {
	news.ReportOptions
	everywhere, keepUnread, all bool
	format                      string
}

func newsCommand(a *cli.App) *cobra.Command {
	var o newsOptions
	c := &cobra.Command{
		Use:   "news",
		Short: "Show what needs you, and what was done since you looked",
		Long: `News shows three groups. "needs you" is what waits for a person until it is
settled: claims that are contradicted, commands that failed, artifacts that
compete or whose inputs were replaced, sessions that failed, left an output out
or are silent, threads that wait or failed, pipeline runs in which a person acts
next or whose last attempt failed its gate, and records that only this machine
has. "running" is what runs now. "done" has the sessions that ended since you
looked, and the threads that belong to none, with what they published, changed
and cost in that time, and the subagents that left no output and no message.

On a terminal, news notes what it has shown, unless it left out something that
is done. The next call shows what is done after that; what needs you is shown
until it is settled. It works in a repository without a workspace, too, and
writes nothing to it. In no repository, it shows the news of all places that you
have opened.`,
		Example: "  handoff news\n  handoff news --since friday\n  handoff news --everywhere --keep-unread",
		Args:    cli.Exactly(0, "no arguments"),
	}
	f := c.Flags()
	f.StringVar(&o.Since, "since", "",
		"show what was done at or after `time` or the publication of an artifact, instead of since you looked")
	everywhereFlag(c, &o.everywhere)
	f.BoolVar(&o.keepUnread, "keep-unread", false, "do not note what was shown")
	f.BoolVar(&o.all, "all", false, "show all rows on a terminal, also more than 20")
	f.StringVar(&o.format, "format", "text", "print this `format`: text or md")
	c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"text", "md"},
		cobra.ShellCompDirectiveNoFileComp))
	a.JSONFlag(c, "print JSON", answersOf(news.Report{}, placesNews{})...)
	table := a.NewTable(c, everywhere(newsColumns))
	c.RunE = func(c *cobra.Command, _ []string) error {
		if o.format != "text" && o.format != "md" {
			return cli.Invalid("news", "--format", "unknown format "+o.format, "use text or md")
		}
		if o.everywhere || !isPlace(a) {
			return newsEverywhere(c.Context(), a, o, table)
		}
		return a.Reading(func(w *workspace.Workspace) error {
			a.ReportQueued(w)
			source := newsOf(a, w)
			r, err := source.Report(c.Context(), o.ReportOptions)
			if err != nil {
				return err
			}
			a.Warnings(r.Warnings)
			if settling(a, r.Needs); a.AsJSON {
				return a.JSONList("needs", r)
			}
			if err := printNews(a, table, o, []placeNews{{Report: r}}); err != nil {
				return err
			}
			return mark(a, o, source, r)
		})
	}
	return c
}

func newsOf(a *cli.App, w *workspace.Workspace) news.Source {
	return w.News(thread.NewSet(all.Drivers(), a.Getenv, a.Getenv("HOME")))
}

// mark notes what was shown on a terminal, after it was printed, unless something that is
// done was left out.
func mark(a *cli.App, o newsOptions, source news.Source, r news.Report) error {
	rows := newsRows(a, r)
	left := rows[newsShown(a, o, rows, len(r.Needs)):]
	if !a.Terminal || o.keepUnread || o.Since != "" || o.format == "md" || len(left) > len(r.Commits) {
		return nil
	}
	if err := a.Flush(); err != nil {
		return err
	}
	if err := source.Mark(r); err != nil {
		a.Warnings([]string{err.Error()})
	}
	return nil
}

// newsShown returns how many rows are printed: on a terminal those that need the reader, which
// come first, and as many others as fit. The URI of a thread is on a line of its own.
func newsShown(a *cli.App, o newsOptions, rows [][]string, needs int) int {
	left := newsLines - 4 // the other lines: the place, the summary, the head, what is left out
	for i, row := range rows {
		if left--; strings.Contains(row[2], "://") {
			left--
		}
		if a.Terminal && !o.all && left < 0 && i >= needs {
			return i
		}
	}
	return len(rows)
}

// newsEverywhere prints the news of each place that the user has opened.
func newsEverywhere(ctx context.Context, a *cli.App, o newsOptions, table *cli.Table) error {
	answer := placesNews{Places: []placeNews{}}
	var marks []func() error
	var err error
	answer.Warnings, err = eachPlace(ctx, a, func(dir string, w *workspace.Workspace) ([]string, error) {
		source := newsOf(a, w)
		r, err := source.Report(ctx, o.ReportOptions)
		if err != nil {
			return nil, err
		}
		warnings := r.Warnings
		r.Warnings = nil
		settling(a, r.Needs)
		answer.Places = append(answer.Places, placeNews{dir, r})
		marks = append(marks, func() error { return mark(a, o, source, r) })
		return warnings, nil
	})
	if err != nil {
		return err
	}
	if a.AsJSON {
		return a.JSONList("places", answer)
	}
	if err := printNews(a, table, o, answer.Places); err != nil {
		return err
	}
	for _, mark := range marks {
		if err := mark(); err != nil {
			return err
		}
	}
	return nil
}

// printNews prints the news of places, each under its directory if they are those of all.
func printNews(a *cli.App, table *cli.Table, o newsOptions, places []placeNews) error {
	if err := table.Check(everywhere(newsColumns)); err != nil {
		return err
	}
	for i, p := range places {
		if o.format == "md" {
			markdownNews(a, p)
			continue
		}
		rows := newsRows(a, p.Report)
		left := len(rows) - newsShown(a, o, rows, len(p.Needs))
		rows = rows[:len(rows)-left]
		if heading(a, p.Dir, i); a.Terminal {
			fmt.Fprintln(a.Out, strings.Join(textfmt.Wrap(summary(a, p.Report), a.Width), "\n"))
		}
		if len(rows) > 0 {
			if err := printPlace(a, table, p.Dir, newsColumns, rows); err != nil {
				return err
			}
		}
		if left > 0 {
			fmt.Fprintf(a.Out, "%d more; --all shows all\n", left)
		}
	}
	if len(places) == 0 {
		noPlaces(a)
	}
	return nil
}

// summary returns the news in one line.
func summary(a *cli.App, r news.Report) string {
	since := "since " + r.Since.Local().Format("Monday 2 January 15:04")
	if r.First {
		since = fmt.Sprintf("in the last %d days", news.FirstDays)
	}
	parts := []string{textfmt.Count(len(r.Needs), "thing") + " to settle",
		textfmt.Count(len(r.Done), "session") + " ended", textfmt.Count(r.Artifacts, "artifact")}
	if len(r.Commits) > 0 {
		parts = append(parts, textfmt.Count(len(r.Commits), "commit"))
	}
	if r.Usage != nil && r.Usage.Cost != nil {
		parts = append(parts, textfmt.Cost(*r.Usage))
	}
	running := len(r.Running.Sessions)
	for _, t := range r.Running.Threads {
		if t.Session == "" {
			running++
		}
	}
	return since + ": " + strings.Join(append(parts, fmt.Sprint(running, " running")), ", ")
}

// newsRows returns a row for each thing that needs the reader, runs or is done.
func newsRows(a *cli.App, r news.Report) (rows [][]string) {
	for _, n := range r.Needs {
		rows = append(rows, []string{"needs you", string(n.Notice.Code), n.Ref, n.String(), n.By, "", age(a, n.At),
			a.Settle(n)})
	}
	for _, s := range r.Running.Sessions {
		rows = append(rows, []string{"running", s.Status, s.ID, s.DisplayName, s.Agent.Name, "", a.Age(s.ActiveAt), ""})
	}
	for _, t := range r.Running.Threads {
		if t.Session == "" {
			u, _ := thread.ParseURI(t.URI)
			chain := strings.Join(chained(t.Chain), ", ")
			rows = append(rows,
				[]string{"running", string(t.State.Status), t.URI, t.Title, u.Provider, chain, a.Age(t.ActiveAt), ""})
		}
	}
	for _, d := range r.Done {
		rows = append(rows, []string{"done", d.Outcome, cmp.Or(d.Session, d.Thread), d.Title, cmp.Or(d.Agent, d.Program),
			strings.Join(details(d), ", "), age(a, d.Ended), ""})
	}
	for _, c := range r.Commits {
		rows = append(rows, []string{"commit", "committed", c.ID[:min(len(c.ID), 12)], c.Subject, "", "", a.Age(c.At), ""})
	}
	return rows
}

// settling notes the commands at what needs a person, for JSON.
func settling(a *cli.App, needs []news.Need) {
	for i, n := range needs {
		needs[i].How = a.Settle(n)
	}
}

func age(a *cli.App, t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return a.Age(t)
}

// details returns what a session or thread did.
func details(d news.Done) (list []string) {
	if d.Artifacts > 0 {
		list = append(list, textfmt.Count(d.Artifacts, "artifact"))
	}
	if d.Files > 0 {
		list = append(list, textfmt.Count(d.Files, "file")+" changed")
	}
	if d.Session == "" && d.Reason != "" {
		list = append(list, d.Reason)
	}
	if d.Verdict != "" {
		list = append(list, string(d.Verdict))
	}
	if d.Usage != nil && d.Usage.Cost != nil {
		list = append(list, textfmt.Cost(*d.Usage))
	}
	if d.Branch != "" {
		list = append(list, d.Branch)
	}
	if !d.Started.IsZero() && d.Ended.After(d.Started) {
		list = append(list, textfmt.Took(d.Ended.Sub(d.Started)))
	}
	return append(list, chained(d.Chain)...)
}

// chained returns which thread one continues, and which continue it.
func chained(c thread.Chain) (list []string) {
	if c.Continues.Thread != "" {
		text := "continues " + c.Continues.String()
		if c.ContinuesMissing {
			text += " (not on this machine)"
		}
		list = append(list, text)
	}
	for _, u := range c.ContinuedBy {
		list = append(list, "continued by "+u.String())
	}
	return list
}

// maxValue is the number of characters of a text in Markdown.
const maxValue = 160

// markdownNews prints news as a list for an issue, a chat or a mail. What others wrote is
// in code spans, in which nothing is a link, a mention or HTML.
func markdownNews(a *cli.App, p placeNews) {
	if p.Dir != "" {
		fmt.Fprintf(a.Out, "# %s\n\n", printable.Code(p.Dir, maxValue))
	}
	fmt.Fprintf(a.Out, "%s.\n", summary(a, p.Report))
	group := ""
	for _, row := range newsRows(a, p.Report) {
		if row[0] != group {
			group = row[0]
			fmt.Fprintf(a.Out, "\n## %s\n\n", strings.ToUpper(group[:1])+group[1:])
		}
		var parts []string
		for _, c := range []int{1, 2, 3, 4, 5} { // what, ref, text, by, done
			if text := printable.Code(row[c], maxValue); text != "" {
				parts = append(parts, text)
			}
		}
		fmt.Fprintf(a.Out, "- %s\n", strings.Join(parts, " · "))
	}
}
