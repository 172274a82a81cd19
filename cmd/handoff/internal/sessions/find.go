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
		Long:  `Find lists the sessions that fit every filter, newest first.`,
		Example: "  handoff session find --agent casey --workflow '^deep-dive-' --status completed\n" +
			"  handoff session find --since 7d --output-type document --limit 1 --json",
		Args: cli.Exactly(0, ""),
	}
	flags := c.Flags()
	flags.StringVar(&q.Agent, "agent", "", "of the agent of this `name`")
	flags.StringVar(&workflow, "workflow", "", "whose workflow's name fits this `regexp`")
	flags.StringVar(&q.Status, "status", "", "of this `status`: running, completed, failed, cancelled or stalled")
	flags.StringVar(&since, "since", "", "begun at or after this `time`: 2h, 3d, 2026-11-21, or RFC 3339")
	flags.StringVar(&until, "until", "", "begun before this `time`")
	flags.StringVar(&q.User, "user", "", "begun by this `user`")
	flags.StringVar(&q.Tag, "tag", "", "with this `tag`")
	flags.StringVar(&q.OutputType, "output-type", "", "with an output of this `type`: document, data, report or artifact")
	flags.BoolVar(&q.IncludeRuns, "runs", false, "runs within sessions too")
	flags.IntVar(&q.Limit, "limit", cli.DefaultLimit, "at most this `number`; 0 for all")
	flags.StringVar(&q.Cursor, "cursor", "", "go on where an earlier page ended, at its `cursor`")
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
				fmt.Fprintf(a.Err, "older ones: --cursor %s\n", page.Cursor)
			}
			return nil
		})
	}
	return c
}

// pattern compiles a regular expression of a flag, nil for "".
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
