package main

import (
	"slices"

	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/cmd/handoff/internal/pipelines"
	"github.com/agent-handoff/handoff/cmd/handoff/internal/sessions"
)

// commands are all commands, a file each, in the order of the help.
var commands = slices.Concat(
	[]cli.Command{publishCommand, writeCommand, withdrawCommand},
	[]cli.Command{showCommand, listCommand, readCommand, searchCommand, watchCommand, waitCommand, threadCommand},
	sessions.Commands,
	pipelines.Commands,
	[]cli.Command{demoCommand, checkCommand, gcCommand},
)
