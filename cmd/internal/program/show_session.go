package program

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/session"
)

func printSession(a *cli.App, v session.Detail) {
	status := v.Status
	if v.Reason != "" {
		status += " (" + v.Reason + ")"
	}
	switch {
	case v.Deleted:
		status += ", in the trash"
	case v.Archived:
		status += ", archived"
	}
	ended := ""
	if !v.ClosedAt.IsZero() {
		ended = textfmt.Stamp(v.ClosedAt)
	}
	for _, line := range [][2]string{
		{"id", v.ID}, {"name", v.LongName}, {"status", status}, {"agent", v.Agent.Name}, {"bundle", v.Agent.Bundle},
		{"workflow", v.Workflow.Name}, {"description", v.Workflow.Description}, {"user", v.User}, {"parent", v.Parent},
		{"started", textfmt.Stamp(v.OpenedAt)}, {"ended", ended}, {"folder", v.Folder}, {"tags", strings.Join(v.Tags, " ")},
		{"summary", v.Summary},
	} {
		if line[1] != "" {
			fmt.Fprintf(a.Out, "%-11s  %s\n", line[0], textfmt.OneLine(line[1]))
		}
	}
	printNotices(a, v.Notices)
	for _, r := range v.Related {
		label := map[bool]string{false: "builds on", true: "built on by"}[r.Link == "into"]
		name := cmp.Or(r.Name, "(not recorded here)")
		fmt.Fprintf(a.Out, "%-11s  %s  %s\n", label, textfmt.OneLine(r.ID), textfmt.OneLine(name))
	}
	for _, uri := range v.Threads {
		fmt.Fprintf(a.Out, "%-11s  %s\n", "thread", textfmt.OneLine(threadCommandLine(uri)+conversation(v, uri)))
	}
	for _, again := range v.Reclosed {
		fmt.Fprintf(a.Out, "%-11s  as %s (ignored: the first close wins)\n", "closed again", again.Status)
	}
	for _, x := range v.Expectations {
		state := "missing or empty"
		if x.Delivered {
			state = "found"
		}
		fmt.Fprintf(a.Out, "%-11s  %s  %s\n", "expected", textfmt.OneLine(x.Name), state)
	}
	for _, o := range v.Outputs {
		fmt.Fprintf(a.Out, "%-11s  %s  %s\n", o.Type, textfmt.OneLine(o.File), textfmt.OneLine(o.Description))
	}
	printArtifacts(a, "published", v.Others)
	printArtifacts(a, "read", v.Read)
	for _, e := range v.Files {
		if !e.Internal { // the JSON has these, too
			fmt.Fprintf(a.Out, "%-11s  %s  %s\n", e.Type, textfmt.OneLine(e.Path), textfmt.Size(e.Size))
		}
	}
}

// printArtifacts prints each artifact on a line, by its title or else its path.
func printArtifacts(a *cli.App, what string, list []session.Other) {
	for _, o := range list {
		file := textfmt.OneLine(cmp.Or(o.Title, o.Path, "-"))
		fmt.Fprintf(a.Out, "%-11s  %s  channel=%s id=%s\n", what, file, o.Channel, o.ID)
	}
}

// printNotices prints each notice on a line.
func printNotices(a *cli.App, list []handoff.Notice) {
	for _, n := range list {
		fmt.Fprintf(a.Out, "%-11s  %s\n", n.Severity, textfmt.OneLine(n.Text))
	}
}

// conversation returns what is known of a thread of a session, in
// parentheses, "" for nothing.
func conversation(v session.Detail, uri string) string {
	i := slices.IndexFunc(v.Conversations, func(c session.Thread) bool { return c.Thread == uri })
	if i < 0 {
		return ""
	}
	c := v.Conversations[i]
	parts := slices.DeleteFunc([]string{c.Status}, func(s string) bool { return s == "" })
	if c.Subagents > 0 {
		parts = append(parts, textfmt.Count(c.Subagents, "subagent"))
	}
	if c.Usage != nil {
		parts = append(parts, fmt.Sprintf("%d tokens", *c.Usage.TotalTokens))
		if c.Completeness != "exact" {
			parts[len(parts)-1] = "at least " + parts[len(parts)-1]
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "  (" + strings.Join(parts, ", ") + ")"
}
