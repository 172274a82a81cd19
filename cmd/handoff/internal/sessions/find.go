package sessions

import (
	"fmt"
	"regexp"

	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/internal/session"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

func findCommand(a *cli.App) *cobra.Command {
	var q session.Query
	var workflow, since, until string
	c := &cobra.Command{
		Use:   "find",
		Short: "List sessions, newest first",
		Long:  `Find lists the sessions that match every filter, newest first.`,
		Example: "  handoff session find --agent casey --workflow '^deep-dive-' --status completed\n" +
			"  handoff session find --since 7d --output-type document --limit 1 --json",
		Args: cli.Exactly(0, ""),
	}
	flags := c.Flags()
	flags.StringVar(&q.Agent, "agent", "", "filter by agent `name`")
	flags.StringVar(&workflow, "workflow", "", "filter by workflow name, with a `regexp`")
	flags.StringVar(&q.Status, "status", "", "filter by `status`: running, completed, failed, cancelled or stalled")
	flags.StringVar(&since, "since", "", "started at or after `time`: 2h, 3d, 2006-01-02 or RFC 3339")
	flags.StringVar(&until, "until", "", "started before `time`")
	flags.StringVar(&q.User, "user", "", "filter by user `name`")
	flags.StringVar(&q.Tag, "tag", "", "filter by `tag`")
	flags.StringVar(&q.OutputType, "output-type", "", "filter by output `type`: document, data, report or artifact")
	flags.BoolVar(&q.IncludeRuns, "runs", false, "include runs inside sessions")
	flags.IntVar(&q.Limit, "limit", cli.DefaultLimit, "maximum `number` of sessions; 0 for no limit")
	flags.StringVar(&q.Cursor, "cursor", "", "continue an earlier list at its `cursor`")
	a.JSONFlag(c, "print JSON")
	c.RegisterFlagCompletionFunc("status", cobra.FixedCompletions(session.Statuses, cobra.ShellCompDirectiveNoFileComp))
	c.RegisterFlagCompletionFunc("output-type", cobra.FixedCompletions(session.Types, cobra.ShellCompDirectiveNoFileComp))
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		if q.Since, err = cli.Moment("--since", since, a.Now()); err != nil {
			return err
		}
		if q.Until, err = cli.Moment("--until", until, a.Now()); err != nil {
			return err
		}
		if q.Workflow, err = pattern("--workflow", workflow); err != nil {
			return err
		}
		q.Observer, q.Now = workspace.Observer(), a.Now()
		return a.Reading(func(w *workspace.Workspace) error {
			page, err := session.Find(c.Context(), w, q)
			if err != nil {
				return err
			}
			if a.AsJSON {
				return a.JSON(page)
			}
			rows := make([][]string, len(page.Sessions))
			for i, s := range page.Sessions {
				rows[i] = []string{s.ID, s.Shown, s.Agent.Name, s.Workflow.Name, s.DisplayName, a.Age(s.OpenedAt)}
			}
			a.Table([]string{"id", "status", "agent", "workflow", "name", "age"}, rows)
			if page.Cursor != "" {
				fmt.Fprintf(a.Err, "there are older sessions: --cursor %s\n", page.Cursor)
			}
			return nil
		})
	}
	return c
}

// pattern compiles the regular expression of a flag; it is nil for "".
func pattern(flag, text string) (*regexp.Regexp, error) {
	if text == "" {
		return nil, nil
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, cli.Invalid(flag, text, err.Error(), "write a regular expression (RE2), such as '^deep-dive-'")
	}
	return re, nil
}
