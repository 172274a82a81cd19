package main

import (
	"context"
	"errors"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/local"
	"github.com/agent-handoff/handoff/session"
	"github.com/spf13/cobra"
)

// sessionCommands are the commands below handoff session, a file each.
var sessionCommands = []func(*app) *cobra.Command{
	sessionOpenCommand, sessionAddCommand, sessionNoteCommand, sessionCloseCommand,
	sessionFindCommand, sessionLatestCommand, sessionTagCommand, sessionRenameCommand,
	sessionLinkCommand, sessionGraphCommand, sessionAdoptCommand,
}

func sessionCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:     "session",
		Short:   "Sessions: a folder, a manifest, an end, and names to find them by",
		GroupID: sessions,
		Long: `A session is one execution of an agent's workflow. It has an id, a folder for
what the agent writes, and a manifest in it that is rendered from the log.`,
		Example: "  eval \"$(handoff session open --agent alex --workflow intake-app --env)\"\n  handoff session add requirements.md --type document --description 'Initial requirements'\n  handoff session close --status completed",
		Args:    cobra.ArbitraryArgs,
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return c.Help()
		}
		return unknownCommand(c, args[0])
	}
	for _, command := range sessionCommands {
		c.AddCommand(command(a))
	}
	return c
}

// sessionFlag says which session a command is about.
type sessionFlag struct{ id string }

func (f *sessionFlag) add(a *app, c *cobra.Command) {
	c.Flags().StringVar(&f.id, "session", "", "the session's `id` (default: HANDOFF_SESSION)")
	c.RegisterFlagCompletionFunc("session", a.completeSessions)
}

func (f *sessionFlag) resolve(a *app) (string, error) {
	if f.id != "" {
		return f.id, nil
	}
	if id := a.getenv("HANDOFF_SESSION"); id != "" {
		return id, nil
	}
	return "", invalid("session", "", "no session is named", "pass --session ID, or set HANDOFF_SESSION; handoff session find lists them")
}

// onSession makes a command change one session: do returns its warnings.
func (a *app) onSession(c *cobra.Command, f *sessionFlag, do func(b *session.Book, id string) ([]string, error)) error {
	id, err := f.resolve(a)
	if err != nil {
		return err
	}
	return a.writing(func(w *local.Workspace) error {
		producer, err := new(identityFlags).resolve(a)
		if err != nil {
			return err
		}
		warnings, err := do(w.Book(producer), id)
		for _, text := range warnings {
			a.warn("%s", text)
		}
		return err
	})
}

// renderSession brings the manifest of a session up to the log, after one of
// its artifacts changed. An id that is a harness's own has no manifest.
func (a *app) renderSession(ctx context.Context, w *local.Workspace, id string) {
	if id == "" {
		return
	}
	if err := w.Book(handoff.Producer{}).Render(ctx, id); err != nil && !errors.Is(err, handoff.NotFound) {
		a.warn("%v", err)
	}
}

// completeSessions offers the newest sessions.
func (a *app) completeSessions(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	w, err := a.open()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer w.Close()
	q := session.Query{Observer: local.Observer(), Now: a.now()}
	q.Limit = 30
	page, _ := session.Find(c.Context(), w, q)
	var ids []string
	for _, s := range page.Sessions {
		ids = append(ids, s.ID+"\t"+oneLine(s.LongName))
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}
