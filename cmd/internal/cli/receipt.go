package cli

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/agent-handoff/handoff/workspace/sessions"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/workspace/work"
)

// maxReceipt is the number of lines of a receipt, without the last.
const maxReceipt = 24

// PrintReceipt prints a line for each task of a receipt, each followed by what the
// task published, and the total of several tasks.
func (a *App) PrintReceipt(w io.Writer, r work.Receipt) {
	published := map[string]handoff.Artifact{}
	for _, art := range r.Published {
		published[art.ID] = art
	}
	var lines []string
	for _, t := range r.Tasks {
		lines = append(lines, taskLine(t))
		for _, id := range t.Artifacts {
			lines = append(lines, a.Event(published[id]))
		}
	}
	printLines(w, lines)
	if len(r.Tasks) > 1 {
		fmt.Fprintf(w, "total  %s%s  artifacts=%d\n", Count(len(r.Tasks), "task"), Used(r.Usage, r.Disputed), r.Artifacts)
	}
}

// PrintTasks prints a line for each of several tasks of a receipt.
func PrintTasks(w io.Writer, r work.Receipt) {
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
		fmt.Fprintf(w, "%s not shown\n", Count(more, "line"))
	}
}

// taskLine is the line that reports a task. Unknown fields are omitted.
func taskLine(t work.Task) string {
	event := "task:done  "
	switch t.Status {
	case "", handoff.Running, string(thread.PendingInit):
		event = "task:start  "
	case sessions.Failed, sessions.Cancelled, string(thread.Errored), string(thread.Shutdown), string(thread.NotFound):
		event = "task:error  "
	}
	line := event + OneLine(cmp.Or(t.Name, t.Agent, t.Thread, t.Work))
	if t.DurationMS > 0 {
		line += "  " + Took(time.Duration(t.DurationMS)*time.Millisecond)
	}
	line += Used(t.Usage, t.Disputed) + "  artifacts=" + strconv.Itoa(len(t.Artifacts))
	for _, id := range [][2]string{{"status", t.Status}, {"agent", t.Agent}, {"work", t.Work}, {"thread", t.Thread}} {
		if id[1] != "" {
			line += " " + id[0] + "=" + word(id[1])
		}
	}
	for _, m := range t.Models {
		line += " model=" + word(m)
	}
	return line
}

// Took returns a duration for an event line.
func Took(d time.Duration) string {
	if d >= time.Minute {
		return d.Round(time.Second).String()
	}
	return d.Round(10 * time.Millisecond).String()
}

// Used returns the tokens and the cost of an event line, with their completeness.
// What is not known is omitted.
func Used(u work.Usage, transcript *work.Usage) (text string) {
	if u.TotalTokens == nil && u.Cost == nil {
		return ""
	}
	if u.TotalTokens != nil {
		text += "  tokens=" + Grouped(*u.TotalTokens)
	}
	if u.Cost != nil {
		text += fmt.Sprintf("  cost=$%.4f", *u.Cost)
	}
	text += "  usage=" + string(u.Completeness)
	for _, m := range u.Unpriced {
		text += " unpriced=" + word(m)
	}
	if transcript != nil && transcript.TotalTokens != nil {
		text += "  transcript=" + Grouped(*transcript.TotalTokens)
	}
	return text
}

// Grouped returns a number with a comma before each group of three digits.
func Grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
