package workspace

import (
	"context"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/config"
	"github.com/agent-handoff/handoff/internal/session"
	"github.com/agent-handoff/handoff/internal/session/relocate"
	"github.com/agent-handoff/handoff/internal/session/transfer"
)

// A SessionMove is the result of moving a session's folder.
type SessionMove = relocate.Move

// SessionMoves are the results of moving the folders of several sessions.
type SessionMoves struct {
	Sessions []SessionMove `json:"sessions"`
	Warnings []string      `json:"warnings,omitempty"`
}

// ArchiveSessions archives sessions: the folder of each is moved to archive/YYYY-MM,
// beside the folder that it was opened in, and every ref still resolves. A session
// that is running or stalled is refused without force. The operation ends at the
// first session that can't be archived.
//
// Kinds: NotFound, Conflict (it is running, or in the trash; an ambiguous ref),
// Invalid (a run), Unavailable.
func (w *Workspace) ArchiveSessions(ctx context.Context, refs []string, force bool) (SessionMoves, error) {
	return w.moveSessions(ctx, refs, func(m *relocate.Mover, id string) (SessionMove, error) {
		return m.Archive(ctx, id, force)
	})
}

// DeleteSessions moves sessions to the trash, from which RestoreSessions takes them
// back. No file is removed before EmptyTrash. Kinds: those of ArchiveSessions.
func (w *Workspace) DeleteSessions(ctx context.Context, refs []string, force bool) (SessionMoves, error) {
	return w.moveSessions(ctx, refs, func(m *relocate.Mover, id string) (SessionMove, error) {
		return m.Delete(ctx, id, force)
	})
}

// RestoreSessions takes sessions out of the archive or the trash: their folders are
// moved back to where they were opened. Kinds: those of ArchiveSessions; NotFound if
// the files in the trash were removed.
func (w *Workspace) RestoreSessions(ctx context.Context, refs []string) (SessionMoves, error) {
	return w.moveSessions(ctx, refs, func(m *relocate.Mover, id string) (SessionMove, error) { return m.Restore(ctx, id) })
}

func (w *Workspace) moveSessions(ctx context.Context, refs []string,
	move func(m *relocate.Mover, id string) (SessionMove, error)) (SessionMoves, error) {
	done, ids := SessionMoves{Sessions: []SessionMove{}}, make([]string, len(refs))
	if err := w.hub.Closed(); err != nil {
		return done, err
	}
	for i, ref := range refs { // before anything is moved
		id, err := w.ResolveSession(ctx, ref)
		if err != nil {
			return done, err
		}
		ids[i] = id
	}
	m := w.mover()
	for _, id := range ids {
		moved, err := move(m, id)
		if err != nil {
			return done, err
		}
		done.Sessions = append(done.Sessions, moved)
	}
	done.Warnings = w.finish(ctx, "")
	return done, nil
}

// A DueSession is a session that archive_after of the settings selects.
type DueSession = relocate.Due

// SessionsToArchive returns the sessions that ended so long ago that archive_after of
// the settings selects them; none without the setting. It changes nothing.
func (w *Workspace) SessionsToArchive(ctx context.Context) ([]DueSession, error) {
	return w.dueSessions(ctx, time.Duration(w.settings.ArchiveAfter))
}

func (w *Workspace) dueSessions(ctx context.Context, age time.Duration) ([]DueSession, error) {
	list := []DueSession{}
	if err := w.hub.Closed(); err != nil || age == 0 {
		return list, err
	}
	due, err := w.mover().Due(ctx, w.now().Add(-age))
	return append(list, due...), err
}

// ArchiveDue archives the sessions that ended longer ago than an age such as 30d, or
// what SessionsToArchive returns for "". Kinds: Invalid (the age), and those of
// ArchiveSessions.
func (w *Workspace) ArchiveDue(ctx context.Context, age string) (SessionMoves, error) {
	err, limit := w.hub.Closed(), w.settings.ArchiveAfter
	if err != nil {
		return SessionMoves{}, err
	}
	if age != "" {
		if limit, err = config.ParseAge(age); err != nil {
			return SessionMoves{}, handoff.E("archive sessions", "", handoff.Invalid, err)
		}
	}
	due, err := w.dueSessions(ctx, time.Duration(limit))
	if err != nil || len(due) == 0 {
		return SessionMoves{Sessions: []SessionMove{}}, err
	}
	refs := make([]string, len(due))
	for i, s := range due {
		refs[i] = s.ID
	}
	return w.ArchiveSessions(ctx, refs, false)
}

// mover moves the folders of sessions on behalf of the caller.
func (w *Workspace) mover() *relocate.Mover {
	return &relocate.Mover{Hub: w.as, Sessions: w.sessions.As(w.caller.Producer), Runtime: w.runtime,
		Observer: session.ThisObserver(), Now: w.now()}
}

// A SessionSummary describes a session to someone who decides whether to delete it.
type SessionSummary = relocate.Summary

// An EmptiedTrash is the result of emptying the trash.
type EmptiedTrash = relocate.Emptied

// SessionsToDelete returns at most limit sessions that ended and are not in the trash,
// the one that started last first.
func (w *Workspace) SessionsToDelete(ctx context.Context, limit int) ([]SessionSummary, error) {
	return w.mover().Candidates(ctx, limit)
}

// EmptyTrash removes the files of the sessions in the trash. It keeps those that an
// active artifact needs, because its content is nowhere else; the records remain. No
// other operation removes files of a session.
//
// Kinds: Unavailable, Corrupt (a record is missing or can't be read, and may need any
// file).
func (w *Workspace) EmptyTrash(ctx context.Context) (EmptiedTrash, error) {
	return w.mover().EmptyTrash(ctx, w.store())
}

// store is what decides which files can be removed.
func (w *Workspace) store() relocate.Store {
	return relocate.Store{Log: w.checked, Bodies: w.rawBodies}
}

// A SessionTransfer is the result of exporting or importing a session.
type SessionTransfer = transfer.Result

// ExportSession writes a session with all its runs to a tar file that must not exist:
// the records, the kept bodies and the files in the folder.
//
// Kinds: NotFound, Invalid (a run), Conflict (the file exists, a file of the session
// changes; an ambiguous ref), Corrupt, Unavailable.
func (w *Workspace) ExportSession(ctx context.Context, ref, file string) (SessionTransfer, error) {
	id, err := w.ResolveSession(ctx, ref)
	if err != nil {
		return SessionTransfer{}, err
	}
	return w.transfer("").Export(ctx, id, w.path(file))
}

// ImportSession imports a session that was exported from another workspace, with the
// IDs that it has there. The file is verified before anything is written. Nothing of it
// counts before all of it does; an import that was interrupted is completed by
// importing the file again.
//
// Kinds: Invalid (not a valid export), NotFound, Conflict (the session, an artifact or
// the folder exists), Unavailable.
func (w *Workspace) ImportSession(ctx context.Context, file string) (SessionTransfer, error) {
	if err := w.hub.Closed(); err != nil {
		return SessionTransfer{}, err
	}
	outputs, err := w.launcher().Explain("agent_outputs_folder", VariableOptions{})
	if err != nil {
		return SessionTransfer{}, err
	}
	done, err := w.transfer(below(w.dirs.Home(), outputs.Value)).Import(ctx, w.path(file))
	if err == nil {
		done.Warnings = append(done.Warnings, w.finish(ctx, "")...)
	}
	return done, err
}

func (w *Workspace) transfer(outputs string) *transfer.Transfer {
	t := &transfer.Transfer{Mover: w.mover(), Store: w.store(), Append: w.log, Put: w.bodies, Outputs: outputs}
	if w.remote {
		t.Origin = w.runtimeDir.NewOrigin
	}
	return t
}
