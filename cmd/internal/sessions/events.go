package sessions

import (
	"context"
	"fmt"
	"strings"

	"github.com/agent-handoff/handoff/cmd/internal/report"
	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/session"

	"github.com/agent-handoff/handoff/workspace/work"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/workspace"
)

// events prints what a run publishes, as it happens, on standard error. On a
// terminal, which the command may control, everything is printed at the end.
type events struct {
	*cli.App
	opened  session.Opened
	printed bool // another run prints the publishes on the same standard error
	seen    handoff.Seq
	stop    func()
}

// start prints that the run started, and follows it until stop is called.
func (e *events) start(ctx context.Context, o session.Opened) {
	e.opened, e.printed, e.stop = o, e.EventsPrinted(), func() {}
	fmt.Fprintf(e.Err, "task:start  %s  %s\n", e.agent(), e.where())
	if e.printed {
		return
	}
	o.Env[cli.EventsVariable] = ""
	if e.Watched {
		return
	}
	o.Env[cli.EventsVariable] = e.Events()
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		w, err := e.Open()
		if err != nil {
			return // the end prints what this goroutine did not
		}
		defer w.Close()
		e.print(w.Runs().Published(ctx, e.opened.ID, 0, false))
	}()
	e.stop = func() { cancel(); <-done }
}

// print prints the publishes that were not printed.
func (e *events) print(published func(func(handoff.Artifact, error) bool)) {
	for a, err := range published {
		if err != nil {
			return
		}
		fmt.Fprintln(e.Err, report.Event(e.App, a))
		e.seen = a.Seq
	}
}

// end prints how the run ended, after what it published last.
func (e *events) end(ctx context.Context, w *workspace.Workspace, r work.RunReport, err error) {
	if w != nil && !e.printed {
		e.print(w.Runs().Published(ctx, e.opened.ID, e.seen, true))
	}
	event, reason := "task:done", ""
	if r.Status != session.Completed {
		event, reason = "task:error", "  "+strings.TrimSuffix(r.Status+": "+r.Reason, ": ")
	}
	if !r.Recorded {
		event, reason = "task:error", reason+"  the end is not recorded: "+fmt.Sprint(err)
	}
	took := ""
	if !r.StartedAt.IsZero() {
		took = "  " + textfmt.Took(r.EndedAt.Sub(r.StartedAt))
	}
	used := ""
	if r.Work != nil {
		used = textfmt.Used(r.Work.Usage, r.Work.Disputed)
		report.Tasks(e.Err, *r.Work)
		report.Within(e.Err, *r.Work)
	}
	fmt.Fprintf(e.Err, "%s  %s%s%s%s  artifacts=%d %s\n", event, e.agent(), took, textfmt.OneLine(reason), used,
		len(r.Artifacts), e.where())
	if !r.Recorded {
		fmt.Fprintf(e.Err, "hint: %s\n", cli.HintText(handoff.Suggest("record it", handoff.ActionClose, r.ID, r.Status)))
	}
	for _, x := range r.Expected {
		if x.Delivered {
			fmt.Fprintf(e.Err, "  expected %s: found\n", textfmt.OneLine(x.Name))
		} else {
			fmt.Fprintf(e.Err, "  expected %s: missing or empty\nhint: %s\n", textfmt.OneLine(x.Name),
				textfmt.OneLine(cli.HintText(x.Hint)))
		}
	}
}

func (e *events) agent() string { return textfmt.OneLine(e.opened.Env["HANDOFF_AGENT"]) }

// where names the session, or the run and its session.
func (e *events) where() string {
	if session := e.opened.Env["HANDOFF_SESSION"]; session != e.opened.ID {
		return "run=" + e.opened.ID + " session=" + session
	}
	return "session=" + e.opened.ID
}
