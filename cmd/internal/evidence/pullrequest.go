package evidence

import (
	"errors"
	"fmt"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/internal/trace/pullrequest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
	"github.com/agent-handoff/handoff/trace"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/claims"
	"github.com/spf13/cobra"
)

// PullRequestCommand returns the command that writes a comment on a pull request.
func PullRequestCommand(a *cli.App) *cobra.Command {
	var f policyFlags
	c := &cobra.Command{
		Use:   "pr",
		Short: "Write what is behind a pull request as a comment in Markdown",
		Long: `Pr reads, on standard input, the answers of GitHub's API for a pull request,
for its commits and for its files. It writes the artifacts and sessions whose
complete ID is in its title, description or commit messages, the active
artifacts of these sessions, and those of the files that it changes, unless it
comes from another repository. Every value is in a code span, in which nothing
is a mention, a link or HTML. Without a log on another machine, or if the log
can't be reached, it writes one line that states so.

Artifacts with claims have a verdict: what the log alone shows of them. The exit
code is 0 if all active ones are verified, otherwise 1; with --fail-on
contradicted, it is 1 only for that verdict. Without claims it is 0, or 1 with
--require verified. With --require approved, each active one must be approved.

action.yml posts the comment; docs/machines.md shows how to use it.`,
		Example: "  gh api repos/OWNER/REPO/pulls/1 | handoff export pr --fail-on contradicted",
		Args:    cli.Exactly(0, ""),
	}
	f.add(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		policy, err := f.policy(a)
		if err != nil {
			return err
		}
		return comment(c, a, policy)
	}
	return c
}

// comment writes the comment on the pull request that is read, and decides by a policy.
func comment(c *cobra.Command, a *cli.App, policy claims.Policy) error {
	request, err := pullrequest.Parse(a.In)
	if err != nil {
		return err
	}
	text := pullrequest.NoLog
	var verdicts trace.VerificationList
	err = a.Reading(func(w *workspace.Workspace) error {
		s, err := w.Store().Status(c.Context())
		if err != nil || !s.Remote || s.Unavailable != "" {
			return err
		}
		found, err := pullrequest.Find(c.Context(), w.Hub(), request)
		if err == nil {
			err = w.Work(thread.NewSet(all.Drivers(), a.Getenv, a.Getenv("HOME"))).Attribute(c.Context(), found.Artifacts)
		}
		for i := range found.Artifacts {
			if err == nil {
				err = policy.Authenticate(c.Context(), &found.Artifacts[i])
			}
		}
		if err == nil {
			text, verdicts = pullrequest.Comment(found), found.Verdicts(policy.Approved)
		}
		return err
	})
	if errors.Is(err, handoff.Unavailable) || errors.Is(err, handoff.NotFound) { // a misspelt log must not fail the job
		a.Warn("%v", err)
		err = nil
	}
	if err == nil {
		_, err = fmt.Fprint(a.Out, text)
	}
	if err == nil && policy.Fails(verdicts) {
		return cli.ErrNo
	}
	return err
}
