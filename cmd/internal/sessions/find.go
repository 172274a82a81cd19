package sessions

import (
	"context"
	"errors"
	"fmt"

	"github.com/agent-handoff/handoff/cmd/internal/complete"
	"github.com/agent-handoff/handoff/session"

	"github.com/agent-handoff/handoff/workspace/sessions"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

var sessionColumns = []cli.Column{
	{Name: "id", ID: true}, {Name: "status"}, {Name: "agent", Rank: 2}, {Name: "workflow", Rank: 3},
	{Name: "name", Rank: 1, Text: true},
	{Name: "outputs", Rank: 5, Text: true}, {Name: "age", Rank: 4},
	cli.NoticeColumn,
}

func findCommand(a *cli.App) *cobra.Command {
	var f sessions.Filter
	c := &cobra.Command{
		Use:   "find",
		Short: "List sessions, newest first",
		Long: `Find lists the sessions that match every filter. The one that started last comes
first. Runs inside sessions are included with --agent, --workflow, --output-type
or --runs. With --workflow, the number of each execution follows the name of its
workflow: deep-dive-app#2. With --unrecorded, find lists session folders that
are not recorded instead, by the UUID that is their name.`,
		Example: "  handoff session find --agent casey --workflow '^deep-dive-' --status completed\n" +
			"  handoff session find --since 7d --output-type document --limit 1 --json",
		Args: cli.Exactly(0, ""),
	}
	flags := c.Flags()
	flags.StringVar(&f.Agent, "agent", "", "filter by agent `name` or title")
	flags.StringVar(&f.Workflow, "workflow", "", "filter by workflow name, with a `regexp`")
	flags.StringVar(&f.Status, "status", "", "filter by `status`: running, completed, failed, cancelled or stalled")
	flags.StringVar(&f.Since, "since", "", "started at or after `time`: 2h, 3d, friday, 2006-01-02 or RFC 3339")
	flags.StringVar(&f.Until, "until", "", "started before `time`")
	flags.StringVar(&f.User, "user", "", "filter by user `name`")
	flags.StringVar(&f.Tag, "tag", "", "filter by `tag`")
	flags.StringVar(&f.OutputType, "output-type", "", "filter by output `type`: document, data, report or artifact")
	flags.StringVar(&f.Notice, "notice", "",
		"filter by the `name` of a notice: session_failed, output_missing, process_gone or silent")
	flags.BoolVar(&f.IncludeRuns, "runs", false, "include runs inside sessions")
	flags.BoolVar(&f.Archived, "archived", false, "list archived sessions instead")
	flags.BoolVar(&f.Deleted, "deleted", false, "list the sessions in the trash instead")
	c.MarkFlagsMutuallyExclusive("archived", "deleted")
	flags.IntVar(&f.Limit, "limit", cli.DefaultLimit, "maximum `number` of sessions; 0 for no limit")
	flags.StringVar(&f.Cursor, "cursor", "", "continue an earlier list at its `cursor`")
	var unrecorded bool
	flags.BoolVar(&unrecorded, "unrecorded", false, "list the session folders that are not recorded instead")
	for _, filter := range []string{"agent", "workflow", "status", "since", "until", "user", "tag", "output-type",
		"notice", "runs", "archived", "deleted", "limit", "cursor"} {
		c.MarkFlagsMutuallyExclusive("unrecorded", filter)
	}
	a.JSONFlag(c, "print JSON", cli.Prints(session.Page{}), cli.PrintsWith("unrecorded", sessions.Adoptions{}))
	table := a.NewTable(c, sessionColumns)
	completeFilters(a, c)
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.Reading(func(w *workspace.Workspace) error {
			if !unrecorded {
				return find(c.Context(), a, w, f, table)
			}
			list, err := w.Sessions().Unrecorded(c.Context())
			if err == nil {
				err = printAdoptions(a, table, list)
			}
			if errors.Is(err, cli.ErrNo) {
				return nil
			}
			return err
		})
	}
	return c
}

func completeFilters(a *cli.App, c *cobra.Command) {
	for flag, values := range map[string]func(session.View) []string{
		"agent":    func(s session.View) []string { return []string{s.Agent.Name} },
		"workflow": func(s session.View) []string { return []string{s.Workflow.Name} },
		"user":     func(s session.View) []string { return []string{s.User} },
		"tag":      func(s session.View) []string { return s.Tags },
	} {
		c.RegisterFlagCompletionFunc(flag, complete.SessionValues(a, values))
	}
	completed(c, "status", sessions.Statuses()...)
	completed(c, "output-type", sessions.OutputTypes()...)
	completed(c, "notice", sessions.Notices()...)
}

func find(ctx context.Context, a *cli.App, w *workspace.Workspace, f sessions.Filter, table *cli.Table) error {
	f.WithOutputs = true
	page, err := w.Sessions().Find(ctx, f)
	if err != nil {
		return err
	}
	if a.AsJSON {
		return a.JSONList("sessions", page)
	}
	rows := make([][]string, len(page.Sessions))
	for i, s := range page.Sessions {
		rows[i] = []string{s.ID, s.Status, s.Agent.Name, workflow(f, s), s.DisplayName, outputs(s), a.Age(s.OpenedAt),
			cli.NoticeCell(s.Notices)}
	}
	if err := table.Print(sessionColumns, rows); err != nil {
		return err
	}
	if page.Cursor != "" {
		fmt.Fprintf(a.Err, "more sessions: --cursor %s\n", page.Cursor)
	}
	return nil
}

// workflow returns the workflow of a session, with the number of the execution if
// the list is filtered by workflow.
func workflow(f sessions.Filter, s session.View) string {
	if f.Workflow == "" {
		return s.Workflow.Name
	}
	return execution(s.Workflow.Name, s.Execution)
}

// outputs names the first output of a session and counts the others.
func outputs(s session.View) string {
	switch n := len(s.Outputs); n {
	case 0:
		return ""
	case 1:
		return s.Outputs[0].File
	default:
		return fmt.Sprintf("%s +%d", s.Outputs[0].File, n-1)
	}
}
