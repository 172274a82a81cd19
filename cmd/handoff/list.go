package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/local"
	"github.com/spf13/cobra"
)

// defaultLimit is how many artifacts a list shows unless told otherwise.
const defaultLimit = 50

// filterFlags select artifacts; list and watch share them.
type filterFlags struct {
	query        handoff.ArtifactQuery
	producer     []string
	slots        map[string]*string
	status       string
	since, until string
}

func (f *filterFlags) add(a *app, c *cobra.Command) {
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
	flags.BoolVar(&f.query.Hidden, "all", false, "of every status")
	flags.StringVar(&f.since, "since", "", "published at or after this `time`: 2h, 3d, 2026-11-21, or RFC 3339")
	flags.StringVar(&f.until, "until", "", "published before this `time`")
	c.RegisterFlagCompletionFunc("channel", a.completeChannels)
	c.RegisterFlagCompletionFunc("status", cobra.FixedCompletions([]string{"active", "superseded", "withdrawn"}, cobra.ShellCompDirectiveNoFileComp))
}

// resolve returns the query that the flags make.
func (f *filterFlags) resolve(a *app) (handoff.ArtifactQuery, error) {
	q := f.query
	producer, err := pairs("--producer", f.producer)
	if err != nil {
		return q, err
	}
	q.Producer = map[string]string{}
	for slot, value := range producer {
		q.Producer[slot] = value
	}
	for slot, value := range f.slots {
		if *value != "" {
			q.Producer[slot] = *value
		}
	}
	switch f.status {
	case "", string(handoff.Active), string(handoff.Superseded), string(handoff.Withdrawn):
		q.Status = handoff.Status(f.status)
	case "deleted": // the word of an earlier draft of the protocol
		q.Status = handoff.Withdrawn
	default:
		return q, invalid("--status", f.status, "no such status", "the statuses are active, superseded and withdrawn")
	}
	if q.Status != "" && q.Hidden {
		return q, invalid("--all", "", "means every status, and --status one", "leave one of them out")
	}
	if q.Since, err = moment("--since", f.since, a.now()); err != nil {
		return q, err
	}
	q.Until, err = moment("--until", f.until, a.now())
	return q, err
}

// moment parses a time: how long ago, a date, or RFC 3339.
func moment(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 && n < 100_000 {
			return now.AddDate(0, 0, -n), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return t, nil
		}
	}
	return time.Time{}, invalid(flag, text, "is no time", "write 2h, 3d, 2026-11-21 or 2026-11-21T09:00:00Z")
}

func listCommand(a *app) *cobra.Command {
	var filter filterFlags
	var channels, asJSON bool
	c := &cobra.Command{
		Use:     "list",
		Short:   "List artifacts, newest first",
		GroupID: find,
		Long: `List shows the artifacts that stand, newest first, and tells how many it hides
because they were replaced or withdrawn. Filters join with "and".`,
		Example: "  handoff list --channel design\n  handoff list --session $ID --since 2h --json\n  handoff list --channels",
		Args:    exactly(0, ""),
	}
	filter.add(a, c)
	c.Flags().IntVar(&filter.query.Limit, "limit", defaultLimit, "at most this `number`; 0 for all")
	c.Flags().StringVar(&filter.query.Cursor, "cursor", "", "go on where an earlier page ended, at its `cursor`")
	c.Flags().BoolVar(&channels, "channels", false, "count by channel")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.RunE = func(c *cobra.Command, args []string) error {
		q, err := filter.resolve(a)
		if err != nil {
			return err
		}
		if q.Limit < 0 {
			return invalid("--limit", strconv.Itoa(q.Limit), "is negative", "0 lists all")
		}
		return a.reading(func(w *local.Workspace) error {
			if channels {
				return a.listChannels(c.Context(), w, q, asJSON)
			}
			return a.list(c.Context(), w, q, asJSON)
		})
	}
	return c
}

func (a *app) list(ctx context.Context, w *local.Workspace, q handoff.ArtifactQuery, asJSON bool) error {
	page, err := w.Artifacts(ctx, q)
	if err != nil {
		return err
	}
	a.warnDamaged(page.Damaged)
	if asJSON {
		return a.json(page)
	}
	a.table(page.Artifacts, q.Hidden || q.Status != "")
	if page.Hidden > 0 {
		fmt.Fprintf(a.err, "%d more replaced or withdrawn; --all lists them\n", page.Hidden)
	}
	if page.Cursor != "" {
		fmt.Fprintf(a.err, "older ones: --cursor %s\n", page.Cursor)
	}
	return nil
}

func (a *app) listChannels(ctx context.Context, w *local.Workspace, q handoff.ArtifactQuery, asJSON bool) error {
	q.Limit, q.Cursor = 0, ""
	page, err := w.Artifacts(ctx, q)
	if err != nil {
		return err
	}
	a.warnDamaged(page.Damaged)
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
	for _, name := range sortedKeys(count) {
		list = append(list, channel{name, count[name], ""})
	}
	if asJSON {
		return a.json(list)
	}
	rows := make([][]string, len(list))
	for i, ch := range list {
		rows[i] = []string{ch.Name, strconv.Itoa(ch.Count), ch.Purpose}
	}
	a.rows([]string{"channel", "artifacts", "purpose"}, rows)
	return nil
}

func (a *app) warnDamaged(damaged []handoff.Seq) {
	for i, seq := range damaged {
		if i == 3 {
			a.warn("%d more records can't be read", len(damaged)-i)
			break
		}
		a.warn("record %d can't be read; handoff check tells more", seq)
	}
}
