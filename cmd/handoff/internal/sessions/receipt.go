package sessions

import (
	"fmt"
	"time"

	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/workspace"
)

// printReceipt prints what a run made on standard error: standard output is the
// command's.
func printReceipt(a *cli.App, r workspace.Receipt) {
	what, reason := "session", ""
	if r.Parent != "" {
		what = "run"
	}
	if r.Reason != "" {
		reason = " (" + r.Reason + ")"
	}
	took := r.EndedAt.Sub(r.StartedAt).Round(10 * time.Millisecond)
	fmt.Fprintf(a.Err, "handoff: %s %s %s after %s%s\n", what, r.ID, r.Status, took, reason)
	for _, made := range r.Artifacts {
		ref := made.ID
		if made.Name != "" {
			ref = made.Namespace + "/" + made.Name
		}
		line := "  " + ref + "  " + made.Path
		if made.Title != "" {
			line += "  " + made.Title
		}
		fmt.Fprintln(a.Err, cli.OneLine(line))
	}
	for _, e := range r.Expected {
		if e.Delivered {
			fmt.Fprintf(a.Err, "  expected %s: found\n", cli.OneLine(e.Name))
		}
	}
	for _, e := range r.Expected {
		if !e.Delivered {
			fmt.Fprintf(a.Err, "  expected %s: missing or empty\nhint: %s\n", cli.OneLine(e.Name), cli.OneLine(cli.HintText(e.Hint)))
		}
	}
}
