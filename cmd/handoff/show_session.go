package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/internal/session"
	"github.com/agent-handoff/handoff/workspace"
)

// isSession reports whether a ref is the id of a session that is recorded.
func isSession(ctx context.Context, w *workspace.Workspace, ref string) bool {
	if handoff.IsArtifactIDPrefix(ref) {
		return false
	}
	s, err := w.Session(ctx, ref)
	return err == nil && s.Opened != 0
}

func showSession(ctx context.Context, a *cli.App, w *workspace.Workspace, id string, f showFlags) error {
	book := w.SessionsAs(handoff.Producer{})
	d, err := book.Detail(ctx, id, workspace.Observer(), a.Now())
	if err != nil {
		return err
	}
	if f.files {
		if d.Files, err = book.List(ctx, id); err != nil {
			return err
		}
	}
	if a.AsJSON {
		return a.JSON(d)
	}
	printSession(a, d)
	return nil
}

func printSession(a *cli.App, v session.Detail) {
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
		{"workflow", v.Workflow.Name}, {"about", v.Workflow.Description}, {"user", v.User}, {"parent", v.Parent},
		{"began", cli.Stamp(v.OpenedAt)}, {"ended", ended}, {"folder", v.Folder}, {"tags", strings.Join(v.Tags, " ")},
		{"builds on", strings.Join(v.Links, " ")}, {"summary", v.Summary},
	} {
		if line[1] != "" {
			fmt.Fprintf(a.Out, "%-11s  %s\n", line[0], cli.OneLine(line[1]))
		}
	}
	for _, uri := range v.Threads {
		fmt.Fprintf(a.Out, "%-11s  %s\n", "thread", cli.OneLine(threadHint(uri)))
	}
	for _, again := range v.Reclosed {
		fmt.Fprintf(a.Out, "%-11s  as %s, which changed nothing\n", "closed again", again.Status)
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
