package sessions

import (
	"fmt"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/internal/session"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

func addCommand(a *cli.App) *cobra.Command {
	var f sessionFlag
	var add session.Addition
	var who cli.Identity
	c := &cobra.Command{
		Use:   "add FILE --type document|data|report|artifact",
		Short: "Register a file of the session's folder as an output",
		Long: `Add publishes a file of the session's folder as an artifact of the session and
lists it in the manifest. FILE is relative to the current directory if that is
in the folder, otherwise to the folder.`,
		Example: "  handoff session add requirements.md --type document",
		Args:    cli.Exactly(1, "one file"),
	}
	f.add(a, c)
	c.Flags().StringVar(&add.Type, "type", "", "output `type`: document, data, report or artifact")
	c.Flags().StringVar(&add.Description, "description", "", "`text` that describes it, on one line")
	c.Flags().StringVar(&add.Title, "title", "", "`text` that names it, on one line")
	c.Flags().StringVar(&add.Channel, "channel", "", "`channel` (purpose; default: handoff)")
	c.Flags().StringVar(&add.Key, "key", "", "`key` under which it is published only once")
	c.Flags().StringArrayVar(&add.Tags, "tag", nil, "`tag` to find it by; may be repeated")
	c.Flags().StringArrayVar(&add.Parents, "from", nil, "`ref` of an artifact it was made from; may be repeated")
	c.Flags().StringArrayVar(&add.Replaces, "replaces", nil, "`ref` of an artifact it replaces; may be repeated")
	c.Flags().StringVar(&who.Producer.Agent, "agent", "", "agent `name` (default: the session's agent)")
	a.JSONFlag(c, "print the artifact as JSON")
	c.MarkFlagRequired("type")
	c.RegisterFlagCompletionFunc("type", cobra.FixedCompletions(session.Types, cobra.ShellCompDirectiveNoFileComp))
	c.RunE = func(c *cobra.Command, args []string) error {
		id, err := f.resolve(a)
		if err != nil {
			return err
		}
		return a.WritingTidy(func(w *workspace.Workspace) error {
			done, err := sessionAdd(a, c, w, id, args[0], add, who)
			if err != nil {
				return err
			}
			for _, text := range done.Warnings {
				a.Warn("%s", text)
			}
			fmt.Fprintln(a.Err, cli.Event(done.Artifact))
			if a.AsJSON {
				return a.JSON(done)
			}
			fmt.Fprintln(a.Out, done.ID)
			return nil
		})
	}
	return c
}

func sessionAdd(a *cli.App, c *cobra.Command, w *workspace.Workspace, id, file string, add session.Addition, who cli.Identity) (done handoff.Published, err error) {
	s, err := w.Session(c.Context(), id)
	if err != nil {
		return done, err
	}
	p, err := who.Resolve(a)
	if err != nil {
		return done, err
	}
	if p.Agent == "" {
		p.Agent = s.Agent.Name
	}
	caller := w.Caller()
	caller.Producer = p
	if add.Parents, err = w.As(caller).ResolveAll(c.Context(), add.Parents); err != nil {
		return done, err
	}
	if add.Replaces, err = w.As(caller).ResolveAll(c.Context(), add.Replaces); err != nil {
		return done, err
	}
	add.File = session.Locate(w.Folder(s), a.Dir, file)
	return w.SessionsAs(p).Add(c.Context(), id, p, add)
}
