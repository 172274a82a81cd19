package work

import (
	"errors"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/cmd/internal/complete"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

// OTLPCommand returns the command that exports sessions as traces of OpenTelemetry.
func OTLPCommand(a *cli.App) *cobra.Command {
	var since, send string
	c := &cobra.Command{
		Use:   "otlp SESSION|--since TIME",
		Short: "Print what was done in sessions as OpenTelemetry traces",
		Long: `Otlp prints a session with its runs, or all since a time, as a request of OTLP
in JSON, with OpenTelemetry's conventions for GenAI, version 1.41.0: spans of
sessions, agents, requests to models and calls of tools, with usage and cost.
Artifacts are events. It has no message, title, argument or output.

The same session has the same IDs in each export. With --send, it is posted to
a receiver, and nothing is printed.`,
		Example: "  handoff export otlp intake-app#1 >trace.json\n" +
			"  handoff export otlp --since 1d --send http://localhost:4318/v1/traces",
		Args:              cli.Between(0, 1, "one session or --since"),
		ValidArgsFunction: complete.Sessions(a),
	}
	c.Flags().StringVar(&since, "since", "", "sessions that started at or after `time`: 2h, 3d, friday, 2006-01-02")
	c.Flags().StringVar(&send, "send", "", "post the traces to the receiver at this `address` instead of printing them")
	c.RunE = func(c *cobra.Command, args []string) error {
		if (len(args) == 1) == (since != "") {
			return handoff.E("export otlp", "", handoff.Invalid, errors.New("requires one session or --since"),
				handoff.Advice("usage: "+c.UseLine()))
		}
		return a.Reading(func(w *workspace.Workspace) error {
			ref := ""
			if len(args) == 1 {
				ref = args[0]
			}
			units := w.Work(thread.NewSet(all.Drivers(), a.Getenv, a.Getenv("HOME")))
			if send != "" {
				warnings, err := units.SendOTLP(c.Context(), send, ref, since)
				a.Warnings(warnings)
				return err
			}
			request, warnings, err := units.OTLP(c.Context(), ref, since)
			a.Warnings(warnings)
			a.Out.Write(request)
			return err
		})
	}
	return c
}
