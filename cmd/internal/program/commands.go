package program

import (
	"slices"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/cmd/internal/evidence"
	"github.com/agent-handoff/handoff/cmd/internal/find"
	"github.com/agent-handoff/handoff/cmd/internal/logs"
	"github.com/agent-handoff/handoff/cmd/internal/pipelines"
	"github.com/agent-handoff/handoff/cmd/internal/sessions"
	"github.com/agent-handoff/handoff/cmd/internal/web"
	"github.com/agent-handoff/handoff/cmd/internal/work"
	"github.com/spf13/cobra"
)

// commands are all commands, one file each, in the order of the help.
var commands = slices.Concat(
	[]cli.Command{
		cli.NewPrimary(initCommand, "init"),
		cli.NewPrimary(publishCommand, "publish"),
		cli.NewCommand(writeCommand, "write"),
		cli.NewCommand(labelCommand, "label"),
		cli.NewCommand(withdrawCommand, "withdraw"),
		cli.NewPrimary(waitCommand, "wait"),
		cli.NewCommand(watchCommand, "watch"),
		cli.NewPrimary(listCommand, "list"),
		cli.NewPrimary(readCommand, "read"),
		cli.NewPrimary(showCommand, "show", "get", "receipt"),
		cli.NewPrimary(find.SearchCommand, "search"),
		cli.NewPrimary(find.WhyCommand, "why"),
	},
	evidence.Commands,
	sessions.Commands,
	[]cli.Command{cli.NewCommand(exportCommand, "export")},
	pipelines.Commands,
	[]cli.Command{cli.NewPrimary(find.ThreadCommand, "thread", "threads")},
	work.Commands,
	[]cli.Command{
		cli.NewPrimary(serveCommand, "serve"),
		cli.NewCommand(mcpCommand, "mcp"),
		cli.NewCommand(hookCommand, "hook"),
		cli.NewPrimary(demoCommand, "demo"),
		cli.NewCommand(checkCommand, "check"),
		cli.NewCommand(gcCommand, "gc"),
	},
	logs.Commands,
)

// exportCommand exports what people and programs without this workspace read.
func exportCommand(a *cli.App) *cobra.Command {
	c := web.ExportCommand(a)
	c.AddCommand(evidence.InTotoCommand(a))
	return c
}
