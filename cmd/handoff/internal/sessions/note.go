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
		Use:   "note",
		Short: "Update a session's summary and metadata",
		Long: `Note updates a session and renders its manifest. Fields that are not given keep
their values.`,
		Example: "  handoff session note --user-summary 'Purchase 10 laptops' --meta ticket=IT-17",
		Args:    cli.Exactly(0, ""),
	}
	f.add(a, c)
	c.Flags().StringVar(&summary, "user-summary", "", "`text` of the user's first message")
	c.Flags().IntVar(&messages, "message-count", 0, "`number` of messages")
	c.Flags().StringArrayVar(&meta, "meta", nil, "metadata, as `key=value`; may be repeated")
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
