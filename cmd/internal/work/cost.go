package work

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/trace"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/cmd/internal/report"
	"github.com/agent-handoff/handoff/internal/tool/heap"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/places"
	"github.com/agent-handoff/handoff/workspace/work"
	"github.com/spf13/cobra"
)

var costColumns = []cli.Column{
	{Name: "group", ID: true}, {Name: "name", Rank: 7, Text: true}, {Name: "cost"}, {Name: "share", Rank: 6},
	{Name: "tokens", Rank: 1}, {Name: "output", Rank: 5},
	{Name: "conversations", Rank: 4}, {Name: "artifacts", Rank: 3}, {Name: "each", Rank: 2},
	{Name: "input", More: true}, {Name: "cache-read", More: true}, {Name: "cache-write", More: true},
	{Name: "cache", More: true}, {Name: "reasoning", More: true},
	{Name: "each-active", More: true},
	{Name: "failed", More: true}, {Name: "failed-with-artifacts", More: true}, {Name: "revisions", More: true},
	{Name: "refs", More: true},
	{Name: "read", More: true}, {Name: "stayed", More: true}, {Name: "usage", More: true},
	{Name: "transcript", More: true},
	{Name: "agents", More: true, Text: true}, {Name: "programs", More: true, Text: true},
	{Name: "sessions", More: true},
}

const costHelp = `Cost adds up what the threads of this repository used, and what programs
reported for their work. Each token is counted once, with those of subagents. A
program that reported usage is preferred to the transcript.

NAME selects some of that: a session, the URI of a thread, the ref of an
artifact, an issue, an agent, a program, a model, work, or a field of artifacts
such as a channel, tag or task. Rows are sessions by default, with NAME threads
or what has the name.

≥ marks a lower bound: a transcript is incomplete, or a model has no known
price. EACH is the cost of a row divided by the number of artifacts whose cost
is known. The prices are built in. docs/cost.md has the rules, what --columns
adds, and how a thread that published several artifacts is shared.`

// collectAt returns the percentage of new memory at which garbage is collected. Of
// transcripts nearly all that remains is the result: collecting less often takes 8% less
// processor time, for 14 MB more of 600 MB. Groups that divide what a thread published are
// added up from parts, which are many in a large log.
func collectAt(by string) int {
	switch by {
	case "", "session", "thread", "agent", "program", "outcome":
		return 400
	}
	return 30
}

func costCommand(a *cli.App) *cobra.Command {
	var o work.CostOptions
	var asCSV, allPlaces bool
	c := &cobra.Command{
		Use:   "cost [NAME]",
		Short: "Show what sessions, agents or artifacts cost",
		Long:  costHelp,
		Example: "  handoff cost --by agent --since 7d\n  handoff cost --by label --csv > cost.csv\n" +
			"  handoff cost codex --by session",
		Args: cli.Between(0, 1, "at most one name"),
	}
	f := c.Flags()
	f.StringVar(&o.By, "by", "", "group by this `kind`: "+strings.Join(work.CostGroups(), ", "))
	f.StringVar(&o.Since, "since", "", "what was used at or after `time`: 2h, 3d, friday, 2006-01-02 or RFC 3339")
	f.StringVar(&o.Until, "until", "", "what was used before `time`")
	everywhereFlag(c, &allPlaces)
	f.StringVar(&o.Prices, "prices", "", "`file` with prices that count before the built-in ones; see docs/cost.md")
	f.BoolVar(&o.NoIndex, "no-index", false, "read the transcripts, not the index of threads")
	f.BoolVar(&o.Change, "change", false, "compare the total with that of the period before, of the same length")
	f.BoolVar(&asCSV, "csv", false, "print CSV with a header")
	c.RegisterFlagCompletionFunc("by", cobra.FixedCompletions(work.CostGroups(), cobra.ShellCompDirectiveNoFileComp))
	a.JSONFlag(c, "print JSON", answersOf(work.CostReport{}, places.Costs{})...)
	c.MarkFlagsMutuallyExclusive("csv", "json")
	table := a.NewTable(c, everywhere(costColumns))
	c.RunE = func(c *cobra.Command, args []string) error {
		o.Name = strings.Join(args, "")
		defer heap.Set(a.Getenv, collectAt(o.By))()
		set := thread.NewSet(all.Drivers(), a.Getenv, a.Getenv("HOME"))
		if o.Name != "" && allPlaces {
			return cli.Invalid("cost", o.Name, "--everywhere can't be used with a name", "leave out --everywhere")
		}
		if allPlaces || o.Name == "" && !isPlace(a) {
			if o.Change {
				return cli.Invalid("cost", "", "--change can't be used for all places", "use it in a repository")
			}
			r, err := places.Cost(c.Context(), a.Dir, a.Options(), set, o)
			if err != nil {
				return err
			}
			return printCosts(a, table, r, asCSV)
		}
		return a.Reading(func(w *workspace.Workspace) error {
			r, err := w.Work(set).Cost(c.Context(), o)
			if err != nil {
				return err
			}
			return printCost(a, table, r, asCSV)
		})
	}
	return c
}

// printCost prints the cost of this repository.
func printCost(a *cli.App, table *cli.Table, r work.CostReport, asCSV bool) error {
	a.Warnings(r.Warnings)
	if a.AsJSON {
		return a.JSONList("rows", r)
	}
	if asCSV {
		return report.CostCSV(a.Out, []places.Spending{{CostReport: r}})
	}
	if err := table.Print(costColumns, costRows(a, r)); err != nil {
		return err
	}
	if r.Chain != nil {
		fmt.Fprintln(a.Err, "with the threads that it continues: "+textfmt.Cost(*r.Chain))
	}
	printTotal(a, r)
	printPrices(a, r.Prices)
	return nil
}

// costRows returns the rows of a table, at the end unattributed usage and the total.
func costRows(a *cli.App, r work.CostReport) (rows [][]string) {
	for _, row := range report.CostRows(r) {
		u := row.Amount
		rows = append(rows, []string{row.Key, row.Name, textfmt.Cost(u), bar(a, row, r.Total), textfmt.Tokens(u.TotalTokens),
			textfmt.Tokens(u.Output),
			strconv.Itoa(row.Threads), strconv.Itoa(row.Artifacts), textfmt.Dollars(row.CostPerArtifact),
			textfmt.Tokens(u.Input),
			textfmt.Tokens(u.CacheRead),
			textfmt.Tokens(u.CacheWrite), textfmt.Percent(row.CacheRate), textfmt.Tokens(u.Reasoning),
			textfmt.Dollars(row.CostPerActive), strconv.Itoa(row.Failed), strconv.Itoa(row.FailedOut),
			strconv.Itoa(row.Revisions),
			strconv.Itoa(row.RefsPassed), bytes(row.BytesRead), bytes(row.BytesStayed), string(u.Completeness),
			textfmt.Tokens(report.ByTranscript(row).TotalTokens),
			strings.Join(row.Agents, ","), strings.Join(row.Programs, ","), strings.Join(row.Sessions, ",")})
	}
	return rows
}

// bytes returns a number of bytes, - if it is not known.
func bytes(n *int64) string {
	if n == nil {
		return "-"
	}
	return textfmt.Size(*n)
}

// bar returns the share of a row in the total, as a bar on a terminal.
func bar(a *cli.App, row, total trace.CostRow) string {
	const width = 10
	part, all := row.Amount.Cost, total.Amount.Cost
	if part == nil || all == nil || *all == 0 {
		return ""
	}
	share := *part / *all
	if !a.Terminal {
		return fmt.Sprintf("%.0f%%", 100*share)
	}
	eighths := int(share*width*8 + 0.5)
	text := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		text += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return text
}

// sections returns the places in which something was used or published, and the total of all.
func sections(r places.Costs) (list []places.Spending) {
	for _, p := range r.Places {
		if t := p.Total; t.Threads == 0 && t.Artifacts == 0 && t.Amount.Cost == nil && t.Amount.TotalTokens == nil {
			continue
		}
		p.Dir = cmp.Or(p.Dir, "other directories")
		list = append(list, p)
	}
	all := places.Spending{Dir: "all places"}
	for _, p := range list {
		all.Total.Threads, all.Total.Artifacts = all.Total.Threads+p.Total.Threads, all.Total.Artifacts+p.Total.Artifacts
		all.Prices = p.Prices
	}
	all.Total.Amount = r.Total
	return append(list, all)
}

// printCosts prints the costs of places.
func printCosts(a *cli.App, table *cli.Table, r places.Costs, asCSV bool) error {
	a.Warnings(r.Warnings)
	list := sections(r)
	switch {
	case a.AsJSON:
		return a.JSONList("places", r)
	case asCSV:
		return report.CostCSV(a.Out, list)
	}
	if err := table.Check(everywhere(costColumns)); err != nil {
		return err
	}
	for i, p := range list {
		rows := costRows(a, p.CostReport)
		if i == len(list)-1 {
			rows = rows[1:] // nothing is unattributed there
		}
		heading(a, p.Dir, i)
		if err := printPlace(a, table, p.Dir, costColumns, rows); err != nil {
			return err
		}
	}
	printPrices(a, list[len(list)-1].Prices)
	return nil
}

// printTotal prints how the total compares with that of the period before, and what was read
// from caches.
func printTotal(a *cli.App, r work.CostReport) {
	if !a.Terminal {
		return
	}
	if c := r.Change; c != nil && c.Rate == nil && c.RecordedRate == nil {
		fmt.Fprintf(a.Err, "%s; not compared: %s\n", textfmt.Change(*c), textfmt.OneLine(c.Reason))
	} else if c != nil {
		fmt.Fprintln(a.Err, textfmt.Change(*c))
	}
	if rate := r.Total.CacheRate; rate != nil {
		fmt.Fprintln(a.Err, "cache "+textfmt.Percent(rate))
	}
}

func printPrices(a *cli.App, p work.PriceSource) {
	if a.Terminal && p.Date != "" {
		fmt.Fprintf(a.Err, "prices of %s from %s\n", p.Date, textfmt.OneLine(p.Source))
	}
}
