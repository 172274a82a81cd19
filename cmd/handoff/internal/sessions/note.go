package sessions

import (
	"encoding/json"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/internal/session"
	"github.com/spf13/cobra"
)

func noteCommand(a *cli.App) *cobra.Command {
	var f sessionFlag
	var summary string
	var messages int
	var meta []string
	c := &cobra.Command{
		Use:     "note",
		Short:   "Add to what is known of a session: its summary, its messages, anything else",
		Long:    "Note adds to a session, and renders its manifest. What was noted before stays, unless it is noted anew.",
		Example: "  handoff session note --user-summary 'I need to purchase 10 laptops' --message-count 8 --meta ticket=IT-17",
		Args:    cli.Exactly(0, ""),
	}
	f.add(a, c)
	c.Flags().StringVar(&summary, "user-summary", "", "the user's first `message`")
	c.Flags().IntVar(&messages, "message-count", 0, "the `number` of messages")
	c.Flags().StringArrayVar(&meta, "meta", nil, "anything else, as `key=value`; may be repeated")
	c.MarkFlagsOneRequired("user-summary", "message-count", "meta")
	c.RunE = func(c *cobra.Command, args []string) error {
		var n handoff.SessionNoted
		if c.Flags().Changed("user-summary") {
			n.UserSummary = &summary
		}
		if c.Flags().Changed("message-count") {
			n.MessageCount = &messages
		}
		values, err := cli.Pairs("--meta", meta)
		if err != nil {
			return err
		}
		for key, value := range values {
			b, err := json.Marshal(value)
			if err != nil {
				return err
			}
			if n.Metadata == nil {
				n.Metadata = map[string]json.RawMessage{}
			}
			n.Metadata[key] = b
		}
		return onSession(a, c, &f, func(ss *session.Sessions, id string) ([]string, error) {
			n.SessionID = id
			return ss.Note(c.Context(), n)
		})
	}
	return c
}
