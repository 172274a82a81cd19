package runs

import (
	"context"
	"time"

	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/trace"

	"github.com/agent-handoff/handoff/internal/session/lifecycle"
	"github.com/agent-handoff/handoff/internal/trace/hook"
	"github.com/agent-handoff/handoff/internal/transcript/threadindex"
	"github.com/agent-handoff/handoff/thread"
)

// Program returns what is known of a command line, which must not be empty.
func (r Runs) Program(args []string) (trace.Program, error) {
	if err := r.c.Hub.Closed(); err != nil {
		return trace.Program{}, err
	}
	return hook.NewProgram(args, func() (string, error) { return lifecycle.NewID(r.c.Rand) })
}

// StartProgram records that the command of a run has the thread whose ID it was
// given. Other commands are recorded by EndProgram.
//
// Kinds: those of Log.Append.
func (r Runs) StartProgram(ctx context.Context, run session.Opened, p trace.Program) error {
	if err := r.c.Hub.Closed(); err != nil {
		return err
	}
	p.Agent = run.Env["HANDOFF_AGENT"]
	return r.hooks().StartProgram(ctx, p, run.Env["HANDOFF_SESSION"], run.Env["HANDOFF_RUN"])
}

// EndProgram records the thread of the command of a run that was started at a
// time and ended. If its ID is not known, it is that of the only thread of the
// program that started in the caller's directory since then. A warning reports that
// there are several.
//
// Kinds: those of Log.Append.
func (r Runs) EndProgram(ctx context.Context, set *thread.Set, run session.Opened, p trace.Program, started time.Time,
	failed bool) (warnings []string, err error) {
	if err := r.c.Hub.Closed(); err != nil {
		return nil, err
	}
	p.Agent = run.Env["HANDOFF_AGENT"]
	ended := hook.Run{Program: p, Session: run.Env["HANDOFF_SESSION"], ID: run.Env["HANDOFF_RUN"], Started: started,
		Failed: failed}
	return r.hooks().EndRun(ctx, ended, func() (list []*thread.Thread, err error) {
		q := threadindex.Query{Providers: []string{p.Provider}, In: threadindex.In(r.c.Dir),
			Since: started.Truncate(time.Second)}
		found, err := threadindex.NewFiles(set).List(ctx, q)
		for _, i := range found.Threads {
			list = append(list, i.Thread)
		}
		return list, err
	})
}

func (r Runs) hooks() hook.Recorder {
	return hook.Recorder{Hub: r.c.Hub, Now: r.c.Now}
}
