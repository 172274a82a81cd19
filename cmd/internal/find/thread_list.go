package find

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/internal/tool/heap"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
	"github.com/agent-handoff/handoff/transcript"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/threads"
	"github.com/spf13/cobra"
)

// defaultThreads is how many threads a list has unless more are requested.
const defaultThreads = 20

// listThreads lists threads.
type listThreads struct {
	threads.ListOptions
	Status string
	table  *cli.Table
}

// selecting are the flags that select threads, as a URI does.
var selecting = []string{"provider", "cwd", "everywhere", "gone", "agent"}

// listOnly are the flags that do not go with the URI of one thread.
var listOnly = append(selecting, "since", "until", "model", "cursor", "agents", "no-index")

func (l *listThreads) add(c *cobra.Command) {
	f := c.Flags()
	f.StringSliceVar(&l.Providers, "provider", nil, "filter by provider `name`; several are separated by commas")
	f.StringVar(&l.Dir, "cwd", "", "threads in this `directory` and below it")
	f.BoolVar(&l.Everywhere, "everywhere", false, "threads in all directories")
	f.BoolVar(&l.Gone, "gone", false, "threads in directories that no longer exist and are of no known repository")
	f.StringVar(&l.Role, "agent", "", "threads with a subagent of this role or `name`")
	f.StringVar(&l.Since, "since", "", "last written at or after `time`: 2h, 3d, friday, 2006-01-02 or RFC 3339")
	f.StringVar(&l.Until, "until", "", "last written before `time`")
	f.StringVar(&l.Model, "model", "", "filter by part of the `name` of a model")
	f.StringVar(&l.Cursor, "cursor", "", "continue an earlier list at its `cursor`")
	f.BoolVar(&l.Agents, "agents", false, "show subagents under their threads")
	f.BoolVar(&l.NoIndex, "no-index", false, "read the transcripts, not the index of threads")
	f.MarkHidden("gone") // a list that has such threads names it
	cli.GroupFlags(c, "Lists of threads", listOnly...)
}

// addThreadFilters adds the flags that lists and searches of threads share.
func addThreadFilters(c *cobra.Command, o *threads.ListOptions) {
	f := c.Flags()
	f.StringSliceVar(&o.Providers, "provider", nil, "filter by provider `name`; several are separated by commas")
	f.StringVar(&o.Dir, "cwd", "", "threads in this `directory` and below it")
	f.BoolVar(&o.Everywhere, "everywhere", false, "threads in all directories")
	f.StringVar(&o.Since, "since", "", "last written at or after `time`: 2h, 3d, friday, 2006-01-02 or RFC 3339")
	f.StringVar(&o.Until, "until", "", "last written before `time`")
	c.MarkFlagsMutuallyExclusive("everywhere", "cwd")
	c.RegisterFlagCompletionFunc("provider", cobra.FixedCompletions(providerNames(), cobra.ShellCompDirectiveNoFileComp))
}

var threadColumns = []cli.Column{
	{Name: "uri"}, {Name: "title", Rank: 1, Text: true}, {Name: "directory", Rank: 5, Text: true},
	{Name: "branch", Rank: 6}, {Name: "status", Rank: 3},
	{Name: "age", Rank: 2}, {Name: "tokens", Rank: 4}, {Name: "messages", More: true}, {Name: "model", More: true},
}

// run lists the threads that the flags and the URI select.
func (l *listThreads) run(c *cobra.Command, a *cli.App, set *thread.Set, sel transcript.Selection,
	uri string) error {
	if err := given(c, uri, "lists threads", printOnly...); err != nil {
		return err
	}
	if uri != "" {
		if err := given(c, uri, "the URI selects threads", selecting...); err != nil {
			return err
		}
		l.Providers, l.Dir, l.Role, l.Everywhere = sel.Providers, sel.Dir, sel.Role, sel.Dir == ""
	}
	if sel.Limit >= 0 && !c.Flags().Changed("limit") {
		l.Limit = sel.Limit
	}
	l.ListOptions.Status = thread.Status(l.Status)
	a.Warnings(sel.Warnings)
	if sel.Words != "" {
		if err := given(c, uri, "the URI searches threads", "cursor", "agents"); err != nil {
			return err
		}
		o := searchOptions{SearchOptions: workspace.SearchOptions{Text: sel.Words, Limit: l.Limit, In: []string{inThreads}}}
		o.threads.ListOptions = l.ListOptions
		return a.Reading(func(w *workspace.Workspace) error { return o.run(c.Context(), a, w, set, l.table) })
	}
	heap.Grow(a.Getenv, 800) // for the names of many transcripts
	return a.Reading(func(w *workspace.Workspace) error {
		page, err := w.Threads(set).List(c.Context(), l.ListOptions)
		if err != nil {
			return err
		}
		a.Warnings(page.Warnings)
		if a.AsJSON {
			return a.JSONList("threads", page)
		}
		if err := l.table.Print(threadColumns, threadRows(a, page)); err != nil {
			return err
		}
		if page.Cursor != "" {
			fmt.Fprintf(a.Err, "more threads: --cursor %s\n", page.Cursor)
		}
		if page.Gone > 0 {
			fmt.Fprintf(a.Err, "%s in directories that no longer exist, of no known repository: --gone lists them\n",
				textfmt.Count(page.Gone, "thread"))
		}
		return nil
	})
}

// threadRows returns the rows of threads, each followed by its subagents.
func threadRows(a *cli.App, page transcript.Page) (rows [][]string) {
	for _, i := range page.Threads {
		rows = append(rows, []string{i.URI.String(), name(i), i.Cwd, i.Branch, string(i.State.Status), a.Age(i.Modified),
			tokens(i.Thread), strconv.Itoa(i.Messages), model(i.Thread)})
		for _, agent := range i.Agents {
			row := []string{agent.URI.String(), agentName(agent), "", "", string(agent.State.Status), "", "", "", ""}
			if !agent.Updated.IsZero() {
				row[5] = a.Age(agent.Updated)
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// name returns what a thread is known by, and whether only a copy is left and its directory is gone.
func name(i transcript.Item) string {
	text := i.Name()
	if !i.KeptAt.IsZero() {
		text += " (kept copy)"
	}
	if i.DirectoryGone {
		text += " (directory gone)"
	}
	return strings.TrimSpace(text)
}

// tokens returns the number of tokens that a thread used, with a plus sign if
// it used more than are recorded.
func tokens(t *thread.Thread) string {
	switch t.Usage.Completeness {
	case thread.NoUsage, "":
		return ""
	case thread.LowerBound:
		return strconv.FormatInt(t.Usage.Total(), 10) + "+"
	}
	return strconv.FormatInt(t.Usage.Total(), 10)
}

// model returns the model that a thread used last.
func model(t *thread.Thread) string {
	if n := len(t.Usage.Models); n > 0 {
		return t.Usage.Models[n-1].Model
	}
	return ""
}

// agentName returns the name and role of a subagent.
func agentName(a thread.Agent) string {
	if a.Name == "" || a.Role == "" {
		return "  " + a.Name + a.Role
	}
	return "  " + a.Name + " (" + a.Role + ")"
}

func providerNames() []string {
	return thread.NewSet(all.Drivers(), func(string) string { return "" }, "").Names()
}
