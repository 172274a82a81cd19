package report

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/trace"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
)

// maxReceipt is the number of lines of a receipt, without the last.
const maxReceipt = 24

// Receipt prints a line for each task of a receipt, each followed by what the
// task published, and the total of several tasks.
func Receipt(a *cli.App, w io.Writer, r trace.Receipt) {
	published := map[string]handoff.Artifact{}
	for _, art := range r.Published {
		published[art.ID] = art
	}
	var lines []string
	for _, t := range r.Tasks {
		lines = append(lines, taskLine(t))
		for _, id := range t.Artifacts {
			lines = append(lines, Event(a, published[id]))
		}
	}
	printLines(w, lines)
	if len(r.Tasks) > 1 {
		fmt.Fprintf(w, "total  %s%s  artifacts=%d\n", textfmt.Count(len(r.Tasks), "task"), textfmt.Used(r.Usage, r.Disputed),
			r.Artifacts)
	}
	if r.Share != nil && len(r.Tasks) > 0 && r.Artifacts > 1 {
		fmt.Fprintf(w, "of this artifact%s\n", textfmt.Used(*r.Share, nil))
	}
	Within(w, r)
}

// Within prints which thread the cost of a run belongs to that it started.
func Within(w io.Writer, r trace.Receipt) {
	if r.Within != "" {
		fmt.Fprintf(w, "the thread that started this has the cost of what it did here: %s\n", textfmt.OneLine(r.Within))
	}
}

// Tasks prints a line for each of several tasks of a receipt.
func Tasks(w io.Writer, r trace.Receipt) {
	var lines []string
	for _, t := range r.Tasks {
		lines = append(lines, taskLine(t))
	}
	if len(lines) > 1 {
		printLines(w, lines)
	}
}

func printLines(w io.Writer, lines []string) {
	for _, line := range lines[:min(len(lines), maxReceipt)] {
		fmt.Fprintln(w, line)
	}
	if more := len(lines) - maxReceipt; more > 0 {
		fmt.Fprintf(w, "%s not shown\n", textfmt.Count(more, "line"))
	}
}

// taskLine is the line that reports a task. Unknown fields are omitted.
func taskLine(t trace.Task) string {
	event := "task:done  "
	switch t.Status {
	case "", handoff.Running, string(thread.PendingInit):
		event = "task:start  "
	case session.Failed, session.Cancelled, string(thread.Errored), string(thread.Shutdown), string(thread.NotFound):
		event = "task:error  "
	}
	line := event + textfmt.OneLine(cmp.Or(t.Name, t.Agent, t.Thread, t.Work))
	if t.DurationMS > 0 {
		line += "  " + textfmt.Took(time.Duration(t.DurationMS)*time.Millisecond)
	}
	line += textfmt.Used(t.Usage, t.Disputed) + "  artifacts=" + strconv.Itoa(len(t.Artifacts))
	for _, id := range [][2]string{{"status", t.Status}, {"agent", t.Agent}, {"work", t.Work}, {"thread", t.Thread}} {
		if id[1] != "" {
			line += " " + id[0] + "=" + textfmt.Word(id[1])
		}
	}
	for _, m := range t.Models {
		line += " model=" + textfmt.Word(m)
	}
	return line
}
