package workspace

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/workspace/runs"

	"github.com/agent-handoff/handoff/workspace/internal/parts"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/config"
	"github.com/agent-handoff/handoff/internal/names"
	"github.com/agent-handoff/handoff/internal/session/lifecycle"
	"github.com/agent-handoff/handoff/internal/trace/hook"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/workspace/sessions"
)

// Limits of tidy: it renders only manifests that a live writer would have
// rendered by now, and only some at a time.
const (
	renderAfter = 2 * time.Second
	renderMost  = 32
)

// tidy completes the work of processes that were killed.
func (w *Workspace) tidy(ctx context.Context) ([]string, error) {
	warnings, err := w.Runs().Tidy(ctx)
	return warnings, errors.Join(err, w.eraseLeft(ctx), w.renderPending(ctx, renderAfter))
}

// ReadConversations adds to the threads of a session, the first 50, what their
// transcripts show: their status, subagents and usage.
func ReadConversations(ctx context.Context, threads *thread.Set, list []session.Thread) {
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

// showSession returns a session. With files, its detail has what is in its folder.
func (w *Workspace) showSession(ctx context.Context, id string, files bool) (Shown, error) {
	d, published, err := w.sessions.Detail(ctx, id, lifecycle.ThisObserver(), w.now())
	if err == nil && files {
		d.Files, err = w.sessions.List(d.Session)
	}
	return Shown{Session: &d, published: published}, err
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
	ids, err := w.index.Manifests().Unrendered(ctx, age, renderMost)
	for _, id := range ids {
		_ = w.sessions.Render(ctx, id)
	}
	return err
}

// dirOf returns the folder of a session or run as far as the index knows it, or the
// one that it would have, "" for no ID.
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

// file returns the file of an artifact, absolute, "" if it can't be reached from
// this machine.
func (w *Workspace) file(ctx context.Context, a handoff.Artifact) string {
	return w.published.Stat(ctx, []handoff.Artifact{a})[0].Path
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

// folder returns the folder of a session, absolute.
func (c *core) folder(s handoff.Session) string {
	return filepath.Join(c.dirs.Home(), filepath.FromSlash(s.Folder))
}

// ownSession returns the ID of the caller's session, "" for none. A harness's own
// ID is not that of a session that handoff opened.
func (w *Workspace) ownSession() string {
	if p := w.caller.Producer; p.Source != handoff.FromHarness && p.Source != handoff.FromInherited {
		return p.Session
	}
	return ""
}

// sessionParts are what sessions use of the workspace.
func (w *Workspace) sessionParts() parts.Sessions {
	o := parts.Sessions{Hub: w.as, Producer: w.caller.Producer, Own: w.ownSession(), Within: w.caller.Within,
		Dirs: w.dirs, Settings: w.settings, Sessions: w.sessions, Now: w.now, Rand: w.rand, Dir: w.caller.Dir,
		Path: w.path, Inside: w.inside, Resolve: w.Resolve, ResolveAll: w.resolveAll, File: w.file, Folder: w.folder,
		FolderByID: w.dirOf, CountIn: w.index.CountIn, Matching: w.sessionsWith,
		Store: lifecycle.Store{Log: w.checked, Bodies: w.rawBodies}, Log: w.log, Bodies: w.bodies,
		IsSession: w.isSession, Finish: w.finish, SendQueued: w.sendAtEnd}
	if w.remote {
		o.Origin = w.runtimeDir.NewOrigin
	}
	return o
}

// Sessions returns the sessions of the workspace.
func (w *Workspace) Sessions() sessions.Sessions { return sessions.New(w.sessionParts()) }

// Runs returns the commands that the caller runs in sessions of their own.
func (w *Workspace) Runs() runs.Runs { return runs.New(w.sessionParts()) }
