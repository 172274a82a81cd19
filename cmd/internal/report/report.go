// Package report prints what commands have in common to report: publishes, receipts,
// notices and graphs.
package report

import (
	"fmt"
	"slices"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/lineage"
)

// Event is the line that reports a publish. Unknown fields are omitted.
func Event(a *cli.App, art handoff.Artifact) string {
	file := art.DisplayName()
	if !art.IsManaged() {
		file = a.Path(art)
	}
	line := "artifact:publish  " + textfmt.Word(file) + "  channel=" + textfmt.Word(art.Channel)
	for _, slot := range []string{"task", "run", "agent"} {
		if v := art.PublishedBy().Slot(slot); v != "" {
			line += " " + slot + "=" + textfmt.Word(v)
		}
	}
	return line + " id=" + art.ID
}

// Publish prints the line that reports a publish on standard error.
func Publish(a *cli.App, art handoff.Artifact) {
	if !a.EventsPrinted() {
		fmt.Fprintln(a.Err, Event(a, art))
	}
}

// Revision reports a revision of a file that was recorded, and the edits that
// were saved before it.
func Revision(a *cli.App, p handoff.Published, file string, saved []handoff.Artifact) {
	for _, edit := range saved {
		a.Warn("%s was edited outside handoff; the edit was saved as %s", file, edit.ID)
	}
	Warnings(a, p)
	if p.Existing {
		fmt.Fprintln(a.Err, "unchanged; no new revision recorded")
	} else {
		Publish(a, p.Artifact)
	}
}

// Warnings prints the warnings about a publish, and the notices that are more than
// information: its publisher knows the rest.
func Warnings(a *cli.App, p handoff.Published) {
	a.Warnings(p.Warnings)
	Notices(a, slices.DeleteFunc(p.Artifact.Notices(), func(n handoff.Notice) bool {
		return n.Severity == handoff.SeverityInfo || n.Code == handoff.NoticeReviewAsked && p.AskReview
	}))
}

// Notices prints notices on standard error, except that something is in order.
func Notices(a *cli.App, list []handoff.Notice) {
	for _, n := range list {
		if n.Severity != handoff.SeverityOK {
			fmt.Fprintf(a.Err, "%s: %s\n", cli.Name(), textfmt.OneLine(n.String()))
		}
	}
}

// Graph prints a graph. A tree starts at the node id.
func Graph(a *cli.App, g lineage.Graph, id, format string) error {
	switch format {
	case "tree":
		fmt.Fprint(a.Out, g.Tree(id))
	case "json":
		return a.JSON(g)
	case "dot":
		fmt.Fprint(a.Out, g.DOT())
	case "mermaid":
		fmt.Fprint(a.Out, g.Mermaid())
	default:
		return cli.Invalid("", "--format", fmt.Sprintf("unknown format %q", format), "use tree, json, dot or mermaid")
	}
	return nil
}
