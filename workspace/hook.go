package workspace

import (
	"cmp"
	"context"
	"errors"
	"os"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/trace/hook"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/trace"
	"github.com/agent-handoff/handoff/workspace/reviews"
)

// ParseHook reads what an agent program passes to a hook. It returns false for
// what is not of interest. The workspace of the event is that of its Dir. getenv is
// the environment of the hook.
func ParseHook(program, event string, payload []byte, getenv func(string) string) (trace.HookEvent, bool) {
	return hook.Parse(program, event, payload, getenv)
}

// HookPrograms returns the agent programs whose hooks are known.
func HookPrograms() []string { return hook.Clients() }

// Hook records an event of an agent program, and calls say with what the hook may print
// for the program's model, if there is anything. What an agent is handed once, such as comments on what
// it published, counts as handed over when say has returned nil. It records only in a
// workspace that exists. threads find the files that a subagent created. A plan is published and
// say called with the decision about it; Hook waits for that up to an hour.
func (w *Workspace) Hook(ctx context.Context, e trace.HookEvent, threads *thread.Set, say func([]byte) error) error {
	if err := w.c.Anonymous.Closed(); err != nil {
		return err
	}
	if _, err := os.Lstat(w.c.Dirs.Runtime); err != nil {
		return nil
	}
	var handed reviews.Delivery
	if in, known := w.worksIn(ctx, e.HandoffSession, e.HandoffRun); known && !in {
		e.HandoffSession, e.HandoffRun = "", ""
	}
	if e.Kind == trace.PlanReady {
		return w.reviewPlan(ctx, e, say)
	}
	if e.Kind == trace.AgentStart && e.OwnThread {
		e.AgentType = cmp.Or(hook.NameOf(ctx, threads, e), e.AgentType)
	}
	r := hook.Recorder{Hub: w.c.Anonymous, Now: w.c.Now, NoMessages: w.c.Remote &&
		!w.c.Settings.SharesThreads(), Left: func(ctx context.Context, uri string) ([]string, string) {
		return hook.Left(ctx, threads, w.c.Files, uri)
	}, News: func(ctx context.Context, e trace.HookEvent) (string, error) {
		// with the newest threads in the log only: to find all takes too long for a hook
		return w.News(thread.NewSet(nil, func(string) string { return "" }, "")).Digest(ctx, w.Threads(threads),
			e.HandoffSession, e.HandoffRun, e.Thread())
	}, Comments: func(ctx context.Context, list []handoff.Artifact) (text string, err error) {
		handed, err = w.Reviews().Undelivered(ctx, e.Thread(), list)
		return handed.Text, err
	}}
	reply, err := r.Handle(ctx, e)
	if len(reply) > 0 {
		failed := say(reply)
		if failed == nil {
			failed = handed.Mark()
		}
		err = errors.Join(err, failed)
	}
	if e.Kind == trace.SessionEnd {
		err = errors.Join(err, w.Threads(threads).KeepReferenced(ctx, e.Thread(), e.HandoffSession+e.HandoffRun != ""))
		w.c.SendQueued(ctx)
	}
	return err
}
