package program

import (
	"slices"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/cmd/internal/evidence"
	"github.com/agent-handoff/handoff/cmd/internal/find"
	"github.com/agent-handoff/handoff/cmd/internal/logs"
	"github.com/agent-handoff/handoff/cmd/internal/pipelines"
	"github.com/agent-handoff/handoff/cmd/internal/sessions"
	"github.com/agent-handoff/handoff/cmd/internal/work"
	"github.com/spf13/cobra"
)

// commands are all commands, one file each, in the order of the help.
var commands = slices.Concat(
	[]cli.Command{
		cli.NewCommand(initCommand, "init"),
		cli.NewCommand(doctorCommand, "doctor"),
		cli.NewCommand(versionCommand, "version"),
		cli.NewCommand(publishCommand, "publish"),
		cli.NewCommand(writeCommand, "write"),
		cli.NewCommand(labelCommand, "label"),
		cli.NewCommand(withdrawCommand, "withdraw"),
		cli.NewCommand(reviewCommand, "review"),
		cli.NewCommand(applyCommand, "apply"),
		cli.NewCommand(acceptCommand, "accept"),
		cli.NewCommand(waitCommand, "wait"),
		cli.NewCommand(watchCommand, "watch"),
		cli.NewCommand(listCommand, "list", "ls"),
		cli.NewCommand(readCommand, "read"),
		cli.NewCommand(showCommand, "show", "get"),
		cli.NewCommand(find.SearchCommand, "search"),
		cli.NewCommand(find.WhyCommand, "why"),
	},
	evidence.Commands,
	sessions.Commands,
	[]cli.Command{cli.NewCommand(exportCommand, "export")},
	pipelines.Commands,
	[]cli.Command{cli.NewCommand(find.ThreadCommand, "thread"), cli.NewCommand(find.ContinueCommand, "continue")},
	work.Commands,
	[]cli.Command{
		cli.NewCommand(serveCommand, "serve"),
		cli.NewCommand(mcpCommand, "mcp"),
		cli.NewCommand(hookCommand, "hook"),
		cli.NewCommand(demoCommand, "demo"),
		cli.NewCommand(checkCommand, "check"),
		cli.NewCommand(gcCommand, "gc", "du"),
	},
	logs.Commands,
)

// formats are the formats of export.
var formats = []func(*cli.App) *cobra.Command{
	evidence.PullRequestCommand, evidence.GitAICommand, work.OTLPCommand, sessions.ExportCommand,
}

// exportCommand exports what people and programs without this workspace read.
func exportCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "export",
		Short: "Export a session, or what is behind commits and a pull request",
		Long: `Export writes what people and other programs read. docs/exports.md lists the
standards and versions, and what is left out.`,
		RunE: cli.Group,
	}
	for _, format := range formats {
		c.AddCommand(format(a))
	}
	return c
}
