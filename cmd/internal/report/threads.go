package report

import (
	"context"

	"github.com/agent-handoff/handoff/cmd/internal/cli"

	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
	"github.com/agent-handoff/handoff/workspace"
)

// KeepThreads keeps the transcripts that a session references, if the settings say so.
// A failure is a warning: the session has ended.
func KeepThreads(a *cli.App, ctx context.Context, w *workspace.Workspace, session string) {
	set := thread.NewSet(all.Drivers(), a.Getenv, a.Getenv("HOME"))
	kept, err := w.Threads(set).KeepEnded(ctx, session)
	if err != nil {
		a.Warn("transcripts were not kept: %v", err)
	}
	for _, t := range kept.Threads {
		if t.Err != nil {
			a.Warn("%s was not kept: %s", t.URI, t.Reason)
		}
	}
}
