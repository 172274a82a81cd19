package workspace

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/content"
	"github.com/agent-handoff/handoff/internal/names"
	"github.com/agent-handoff/handoff/workspace/pipelines"
)

// A Written is the answer to Write.
type Written struct {
	handoff.Published
	Ref  string // run/name
	File string // absolute path of the name's file

	// SavedEdits are revisions that were made of edits to the file that no record
	// had, before it was written.
	SavedEdits []handoff.Artifact
}

// Write makes content the newest revision of a name, Name of the draft, of the caller's
// run, or of its session outside a run, and updates the name's file. The content is Body,
// or that of the regular file at Path, as the caller types it. Channel is by default
// handoff. Parents are refs. Of the other fields Kind, Title, Summary and Tags are used.
// Earlier revisions stay readable. The same content again adds nothing.
//
// Kinds: Invalid (the name, no run or session), NotFound (the file), Conflict,
// and those of Publish.
func (w *Workspace) Write(ctx context.Context, c handoff.Draft) (Written, error) {
	d := handoff.Draft{Name: c.Name, Body: c.Body, Channel: cmp.Or(c.Channel, "handoff"), Kind: c.Kind,
		Title: c.Title, Summary: c.Summary, Tags: c.Tags, AllowSecret: c.AllowSecret}
	switch {
	case c.Body != nil && c.Path != "":
		return Written{}, handoff.E("write", c.Path, handoff.Invalid, errors.New("has both a path and a body"),
			handoff.Advice("leave one of them out"))
	case c.Body == nil:
		f, err := content.OpenRegular(w.c.Path(c.Path), c.Path)
		if err != nil {
			return Written{}, err
		}
		defer f.Close()
		d.Body, d.Filename = f, c.Path
	}
	var err error
	if d.Parents, err = w.c.ResolveAll(ctx, c.Parents); err != nil {
		return Written{}, err
	}
	writer := names.Writer{Hub: w.maker(ctx), Workspace: w.c.Dirs.Root, Scope: w.c.Scope(ctx)}
	done, err := writer.Write(ctx, d)
	if err != nil {
		return Written{}, err
	}
	done.Warnings = append(done.Warnings, w.c.Finish(ctx, w.c.Producer.Session)...)
	return Written{Published: done.Published, Ref: done.Namespace + "/" + done.Name, File: done.File,
		SavedEdits: done.SavedEdits}, nil
}

// stale reports whether the file of a name or of a stage was not rendered by the
// process that recorded its newest revision, because it was killed before. With
// render, it renders the file.
func (w *Workspace) stale(ctx context.Context, a handoff.Artifact, render bool) (bool, error) {
	if a.Name == "" || a.Status != handoff.Active {
		return false, nil
	}
	if pipelines.IsStage(a) {
		return w.Pipelines().Stale(ctx, a, render)
	}
	writer := w.writerOf(ctx, a, w.c.Hub)
	if render {
		return writer.RenderStale(ctx, a)
	}
	return writer.Stale(ctx, a)
}

// writerOf returns the writer of the name of an artifact.
func (w *Workspace) writerOf(ctx context.Context, a handoff.Artifact, hub *handoff.Hub) names.Writer {
	p := a.Record.Producer
	scope := names.Scope{Run: a.Namespace, Dir: w.c.SessionDir}
	if scope.Dir == "" || !strings.HasPrefix(a.File, scope.Dir+string(filepath.Separator)) {
		scope.Dir, scope.Within = w.c.CurrentFolder(ctx, cmp.Or(p.Session, p.RunID)), w.c.Dirs.Home()
	}
	return names.Writer{Hub: hub, Workspace: w.Root(), Scope: scope}
}

// saveEdit records an edit of the file of a name as a revision, as Write does,
// and returns it, nil if there was none. Its producer is the caller if the name is
// the caller's; otherwise only its run and session are known.
func (w *Workspace) saveEdit(ctx context.Context, head handoff.Artifact) (*handoff.Artifact, error) {
	hub := w.c.Hub
	if own, err := w.c.Scope(ctx).Namespace(); err != nil || own != head.Namespace {
		p := head.Record.Producer
		hub = w.c.Anonymous.As(handoff.Producer{Session: p.Session, ParentSession: p.ParentSession, RunID: p.RunID,
			Source: handoff.FromNone})
	}
	return w.writerOf(ctx, head, hub).SaveEdit(ctx, head)
}
