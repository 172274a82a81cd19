package main

import (
	"slices"

	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/cmd/handoff/internal/pipelines"
	"github.com/agent-handoff/handoff/cmd/handoff/internal/sessions"
)

// commands are all commands, a file each, in the order of the help.
var commands = slices.Concat(
	[]cli.Command{
		cli.Named(publishCommand, "publish"),
		cli.Named(writeCommand, "write"),
		cli.Named(withdrawCommand, "withdraw"),
		cli.Named(showCommand, "show", "get"),
		cli.Named(listCommand, "list"),
		cli.Named(readCommand, "read"),
		cli.Named(searchCommand, "search"),
		cli.Named(watchCommand, "watch"),
		cli.Named(waitCommand, "wait"),
		cli.Named(threadCommand, "thread"),
	},
	sessions.Commands,
	pipelines.Commands,
	[]cli.Command{
		cli.Named(demoCommand, "demo"),
		cli.Named(checkCommand, "check"),
		cli.Named(gcCommand, "gc"),
	},
)
