package workspace

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/config"
	"github.com/agent-handoff/handoff/internal/names"
	"github.com/agent-handoff/handoff/internal/session"
	"github.com/agent-handoff/handoff/internal/session/launch"
	"github.com/agent-handoff/handoff/internal/trace/hook"
	"github.com/agent-handoff/handoff/thread"
)

// SessionOptions describe a session or run to open.
type SessionOptions = launch.Options

// An OpenedSession is a session that was opened, with what an engine needs to
// work in it.
type OpenedSession = launch.Opened

// launcher opens sessions on behalf of the caller.
func (w *Workspace) launcher() launch.Launcher {
	return launch.Launcher{
		Dirs: w.dirs, Settings: w.settings, Sessions: w.sessions.As(w.caller.Producer), Now: w.now, Rand: w.rand,
		Dir: w.caller.Dir, WorkID: w.caller.Producer.WorkID, Artifact: w.Resolve,
	}
}

// Limits of Tidy: it renders only manifests that a live writer would have
// rendered by now, and only some at a time.
const (
	renderAfter = 2 * time.Second
	renderMost  = 32
)

// Tidy completes the work of processes that were killed: it closes their
// sessions and renders manifests that are out of date. Operations that record
// something call it; a long-running process that records nothing should call it
// now and then.
func (w *Workspace) Tidy(ctx context.Context, p handoff.Producer) ([]string, error) {
	warnings, err := w.sessions.As(p).CloseAbandoned(ctx, session.ThisObserver())
	return warnings, errors.Join(err, w.eraseLeft(ctx), w.mover().Complete(ctx), w.renderPending(ctx, renderAfter))
}

// A Conversation is one that an agent program had in a session.
type Conversation = session.Conversation

// A SessionDetail is a session with its names, status and outputs.
type SessionDetail = session.Detail

// ReadConversations adds to the threads of a session, the first 50, what their
// transcripts show: their status, subagents and usage.
func ReadConversations(ctx context.Context, threads *thread.Set, list []Conversation) {
	hook.DescribeAll(ctx, threads, list)
}

// isSession reports whether a ref is the ID of a session or run that was opened.
func (w *Workspace) isSession(ctx context.Context, ref string) bool {
	if handoff.IsArtifactIDPrefix(ref) {
		return false
	}
	s, err := w.hub.Session(ctx, ref)
	return err == nil && s.Opened != 0
}

func (w *Workspace) sessionDetail(ctx context.Context, id string, files bool) (SessionDetail, error) {
	d, err := w.sessions.Detail(ctx, id, session.ThisObserver(), w.now())
	if err == nil && files {
		d.Files, err = w.sessions.List(ctx, id)
	}
	return d, err
}

// renderSession renders the manifest of a session. An ID under which no session
// was opened has none.
func (w *Workspace) renderSession(ctx context.Context, id string) []string {
	if id == "" {
		return nil
	}
	if err := w.sessions.Changed(ctx, id); err != nil && !errors.Is(err, handoff.NotFound) {
		return []string{err.Error()}
	}
	return nil
}

// renderPending renders manifests that have been out of date for the given time.
// One that cannot be rendered is tried again later.
func (w *Workspace) renderPending(ctx context.Context, age time.Duration) error {
	ids, err := w.index.Unrendered(ctx, age, renderMost)
	for _, id := range ids {
		_ = w.sessions.Render(ctx, id)
	}
	return err
}

// Folder returns the folder of a session that was opened, absolute.
func (w *Workspace) Folder(s handoff.Session) string { return w.folder(s) }

// SessionDir returns the directory of a session or run, absolute: its folder if
// it was opened, otherwise the folder that a session with this ID would have.
func (w *Workspace) SessionDir(ctx context.Context, id string) string {
	_, _ = w.hub.Newest(ctx) // brings the index up to the log; without it the folder is the default
	return w.dirOf(ctx, id)
}

// dirOf is SessionDir as far as the index knows, "" for no ID.
func (c *core) dirOf(ctx context.Context, id string) string {
	if id == "" {
		return ""
	}
	if folder := c.folderOf(ctx, handoff.Producer{Session: id}); folder != "" {
		return folder
	}
	paths, err := c.settings.Paths(config.Paths{ProjectRoot: c.dirs.ProjectRoot(), SessionID: names.Folder(id),
		Now: c.now()}, "", "")
	if err == nil {
		var folder string
		if folder, _, err = paths.Resolve("{session_folder}"); err == nil {
			return folder
		}
	}
	return filepath.Join(c.dirs.ProjectRoot(), "docs", "agent-outputs", names.Folder(id))
}

// File returns the file of an artifact, absolute, "" if it can't be reached from
// this machine.
func (w *Workspace) File(ctx context.Context, a handoff.Artifact) string {
	return w.published.Stat(ctx, a).Path
}

// folderOf returns the folder of the session that a producer worked in, "" for
// none. It queries the index alone, because the hub calls it during a query.
func (c *core) folderOf(ctx context.Context, p handoff.Producer) string {
	s, err := c.index.Session(ctx, p.Session)
	if err != nil || s.Folder == "" {
		return ""
	}
	return c.folder(s)
}

// folder returns the folder of a session, absolute. While it is being moved, that
// is the one of both that exists.
func (c *core) folder(s handoff.Session) string {
	if s.MovingTo != "" {
		if _, err := c.home.Lstat(filepath.FromSlash(s.Folder)); err != nil {
			return filepath.Join(c.dirs.Home(), filepath.FromSlash(s.MovingTo))
		}
	}
	return filepath.Join(c.dirs.Home(), filepath.FromSlash(s.Folder))
}

// OpenSession opens a session: it creates the folder, records the session and
// renders its manifest. With a parent it opens a run of that session. The folder
// is {session_folder}, which must be inside {agent_outputs_folder} and inside the
// workspace. Each of Links is a ref to a session, or to an artifact that one
// published.
//
// Kinds: Invalid, Conflict (the ID exists), NotFound (the parent, a link or a
// file), Unavailable.
func (w *Workspace) OpenSession(ctx context.Context, o SessionOptions) (OpenedSession, error) {
	if err := w.hub.Closed(); err != nil {
		return OpenedSession{}, err
	}
	opened, err := w.launcher().Open(ctx, o)
	if err == nil {
		opened.Warnings = append(opened.Warnings, w.finish(ctx, "")...)
	}
	return opened, err
}
