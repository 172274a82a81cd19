package sessions

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/session"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
)

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
