package program

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/agent-handoff/handoff/cmd/internal/complete"
	"github.com/agent-handoff/handoff/cmd/internal/textfmt"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

// filterFlags select artifacts; list, watch and wait share them.
type filterFlags struct {
	filter   workspace.Filter
	producer []string
	fields   map[string]*string
}

func (f *filterFlags) add(a *cli.App, c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.filter.Channel, "channel", "", "filter by `channel` (purpose)")
	flags.StringVar(&f.filter.Kind, "kind", "", "filter by `kind` (form)")
	flags.StringVar(&f.filter.Tag, "tag", "", "filter by `tag`")
	flags.StringVar(&f.filter.Name, "name", "", "filter by `name` in a run or session")
	f.fields = map[string]*string{}
	for _, field := range []struct{ name, value, what string }{
		{"session", "ID", "session"}, {"run", "ID", "run"}, {"task", "ID", "task"}, {"operation", "ID", "operation"},
		{"work", "ID", "work"}, {"parent-work", "ID", "parent work"}, {"agent", "name", "agent"}, {"thread", "URI", "thread"},
	} {
		f.fields[field.name] = flags.String(field.name, "", "filter by "+field.what+" `"+field.value+"`")
	}
	flags.StringArrayVar(&f.producer, "producer", nil,
		"filter by any other field or ID, as `field=value`; may be repeated")
	flags.StringVar(&f.filter.From, "from", "", "made from this artifact, a `ref`")
	flags.StringVar(&f.filter.Status, "status", "", "filter by `status`: active, superseded or withdrawn")
	flags.BoolVar(&f.filter.IncludeInactive, "all", false, "include superseded and withdrawn artifacts")
	flags.StringVar(&f.filter.Since, "since", "", "published at or after `time`: 2h, 3d, friday, 2006-01-02 or RFC 3339")
	flags.StringVar(&f.filter.Until, "until", "", "published before `time`")
	for _, rare := range []string{"operation", "parent-work"} { // --producer selects by them, too
		flags.MarkHidden(rare)
	}
	cli.GroupFlags(c, "Producer filters", append(slices.Collect(maps.Keys(f.fields)), "producer")...)
	c.RegisterFlagCompletionFunc("channel", complete.Channels(a))
	c.RegisterFlagCompletionFunc("from", complete.Refs(a))
	for field := range f.fields {
		c.RegisterFlagCompletionFunc(field, complete.Slot(a, field))
	}
	c.RegisterFlagCompletionFunc("kind", complete.Artifacts(a, func(art handoff.Artifact) []string {
		return []string{art.Kind}
	}))
	c.RegisterFlagCompletionFunc("tag", complete.Artifacts(a, func(art handoff.Artifact) []string { return art.Tags }))
	c.RegisterFlagCompletionFunc("name", complete.Artifacts(a, func(art handoff.Artifact) []string {
		return []string{art.Name}
	}))
	c.RegisterFlagCompletionFunc("producer", complete.Artifacts(a, otherIDs))
	c.RegisterFlagCompletionFunc("status", cobra.FixedCompletions([]string{"active", "superseded", "withdrawn"},
		cobra.ShellCompDirectiveNoFileComp))
}

// otherIDs returns the IDs of an artifact's harness in the form of --producer.
func otherIDs(art handoff.Artifact) (pairs []string) {
	for field, id := range art.Producer.IDs {
		pairs = append(pairs, field+"="+id)
	}
	return pairs
}

// resolve returns the filter that the flags make.
func (f *filterFlags) resolve() (workspace.Filter, error) {
	filter := f.filter
	producer, err := cli.Pairs("--producer", f.producer)
	if err != nil {
		return filter, err
	}
	filter.Producer = map[string]string{}
	for field, value := range f.fields {
		if *value != "" {
			filter.Producer[field] = *value
		}
	}
	for name, value := range producer {
		if old, twice := filter.Producer[name]; twice && old != value {
			return filter, cli.Invalid("--producer", name+"="+value, "the "+name+" is already "+old, "leave one of them out")
		}
		filter.Producer[name] = value
	}
	return filter, nil
}

func listCommand(a *cli.App) *cobra.Command {
	var filter filterFlags
	var o workspace.ListOptions
	var channels bool
	var group string
	c := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List artifacts, newest first",
		Long: `List shows active artifacts, newest first, and how many superseded or withdrawn
ones it hides. Filters are combined with AND.

--used-by also counts tool calls that read the file. Such a use is reported as
inferred, with its message, and needs an index of threads.`,
		Example: "  handoff list --channel design\n  handoff list --session $ID --since 2h --json\n  handoff list --channels",
		Args:    cli.Exactly(0, ""),
	}
	filter.add(a, c)
	c.Flags().StringVar(&filter.filter.Path, "path", "", "published from this `file`, in any worktree")
	c.Flags().StringVar(&filter.filter.Label, "label", "", "filter by label `name`")
	c.Flags().StringVar(&filter.filter.UsedBy, "used-by", "",
		"filter by the `agent`, session, run or thread that read it")
	c.Flags().BoolVar(&filter.filter.Stale, "stale", false,
		"only artifacts made from something that was replaced or withdrawn since")
	c.Flags().BoolVar(&filter.filter.Competing, "competing", false, "only artifacts with another active revision")
	c.Flags().IntVar(&o.Limit, "limit", cli.DefaultLimit, "maximum `number` of artifacts; 0 for no limit")
	c.Flags().StringVar(&o.Cursor, "cursor", "", "continue an earlier list at its `cursor`")
	for _, name := range []string{"competing", "cursor", "work"} {
		c.Flags().MarkHidden(name)
	}
	c.Flags().StringVar(&group, "group", "", "group by this `kind`: agent, task or session")
	c.RegisterFlagCompletionFunc("group", cobra.FixedCompletions([]string{"agent", "task", "session"},
		cobra.ShellCompDirectiveNoFileComp))
	c.Flags().BoolVar(&channels, "channels", false, "show the number of artifacts in each channel")
	c.MarkFlagsMutuallyExclusive("group", "channels")
	a.JSONFlag(c, "print JSON",
		cli.Prints(handoff.ArtifactPage{}), cli.PrintsWith("channels", workspace.ChannelList{}))
	table := a.NewTable(c, cli.ArtifactColumns, channelColumns)
	c.MarkFlagsMutuallyExclusive("group", "json")
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		if o.Filter, err = filter.resolve(); err != nil {
			return err
		}
		return a.Reading(func(w *workspace.Workspace) error {
			if channels {
				return listChannels(c.Context(), a, w, o.Filter, table)
			}
			if o.UsedBy != "" {
				o.Threads = thread.NewSet(all.Drivers(), a.Getenv, a.Getenv("HOME"))
			}
			return list(c.Context(), a, w, o, group, table)
		})
	}
	return c
}

func list(ctx context.Context, a *cli.App, w *workspace.Workspace, o workspace.ListOptions, group string,
	table *cli.Table) error {
	show := table.Artifacts
	if o.IncludeInactive || o.Status != "" {
		show = table.Revisions
	}
	var last handoff.ArtifactPage
	pages := func(yield func(handoff.ArtifactPage, error) bool) {
		first := true
		for page, err := range o.Pages(ctx, w) {
			if last = page; first {
				warnDamaged(a, page.Damaged)
			}
			printInferred(a, o.UsedBy, page.Artifacts)
			if first = false; !yield(page, err) {
				return
			}
		}
	}
	if a.AsJSON {
		return cli.JSONItems(a, "artifacts", artifactsOf(pages), func() any {
			last.Artifacts = []handoff.Artifact{}
			return last
		})
	}
	var rows []handoff.Artifact // a table needs all of them, a pipe only the first page to show that there are none
	held := true
	for page, err := range pages {
		if err != nil {
			return err
		}
		if rows = append(rows, page.Artifacts...); a.Terminal || group != "" {
			continue
		}
		if held || len(rows) > 0 {
			if err := show(rows); err != nil {
				return err
			}
		}
		rows, held = nil, false
	}
	if a.Terminal || group != "" {
		if err := showGroups(ctx, a, w, group, rows, show); err != nil {
			return err
		}
	}
	if last.HiddenCount > 0 {
		most := ""
		if last.HiddenCount == handoff.MaxHidden {
			most = "at least "
		}
		fmt.Fprintf(a.Err, "%s%d more superseded or withdrawn; --all includes them\n", most, last.HiddenCount)
	}
	if last.Cursor != "" {
		fmt.Fprintf(a.Err, "more artifacts: --cursor %s\n", last.Cursor)
	}
	return nil
}

// showGroups prints a table for each group, under its name, or one table without groups.
func showGroups(ctx context.Context, a *cli.App, w *workspace.Workspace, by string, list []handoff.Artifact,
	show func([]handoff.Artifact) error) error {
	if by == "" {
		return show(list)
	}
	groups, err := w.Grouped(ctx, by, list)
	if len(groups) == 0 && err == nil {
		return show(list)
	}
	for i, g := range groups {
		if i > 0 {
			fmt.Fprintln(a.Out)
		}
		head := by + " " + g.Key
		if g.Key == "" {
			head = "no " + by
		}
		fmt.Fprintln(a.Out, textfmt.OneLine(strings.TrimSpace(head+"  "+g.Name)))
		if err := show(g.Artifacts); err != nil {
			return err
		}
	}
	return err
}

// printInferred reports the artifacts for which only a transcript shows that somebody
// used them.
func printInferred(a *cli.App, usedBy string, list []handoff.Artifact) {
	for _, art := range list {
		for _, u := range art.UsedBy {
			if usedBy != "" && u.Inferred && !a.AsJSON {
				fmt.Fprintf(a.Err, "%s: use inferred from %s\n", textfmt.OneLine(a.Named(art)), u.Thread)
			}
		}
	}
}

// artifactsOf yields the artifacts of pages.
func artifactsOf(pages iter.Seq2[handoff.ArtifactPage, error]) iter.Seq2[handoff.Artifact, error] {
	return func(yield func(handoff.Artifact, error) bool) {
		for page, err := range pages {
			if err != nil {
				yield(handoff.Artifact{}, err)
				return
			}
			for _, art := range page.Artifacts {
				if !yield(art, nil) {
					return
				}
			}
		}
	}
}

var channelColumns = []cli.Column{{Name: "channel"}, {Name: "artifacts", Rank: 1},
	{Name: "purpose", Rank: 2, Text: true}}

func listChannels(ctx context.Context, a *cli.App, w *workspace.Workspace, f workspace.Filter, table *cli.Table) error {
	list, err := w.Channels(ctx, f)
	if err != nil {
		return err
	}
	warnDamaged(a, list.Damaged)
	if a.AsJSON {
		return a.JSONList("channels", list)
	}
	rows := make([][]string, len(list.Channels))
	for i, ch := range list.Channels {
		rows[i] = []string{ch.Name, strconv.Itoa(ch.Count), ch.Purpose}
	}
	return table.Print(channelColumns, rows)
}

func warnDamaged(a *cli.App, damaged []handoff.Seq) {
	const shown = 3
	for i, seq := range damaged {
		if i == shown {
			a.Warn("%d more records can't be read", len(damaged)-i)
			break
		}
		a.Warn("record %d can't be read; run: %s", seq, cli.CommandLine(handoff.ActionCheck))
	}
}
