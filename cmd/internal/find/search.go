// Package find has the commands that find things by their content, and
// threads.
package find

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/storage"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
	"github.com/agent-handoff/handoff/transcript"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/threads"
	"github.com/spf13/cobra"
)

// SearchCommand returns the command search.
func SearchCommand(a *cli.App) *cobra.Command {
	var o searchOptions
	c := &cobra.Command{
		Use:   "search [WORD…]",
		Short: "Search artifacts and their content, sessions, and threads",
		Long: `Search finds the artifacts, sessions and threads that contain all of the
words, in any case. A trailing * matches any ending. Matches are shown in
[brackets]. Superseded and withdrawn artifacts are included with --all only.

Of artifacts, titles, summaries, names, tags and content are searched; of
sessions, names, agents, workflows, user summaries, tags, inputs and outputs.
Content is searched if it is text of at most 1 MiB: its first 64 KiB, as
published. The content of withdrawn artifacts is not searched.

Of threads and their subagents, titles, messages, and the commands and
files of tool calls are searched. Several words in double quotes are a phrase.
Those of this repository are searched, with all its worktrees; --everywhere
searches all. Matches in titles come first, then matches in user messages. The
first search reads all threads and builds an index, which is kept in the
user's cache directory and can be deleted at any time.`,
		Example: "  handoff search retry policy\n  handoff search 'back* off' --limit 5 --json\n" +
			"  handoff search --in threads '\"exit 1\"' --tool Bash --since 7d\n  handoff search --path internal/cart.go",
		Args: cli.Between(0, math.MaxInt, "at least one word"),
	}
	o.add(c)
	a.JSONFlag(c, "print JSON", cli.Prints(searchResult{}))
	table := a.NewTable(c, matchColumns)
	c.RunE = func(c *cobra.Command, args []string) error {
		flags := c.Flags()
		if flags.Changed("columns") && !flags.Changed("in") {
			o.In = []string{workspace.InArtifacts} // whose columns they are
		}
		for _, name := range threadFilters {
			if !flags.Changed(name) {
				continue
			}
			if flags.Changed("in") && !slices.Contains(o.In, inThreads) {
				return cli.Invalid("search", "--"+name, "applies to threads only", "search with --in threads")
			}
			o.In = []string{inThreads}
		}
		o.Text = strings.Join(args, " ")
		set := thread.NewSet(all.Drivers(), a.Getenv, a.Getenv("HOME"))
		return a.Reading(func(w *workspace.Workspace) error { return o.run(c.Context(), a, w, set, table) })
	}
	return c
}

// inThreads is the scope of threads.
const inThreads = "threads"

// searchOptions are what is searched, and for what.
type searchOptions struct {
	workspace.SearchOptions
	threads threads.SearchOptions
}

// threadFilters are the flags that apply to threads only.
var threadFilters = []string{"provider", "cwd", "everywhere", "since", "until", "role", "agent", "tool", "path",
	"newest", "no-index"}

func (o *searchOptions) add(c *cobra.Command) {
	scopes := append(workspace.SearchScopes(), inThreads)
	f := c.Flags()
	f.StringSliceVar(&o.In, "in", scopes,
		"`scope` to search: artifacts, sessions, threads or several, separated by commas")
	f.BoolVar(&o.IncludeInactive, "all", false, "include superseded and withdrawn artifacts")
	f.IntVar(&o.Limit, "limit", 20, "maximum `number` of each; 0 for no limit")
	c.RegisterFlagCompletionFunc("in", cobra.FixedCompletions(scopes, cobra.ShellCompDirectiveNoFileComp))
	addThreadFilters(c, &o.threads.ListOptions)
	f.StringVar(&o.threads.From, "role", "", "search only texts of this `kind`: user, assistant, compaction or tool")
	f.StringVar(&o.threads.Role, "agent", "", "threads of subagents with this role or `name`")
	f.StringVar(&o.threads.Tool, "tool", "", "threads that called the tool with this `name`")
	f.StringVar(&o.threads.Path, "path", "", "threads whose calls name this file or directory: a `path` or its end")
	f.BoolVar(&o.threads.Newest, "newest", false, "order by time only")
	f.BoolVar(&o.threads.NoIndex, "no-index", false, "read the transcripts, not the index")
	cli.GroupFlags(c, "Threads", threadFilters...)
	c.RegisterFlagCompletionFunc("role", cobra.FixedCompletions(threads.Roles(), cobra.ShellCompDirectiveNoFileComp))
}

// A searchResult is the answer of search.
type searchResult struct {
	Threads []transcript.Match `json:"threads"`
	workspace.SearchResult
	Warnings []string `json:"warnings,omitempty"`

	rows [][]string // of Threads, in a table
}

// run searches and prints what was found.
func (o *searchOptions) run(ctx context.Context, a *cli.App, w *workspace.Workspace, set *thread.Set,
	table *cli.Table) error {
	r := searchResult{Threads: []transcript.Match{}}
	o.threads.Text, o.threads.Limit = o.Text, o.Limit
	if a.AsJSON && slices.Equal(o.In, []string{inThreads}) {
		return o.printEach(ctx, a, w.Threads(set))
	}
	rest := slices.DeleteFunc(slices.Clone(o.In), func(scope string) bool { return scope == inThreads })
	var err error
	if r.Matches, r.Sessions = []workspace.Match{}, []workspace.SessionMatch{}; len(rest) > 0 {
		of := o.SearchOptions
		of.In = rest
		if r.SearchResult, err = w.Search(ctx, of); err != nil {
			return err
		}
	}
	if len(rest) < len(o.In) {
		add := func(m transcript.Match) error {
			if a.AsJSON {
				r.Threads = append(r.Threads, m)
			} else {
				r.rows = append(r.rows, threadMatchRow(a, m))
			}
			return nil
		}
		more, warnings, err := w.Threads(set).EachMatch(ctx, o.threads, add)
		if err != nil {
			return err
		}
		r.Warnings, r.More = warnings, r.More || more
	}
	a.Warnings(r.Warnings)
	return o.print(a, r, table)
}

// printEach prints threads as JSON while they are found: all can be much.
func (o *searchOptions) printEach(ctx context.Context, a *cli.App, in threads.Collection) error {
	r := searchResult{Threads: []transcript.Match{},
		SearchResult: workspace.SearchResult{Matches: []workspace.Match{}, Sessions: []workspace.SessionMatch{}}}
	stopped := errors.New("stopped")
	each := func(yield func(transcript.Match, error) bool) {
		var err error
		r.More, r.Warnings, err = in.EachMatch(ctx, o.threads, func(m transcript.Match) error {
			if !yield(m, nil) {
				return stopped
			}
			return nil
		})
		if err != nil && !errors.Is(err, stopped) {
			yield(transcript.Match{}, err)
		}
	}
	return cli.JSONItems(a, "threads", each, func() any {
		a.Warnings(r.Warnings)
		return r
	})
}

var matchColumns = []cli.Column{
	{Name: "id", ID: true}, {Name: "channel", Rank: 3}, {Name: "by", Rank: 4},
	{Name: "title", Rank: 1, Text: true, Else: "path"},
	{Name: "path", Rank: 5, Long: true}, {Name: "age", Rank: 6},
	{Name: "match", Rank: 2, Text: true}, {Name: "status", Rank: 7, More: true}, cli.NoticeColumn,
}

var sessionMatchColumns = []cli.Column{
	{Name: "id", ID: true}, {Name: "status"}, {Name: "agent", Rank: 3}, {Name: "workflow", Rank: 4},
	{Name: "name", Rank: 1, Text: true}, {Name: "age", Rank: 5},
	{Name: "match", Rank: 2, Text: true},
}

// threadMatchColumns are those of threads.
var threadMatchColumns = []cli.Column{
	{Name: "message"}, {Name: "title", Rank: 2, Text: true}, {Name: "age", Rank: 3}, {Name: "match", Rank: 1, Text: true},
	{Name: "directory", More: true},
}

func (o *searchOptions) print(a *cli.App, r searchResult, table *cli.Table) error {
	if a.AsJSON {
		return a.JSONList("matches", r)
	}
	sections := 0
	section := func() {
		if sections++; sections > 1 && a.Terminal {
			fmt.Fprintln(a.Out)
		}
	}
	only := func(scope string) bool { return slices.Equal(o.In, []string{scope}) }
	if len(r.Matches) > 0 || len(r.Sessions)+len(r.rows) == 0 && slices.Contains(o.In, workspace.InArtifacts) {
		section()
		if err := printMatches(a, r.SearchResult, o.SearchOptions, table); err != nil {
			return err
		}
	}
	if len(r.Sessions) > 0 || only(workspace.InSessions) {
		section()
		if err := table.Print(sessionMatchColumns, sessionMatchRows(a, r.Sessions)); err != nil {
			return err
		}
	}
	if len(r.rows) > 0 || only(inThreads) {
		section()
		if err := table.Print(threadMatchColumns, r.rows); err != nil {
			return err
		}
	}
	if r.More {
		fmt.Fprintf(a.Err, "more results: --limit %d\n", 2*o.Limit)
	}
	if len(r.Matches)+len(r.Sessions)+len(r.rows) == 0 {
		fmt.Fprint(a.Err, noMatchHint(o.Text))
	}
	return nil
}

// noMatchHint returns how to search for what a word may be the beginning of. It is "" for several words.
func noMatchHint(word string) string {
	isPart := func(r rune) bool { return r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
	if word == "" || strings.TrimFunc(word, isPart) != "" {
		return ""
	}
	text := "WORD* finds longer words" // without the word, which may be a secret
	if strings.Trim(word, "0123456789abcdefABCDEF-") == "" {
		text += "; handoff thread finds an ID by its beginning, handoff why a commit"
	}
	return text + "\n"
}

func sessionMatchRows(a *cli.App, list []workspace.SessionMatch) [][]string {
	rows := make([][]string, len(list))
	for i, m := range list {
		s := m.Session
		rows[i] = []string{s.ID, s.Status, s.Agent.Name, s.Workflow.Name, s.DisplayName, a.Age(s.OpenedAt),
			marked(best(m.Snippets))}
	}
	return rows
}

// threadMatchRow names a thread by the message with the best snippet.
func threadMatchRow(a *cli.App, m transcript.Match) []string {
	uri, match := m.URI, storage.Snippet{}
	for _, s := range m.Snippets {
		if len(s.Pieces) > len(match.Pieces) {
			uri, match = s.URI, storage.Snippet{Field: s.Field, Text: s.Text, Pieces: s.Pieces}
		}
	}
	return []string{uri.String(), name(m.Item), a.Age(m.Modified), marked(match), m.Cwd}
}

func printMatches(a *cli.App, result workspace.SearchResult, o workspace.SearchOptions, table *cli.Table) error {
	rows := make([][]string, len(result.Matches))
	for i, m := range result.Matches {
		by, title, file := a.Describe(m.Artifact)
		rows[i] = []string{m.Artifact.ID, m.Artifact.Channel, by, title, file,
			a.Age(m.Artifact.CreatedAt), marked(best(m.Snippets)), string(m.Artifact.Status),
			cli.NoticeCell(m.Artifact.Notices())}
	}
	columns := slices.Clone(matchColumns)
	columns[len(columns)-2].More = !o.IncludeInactive
	return table.Print(columns, rows)
}

// best returns the first of the snippets that have the most matches.
func best(list []storage.Snippet) (b storage.Snippet) {
	for _, s := range list {
		if len(s.Pieces) > len(b.Pieces) {
			b = s
		}
	}
	return b
}

// marked returns a snippet with its matches in brackets.
func marked(s storage.Snippet) string {
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
