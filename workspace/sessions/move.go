package sessions

import (
	"context"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/config"
	"github.com/agent-handoff/handoff/internal/session/relocate"
	"github.com/agent-handoff/handoff/internal/session/transfer"
	"github.com/agent-handoff/handoff/session"
)

// Moves are the results of moving the folders of several sessions.
type Moves struct {
	Sessions []session.Move `json:"sessions"`
	Warnings []string       `json:"warnings,omitempty"`
}

// Archive archives sessions: the folder of each is moved to archive/YYYY-MM,
// beside the folder that it was opened in, and every ref still resolves. A session
// that is running or stalled is refused without force. The operation ends at the
// first session that can't be archived.
//
// Kinds: NotFound, Conflict (it is running, or in the trash; an ambiguous ref),
// Invalid (a run), Unavailable.
func (s Sessions) Archive(ctx context.Context, refs []string, force bool) (Moves, error) {
	return s.moveSessions(ctx, refs, func(m *relocate.Mover, id string) (session.Move, error) {
		return m.Archive(ctx, id, force)
	})
}

// Delete moves sessions to the trash, from which Restore takes them
// back. No file is removed before EmptyTrash. Kinds: those of Archive.
func (s Sessions) Delete(ctx context.Context, refs []string, force bool) (Moves, error) {
	return s.moveSessions(ctx, refs, func(m *relocate.Mover, id string) (session.Move, error) {
		return m.Delete(ctx, id, force)
	})
}

// Restore takes sessions out of the archive or the trash: their folders are
// moved back to where they were opened. Kinds: those of Archive; NotFound if
// the files in the trash were removed.
func (s Sessions) Restore(ctx context.Context, refs []string) (Moves, error) {
	return s.moveSessions(ctx, refs, func(m *relocate.Mover, id string) (session.Move, error) {
		return m.Restore(ctx,
			id)
	})
}

func (s Sessions) moveSessions(ctx context.Context, refs []string,
	move func(m *relocate.Mover, id string) (session.Move, error)) (Moves, error) {
	done, ids := Moves{Sessions: []session.Move{}}, make([]string, len(refs))
	if err := s.o.Hub.Closed(); err != nil {
		return done, err
	}
	for i, ref := range refs { // before anything is moved
		id, err := s.Resolve(ctx, ref)
		if err != nil {
			return done, err
		}
		ids[i] = id
	}
	m := s.o.Mover()
	for _, id := range ids {
		moved, err := move(m, id)
		if err != nil {
			return done, err
		}
		done.Sessions = append(done.Sessions, moved)
	}
	done.Warnings = s.o.Finish(ctx, "")
	return done, nil
}

// ToArchive returns the sessions that ended so long ago that archive_after of
// the settings selects them; none without the setting. It changes nothing.
func (s Sessions) ToArchive(ctx context.Context) ([]session.Due, error) {
	return s.dueSessions(ctx, time.Duration(s.o.Settings.ArchiveAfter))
}

func (s Sessions) dueSessions(ctx context.Context, age time.Duration) ([]session.Due, error) {
	list := []session.Due{}
	if err := s.o.Hub.Closed(); err != nil || age == 0 {
		return list, err
	}
	due, err := s.o.Mover().Due(ctx, s.o.Now().Add(-age))
	return append(list, due...), err
}

// ArchiveDue archives the sessions that ended longer ago than an age such as 30d. Kinds:
// Invalid (the age), and those of Archive.
func (s Sessions) ArchiveDue(ctx context.Context, age string) (Moves, error) {
	if err := s.o.Hub.Closed(); err != nil {
		return Moves{}, err
	}
	limit, err := config.ParseAge(age)
	if err != nil {
		return Moves{}, handoff.E("archive sessions", "", handoff.Invalid, err)
	}
	due, err := s.dueSessions(ctx, time.Duration(limit))
	if err != nil || len(due) == 0 {
		return Moves{Sessions: []session.Move{}}, err
	}
	refs := make([]string, len(due))
	for i, s := range due {
		refs[i] = s.ID
	}
	return s.Archive(ctx, refs, false)
}

// ToDelete returns at most limit sessions that ended and are not in the trash,
// the one that started last first.
func (s Sessions) ToDelete(ctx context.Context, limit int) ([]session.Summary, error) {
	return s.o.Mover().Candidates(ctx, limit)
}

// Trash returns the sessions in the trash.
func (s Sessions) Trash(ctx context.Context) ([]session.Summary, error) {
	return s.o.Mover().Trash(ctx, s.o.Store)
}

// EmptyTrash removes the files of the sessions in the trash, or with a function of those
// that it selects. It keeps those that an
// active artifact needs, because its content is nowhere else; the records remain. No
// other operation removes files of a session.
//
// Kinds: Unavailable, Corrupt (a record is missing or can't be read, and may need any
// file).
func (s Sessions) EmptyTrash(ctx context.Context, selects func(session.Summary) bool) (session.EmptiedTrash, error) {
	return s.o.Mover().EmptyTrash(ctx, s.o.Store, selects)
}

// Export writes a session with all its runs to a tar file that must not exist:
// the records, the kept bodies and the files in the folder.
//
// Kinds: NotFound, Invalid (a run), Conflict (the file exists, a file of the session
// changes; an ambiguous ref), Corrupt, Unavailable.
func (s Sessions) Export(ctx context.Context, ref, file string) (session.Transfer, error) {
	id, err := s.Resolve(ctx, ref)
	if err != nil {
		return session.Transfer{}, err
	}
	return s.transfer("").Export(ctx, id, s.o.Path(file))
}

// Import imports a session that was exported from another workspace, with the
// IDs that it has there. The file is verified before anything is written. Nothing of it
// counts before all of it does; an import that was interrupted is completed by
// importing the file again.
//
// Kinds: Invalid (not a valid export), NotFound, Conflict (the session, an artifact or
// the folder exists), Unavailable.
func (s Sessions) Import(ctx context.Context, file string) (session.Transfer, error) {
	if err := s.o.Hub.Closed(); err != nil {
		return session.Transfer{}, err
	}
	outputs, err := s.outputs()
	if err != nil {
		return session.Transfer{}, err
	}
	done, err := s.transfer(outputs).Import(ctx, s.o.Path(file))
	if err == nil {
		done.Warnings = append(done.Warnings, s.o.Finish(ctx, "")...)
	}
	return done, err
}

func (s Sessions) transfer(outputs string) *transfer.Transfer {
	t := &transfer.Transfer{Mover: s.o.Mover(), Store: s.o.Store, Append: s.o.Log, Put: s.o.Bodies, Outputs: outputs,
		Origin: s.o.Origin}
	return t
}
