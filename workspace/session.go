package workspace

import (
	"context"

	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/workspace/runs"

	"github.com/agent-handoff/handoff/internal/session/lifecycle"
	"github.com/agent-handoff/handoff/internal/trace/hook"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/workspace/sessions"
)

// ReadConversations adds to the threads of a session, the first 50, what their
// transcripts show: their status, subagents and usage.
func ReadConversations(ctx context.Context, threads *thread.Set, list []session.Thread) {
	hook.DescribeAll(ctx, threads, list)
}

// showSession returns a session. With files, its detail has what is in its folder.
func (w *Workspace) showSession(ctx context.Context, id string, files bool) (Shown, error) {
	d, published, err := w.sessions.Detail(ctx, id, lifecycle.ThisObserver(), w.c.Now())
	if err == nil && files {
		d.Files, err = w.sessions.List(d.Session)
	}
	return Shown{Session: &d, published: published}, err
}

// Sessions returns the sessions of the workspace.
func (w *Workspace) Sessions() sessions.Sessions { return sessions.New(w.c, w.sessions) }

// Runs returns the commands that the caller runs in sessions of their own.
func (w *Workspace) Runs() runs.Runs { return runs.New(w.c, w.sessions) }
