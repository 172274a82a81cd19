package main

import (
	"fmt"
	"strings"

	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/workspace"
)

func printSession(a *cli.App, v workspace.SessionDetail) {
	status := v.Shown
	if v.Reason != "" {
		status += " (" + v.Reason + ")"
	}
	ended := ""
	if !v.ClosedAt.IsZero() {
		ended = cli.Stamp(v.ClosedAt)
	}
	for _, line := range [][2]string{
		{"id", v.ID}, {"name", v.LongName}, {"status", status}, {"agent", v.Agent.Name}, {"bundle", v.Agent.Bundle},
		{"workflow", v.Workflow.Name}, {"description", v.Workflow.Description}, {"user", v.User}, {"parent", v.Parent},
		{"started", cli.Stamp(v.OpenedAt)}, {"ended", ended}, {"folder", v.Folder}, {"tags", strings.Join(v.Tags, " ")},
		{"builds on", strings.Join(v.Links, " ")}, {"summary", v.Summary},
	} {
		if line[1] != "" {
			fmt.Fprintf(a.Out, "%-11s  %s\n", line[0], cli.OneLine(line[1]))
		}
	}
	for _, uri := range v.Threads {
		fmt.Fprintf(a.Out, "%-11s  %s\n", "thread", cli.OneLine(threadCommandLine(uri)))
	}
	for _, again := range v.Reclosed {
		fmt.Fprintf(a.Out, "%-11s  as %s (ignored: the first close wins)\n", "closed again", again.Status)
	}
	for _, o := range v.Outputs {
		fmt.Fprintf(a.Out, "%-11s  %s  %s\n", o.Type, cli.OneLine(o.File), cli.OneLine(o.Description))
	}
	for _, e := range v.Files {
		mark := ""
		if e.Internal {
			mark = "  (internal)"
		}
		fmt.Fprintf(a.Out, "%-11s  %s  %s%s\n", e.Type, cli.OneLine(e.Path), cli.Size(e.Size), mark)
	}
}
