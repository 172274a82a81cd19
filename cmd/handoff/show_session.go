package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/local"
	"github.com/agent-handoff/handoff/session"
)

// isSession reports whether a ref is the id of a session that is recorded.
func isSession(ctx context.Context, w *local.Workspace, ref string) bool {
	if handoff.IsArtifactIDPrefix(ref) {
		return false
	}
	s, err := w.Session(ctx, ref)
	return err == nil && s.Opened != 0
}

func (a *app) showSession(ctx context.Context, w *local.Workspace, id string, files, asJSON bool) error {
	book := w.Book(handoff.Producer{})
	d, err := book.Detail(ctx, id, local.Observer(), a.now())
	if err != nil {
		return err
	}
	if files {
		if d.Files, err = book.List(ctx, id); err != nil {
			return err
		}
	}
	if asJSON {
		return a.json(d)
	}
	a.printSession(d)
	return nil
}

func (a *app) printSession(v session.Detail) {
	status := v.Shown
	if v.Reason != "" {
		status += " (" + v.Reason + ")"
	}
	ended := ""
	if !v.ClosedAt.IsZero() {
		ended = stamp(v.ClosedAt)
	}
	for _, line := range [][2]string{
		{"id", v.ID}, {"name", v.LongName}, {"status", status}, {"agent", v.Agent.Name}, {"bundle", v.Agent.Bundle},
		{"workflow", v.Workflow.Name}, {"about", v.Workflow.Description}, {"user", v.User}, {"parent", v.Parent},
		{"began", stamp(v.OpenedAt)}, {"ended", ended}, {"folder", v.Folder}, {"tags", strings.Join(v.Tags, " ")},
		{"builds on", strings.Join(v.Links, " ")}, {"summary", v.Summary},
	} {
		if line[1] != "" {
			fmt.Fprintf(a.out, "%-11s  %s\n", line[0], oneLine(line[1]))
		}
	}
	for _, again := range v.Reclosed {
		fmt.Fprintf(a.out, "%-11s  as %s, which changed nothing\n", "closed again", again.Status)
	}
	for _, o := range v.Outputs {
		fmt.Fprintf(a.out, "%-11s  %s  %s\n", o.Type, oneLine(o.File), oneLine(o.Description))
	}
	for _, e := range v.Files {
		mark := ""
		if e.Internal {
			mark = "  (internal)"
		}
		fmt.Fprintf(a.out, "%-11s  %s  %s%s\n", e.Type, oneLine(e.Path), size(e.Size), mark)
	}
}
