package web

import (
	"errors"
	"fmt"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/internal/trace/pullrequest"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

func exportCommentCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "comment",
		Short: "Write what is behind a pull request as a comment in Markdown",
		Long: `Comment reads, on standard input, the answers of GitHub's API for a pull
request, for its commits and for its files. It writes the artifacts and sessions
whose complete ID is in its title, description or commit messages, the active
artifacts of these sessions, and those of the files that it changes, unless it
comes from another repository. Every value is in a code span, in which nothing
is a mention, a link or HTML. Without a log on another machine, or if the log
can't be reached, it writes one line that states so.

action.yml posts the comment; docs/machines.md shows how to use it.`,
		Example: "  gh api repos/OWNER/REPO/pulls/1 | handoff export comment",
		Args:    cli.Exactly(0, ""),
		RunE: func(c *cobra.Command, _ []string) error {
			request, err := pullrequest.Parse(a.In)
			if err != nil {
				return err
			}
			comment := pullrequest.NoLog
			err = a.Reading(func(w *workspace.Workspace) error {
				s, err := w.Store().Status(c.Context())
				if err != nil || !s.Remote || s.Unavailable != "" {
					return err
				}
				found, err := pullrequest.Find(c.Context(), w.Hub(), request)
				if err == nil {
					comment = pullrequest.Comment(found)
				}
				return err
			})
			if errors.Is(err, handoff.Unavailable) || errors.Is(err, handoff.NotFound) { // a misspelt log must not fail the job
				a.Warn("%v", err)
				err = nil
			}
			if err == nil {
				_, err = fmt.Fprint(a.Out, comment)
			}
			return err
		},
	}
}
