package sessions

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/agent-handoff/handoff/cmd/internal/complete"
	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/session"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

func compareCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "compare SESSION SESSION",
		Short: "Show how two executions of a workflow differ",
		Long: `Compare shows two sessions side by side: the outputs that were added, removed
and changed, their inputs, and how long they took. Outputs are compared by their
digests, as they were published; what is the same in both is not listed, except
with --json.

A session is an ID, a prefix of it, or WORKFLOW#2 for the second execution of
a workflow. The second one may be only '#2', in quotes, because a shell takes
it for a comment otherwise. handoff session find --workflow X shows the
numbers.`,
		Example:           "  handoff session compare deep-dive-app#1 deep-dive-app#2",
		ValidArgsFunction: complete.Sessions(a),
		Args:              cli.Exactly(2, "two sessions, such as WORKFLOW#1 '#2'"),
	}
	a.JSONFlag(c, "print JSON", cli.Prints(session.Comparison{}))
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.Reading(func(w *workspace.Workspace) error {
			found, err := w.Sessions().Compare(c.Context(), args[0], args[1])
			if err != nil {
				return err
			}
			if a.AsJSON {
				return a.JSON(found)
			}
			printComparison(a, found)
			return nil
		})
	}
	return c
}

func printComparison(a *cli.App, c session.Comparison) {
	line := func(what, name, before, after string) {
		fmt.Fprintf(a.Out, "%s\t%s\t%s\t%s\n", what, textfmt.OneLine(name), textfmt.OneLine(before), textfmt.OneLine(after))
	}
	line("session", "", c.Before.ID, c.After.ID)
	line("workflow", "", execution(c.Before.Workflow.Name, c.Before.Execution),
		execution(c.After.Workflow.Name, c.After.Execution))
	line("status", "", c.Before.Status, c.After.Status)
	line("started", "", textfmt.Stamp(c.Before.OpenedAt), textfmt.Stamp(c.After.OpenedAt))
	line("duration", "", duration(c.Before.DurationMS), duration(c.After.DurationMS))
	for _, in := range c.Inputs {
		if in.Change != session.Same {
			line("input "+string(in.Change), in.Name, text(in.Before), text(in.After))
		}
	}
	for _, o := range c.Outputs {
		if o.Change != session.Same {
			line("output "+string(o.Change), o.File, content(o.Before), content(o.After))
		}
	}
}

// execution returns the name of a workflow with the number of an execution.
func execution(workflow string, n int) string {
	if n == 0 {
		return workflow
	}
	return fmt.Sprintf("%s#%d", workflow, n)
}

func duration(ms *int64) string {
	if ms == nil {
		return "-"
	}
	return (time.Duration(*ms) * time.Millisecond).String()
}

func text(value json.RawMessage) string {
	if value == nil {
		return "-"
	}
	return string(value)
}

// content returns the size of an output and the start of its digest.
func content(d *session.ComparedDigest) string {
	const shown = 12
	switch {
	case d == nil:
		return "-"
	case d.Digest == handoff.Digest{} && d.SizeBytes == nil:
		return d.ArtifactID
	case d.SizeBytes == nil:
		return d.Digest.Value[:min(shown, len(d.Digest.Value))]
	case d.Digest == handoff.Digest{}:
		return textfmt.Size(*d.SizeBytes)
	}
	return textfmt.Size(*d.SizeBytes) + " " + d.Digest.Value[:min(shown, len(d.Digest.Value))]
}
