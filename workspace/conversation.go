package workspace

import (
	"context"
	"strconv"
	"time"

	"github.com/agent-handoff/handoff/internal/hook"
	"github.com/agent-handoff/handoff/internal/session"
	"github.com/agent-handoff/handoff/internal/threadindex"
	"github.com/agent-handoff/handoff/thread"
)

// A Program is the command of a run. Its Args are the command line to start: an agent
// program that accepts an ID for its conversation is given one.
type Program = hook.Program

// Program returns what is known of a command line, which must not be empty.
func (w *Workspace) Program(args []string) (Program, error) {
	if err := w.hub.Closed(); err != nil {
		return Program{}, err
	}
	return hook.NewProgram(args, func() (string, error) { return session.NewID(w.rand) })
}

// StartProgram records that the command of a run has the conversation whose ID it was
// given. Other commands are recorded by EndProgram.
//
// Kinds: those of Log.Append.
func (w *Workspace) StartProgram(ctx context.Context, run OpenedSession, p Program) error {
	if err := w.hub.Closed(); err != nil {
		return err
	}
	p.Agent = run.Env["HANDOFF_AGENT"]
	return w.recorder(w.now).StartProgram(ctx, p, run.Env["HANDOFF_SESSION"], run.Env["HANDOFF_RUN"])
}

// EndProgram records the conversation of the command of a run that was started at a
// time and ended. If its ID is not known, it is that of the only conversation of the
// program that started in the caller's directory since then. A warning reports that
// there are several.
//
// Kinds: those of Log.Append.
func (w *Workspace) EndProgram(ctx context.Context, set *thread.Set, run OpenedSession, p Program, started time.Time, failed bool) (warnings []string, err error) {
	if err := w.hub.Closed(); err != nil {
		return nil, err
	}
	p.Agent = run.Env["HANDOFF_AGENT"]
	top, id := run.Env["HANDOFF_SESSION"], run.Env["HANDOFF_RUN"]
	if p.Provider != "" && p.Session == "" {
		q := threadindex.Query{Providers: []string{p.Provider}, In: threadindex.In(w.caller.Dir), Since: started.Truncate(time.Second)}
		found, err := threadindex.NewFiles(set).List(ctx, q)
		if err != nil {
			return nil, err
		}
		var list []*thread.Thread
		for _, i := range found.Threads {
			list = append(list, i.Thread)
		}
		if n := p.Found(ctx, w.hub, list, started, top); n > 1 {
			warnings = append(warnings, strconv.Itoa(n)+" conversations of "+p.Provider+" started here during the run; none was linked to the session")
		}
		if err := w.recorder(func() time.Time { return started }).StartProgram(ctx, p, top, id); err != nil {
			return warnings, err
		}
	}
	return warnings, w.recorder(w.now).EndProgram(ctx, p, top, id, failed)
}

func (w *Workspace) recorder(now func() time.Time) hook.Recorder {
	return hook.Recorder{Hub: w.hub, Now: now}
}
