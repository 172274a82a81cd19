package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

// filterFlags select artifacts; list and watch share them.
type filterFlags struct {
	query        handoff.ArtifactQuery
	producer     []string
	slots        map[string]*string
	status       string
	since, until string
}

func (f *filterFlags) add(a *cli.App, c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.query.Channel, "channel", "", "of this `channel`")
	flags.StringVar(&f.query.Kind, "kind", "", "of this `kind`")
	flags.StringVar(&f.query.Tag, "tag", "", "with this `tag`")
	flags.StringVar(&f.query.Name, "name", "", "with this `name` in its run")
	f.slots = map[string]*string{}
	for _, slot := range []string{"session", "run", "task", "operation", "work", "parent-work", "agent", "thread"} {
		f.slots[slot] = flags.String(slot, "", "whose producer has this `"+slot+"`")
	}
	flags.StringArrayVar(&f.producer, "producer", nil, "whose producer has `slot=value`; may be repeated")
	flags.StringVar(&f.status, "status", "", "of this `status`: active, superseded or withdrawn")
	flags.BoolVar(&f.query.IncludeInactive, "all", false, "of every status")
	flags.StringVar(&f.since, "since", "", "published at or after this `time`: 2h, 3d, 2026-11-21, or RFC 3339")
	flags.StringVar(&f.until, "until", "", "published before this `time`")
	c.RegisterFlagCompletionFunc("channel", a.CompleteChannels)
	c.RegisterFlagCompletionFunc("status", cobra.FixedCompletions([]string{"active", "superseded", "withdrawn"}, cobra.ShellCompDirectiveNoFileComp))
}

// resolve returns the query that the flags make.
func (f *filterFlags) resolve(a *cli.App) (handoff.ArtifactQuery, error) {
	q := f.query
	producer, err := cli.Pairs("--producer", f.producer)
	if err != nil {
		return q, err
	}
	q.Producer = map[string]string{}
	for slot, value := range f.slots {
		if *value != "" {
			q.Producer[slot] = *value
		}
	}
	for name, value := range producer {
		slot := handoff.SlotName(name)
		if had, twice := q.Producer[slot]; twice && had != value {
			return q, cli.Invalid("--producer", name+"="+value, "the "+slot+" is "+had+" already", "leave one of them out")
		}
		q.Producer[slot] = value
	}
	switch f.status {
	case "", string(handoff.Active), string(handoff.Superseded), string(handoff.Withdrawn):
		q.Status = handoff.Status(f.status)
	case "deleted": // the word of an earlier draft of the protocol
		q.Status = handoff.Withdrawn
	default:
		return q, cli.Invalid("--status", f.status, "no such status", "the statuses are active, superseded and withdrawn")
	}
	if q.Status != "" && q.IncludeInactive {
		return q, cli.Invalid("--all", "", "means every status, and --status one", "leave one of them out")
	}
	if q.Since, err = cli.Moment("--since", f.since, a.Now()); err != nil {
		return q, err
	}
	q.Until, err = cli.Moment("--until", f.until, a.Now())
	return q, err
}

func listCommand(a *cli.App) *cobra.Command {
	var filter filterFlags
	var channels bool
	c := &cobra.Command{
		Use:     "list",
		Short:   "List artifacts, newest first",
		GroupID: cli.Find,
		Long: `List shows the artifacts that stand, newest first, and tells how many it hides
because they were replaced or withdrawn. Filters join with "and".`,
		Example: "  handoff list --channel design\n  handoff list --session $ID --since 2h --json\n  handoff list --channels",
		Args:    cli.Exactly(0, ""),
	}
	filter.add(a, c)
	c.Flags().IntVar(&filter.query.Limit, "limit", cli.DefaultLimit, "at most this `number`; 0 for all")
	c.Flags().StringVar(&filter.query.Cursor, "cursor", "", "go on where an earlier page ended, at its `cursor`")
	c.Flags().BoolVar(&channels, "channels", false, "count by channel")
	a.JSONFlag(c, "print JSON")
	c.RunE = func(c *cobra.Command, args []string) error {
		q, err := filter.resolve(a)
		if err != nil {
			return err
		}
		if q.Limit < 0 {
			return cli.Invalid("--limit", strconv.Itoa(q.Limit), "is negative", "0 lists all")
		}
		return a.Reading(func(w *workspace.Workspace) error {
			if channels {
				return listChannels(c.Context(), a, w, q)
			}
			return list(c.Context(), a, w, q)
		})
	}
	return c
}

func list(ctx context.Context, a *cli.App, w *workspace.Workspace, q handoff.ArtifactQuery) error {
	page, err := w.Artifacts(ctx, q)
	if err != nil {
		return err
	}
	warnDamaged(a, page.Damaged)
	if a.AsJSON {
		return a.JSON(page)
	}
	show := a.Artifacts
	if q.IncludeInactive || q.Status != "" {
		show = a.Revisions
	}
	show(page.Artifacts)
	if page.HiddenCount > 0 {
		fmt.Fprintf(a.Err, "%d more replaced or withdrawn; --all lists them\n", page.HiddenCount)
	}
	if page.Cursor != "" {
		fmt.Fprintf(a.Err, "older ones: --cursor %s\n", page.Cursor)
	}
	return nil
}

func listChannels(ctx context.Context, a *cli.App, w *workspace.Workspace, q handoff.ArtifactQuery) error {
	q.Limit, q.Cursor = 0, ""
	page, err := w.Artifacts(ctx, q)
	if err != nil {
		return err
	}
	warnDamaged(a, page.Damaged)
	count := map[string]int{}
	for _, art := range page.Artifacts {
		count[art.Channel]++
	}
	type channel struct {
		Name    string `json:"name"`
		Count   int    `json:"count"`
		Purpose string `json:"purpose,omitempty"`
	}
	list := []channel{}
	for _, known := range w.Config.Purposes() {
		list = append(list, channel{known[0], count[known[0]], known[1]})
		delete(count, known[0])
	}
	for _, name := range cli.SortedKeys(count) {
		list = append(list, channel{name, count[name], ""})
	}
	if a.AsJSON {
		return a.JSON(list)
	}
	rows := make([][]string, len(list))
	for i, ch := range list {
		rows[i] = []string{ch.Name, strconv.Itoa(ch.Count), ch.Purpose}
	}
	a.Table([]string{"channel", "artifacts", "purpose"}, rows)
	return nil
}

func warnDamaged(a *cli.App, damaged []handoff.Seq) {
	for i, seq := range damaged {
		if i == 3 {
			a.Warn("%d more records can't be read", len(damaged)-i)
			break
		}
		a.Warn("record %d can't be read; handoff check tells more", seq)
	}
}
