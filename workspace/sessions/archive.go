package sessions

import (
	"context"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/config"
	"github.com/agent-handoff/handoff/internal/log/logcopy"
	"github.com/agent-handoff/handoff/internal/session/lifecycle"
	"github.com/agent-handoff/handoff/internal/session/transfer"
	"github.com/agent-handoff/handoff/session"
)

// Changes are the results of changing several sessions.
type Changes struct {
	Sessions []Change `json:"sessions"`
	Warnings []string `json:"warnings,omitempty"`
}

// Archive archives sessions: lists omit them, and the manifest of each says when. Folders
// stay where they are, and every ref still resolves. A session that is running or stalled is
// refused without force. The operation ends at the first session that can't be archived.
//
// Kinds: NotFound, Conflict (it is running, or in the trash; an ambiguous ref),
// Invalid (a run), Unavailable.
func (s Sessions) Archive(ctx context.Context, refs []string, force bool) (Changes, error) {
	return s.changeAll(ctx, refs, func(ss *lifecycle.Sessions, id string) ([]string, error) {
		return ss.Archive(ctx, id, force)
	})
}

// Delete puts sessions in the trash, from which Restore takes them back: lists omit them,
// and their manifests are removed. Only store.Store.Garbage removes their other files. Kinds:
// those of Archive.
func (s Sessions) Delete(ctx context.Context, refs []string, force bool) (Changes, error) {
	return s.changeAll(ctx, refs, func(ss *lifecycle.Sessions, id string) ([]string, error) {
		return ss.Delete(ctx, id, force)
	})
}

// Restore takes sessions out of the archive and the trash, and renders their manifests
// again. Kinds: those of Archive; NotFound if the files of a deleted session were removed.
func (s Sessions) Restore(ctx context.Context, refs []string) (Changes, error) {
	return s.changeAll(ctx, refs, func(ss *lifecycle.Sessions, id string) ([]string, error) {
		return ss.Restore(ctx, id)
	})
}

func (s Sessions) changeAll(ctx context.Context, refs []string,
	change func(ss *lifecycle.Sessions, id string) ([]string, error)) (Changes, error) {
	done := Changes{Sessions: []Change{}}
	ids := make([]string, len(refs))
	if err := s.c.Hub.Closed(); err != nil {
		return done, err
	}
	for i, ref := range refs { // before anything is changed
		id, err := s.Resolve(ctx, ref)
		if err != nil {
			return done, err
		}
		ids[i] = id
	}
	for _, id := range ids {
		warnings, err := change(s.recorder(), id)
		if err != nil {
			return done, err
		}
		done.Sessions = append(done.Sessions, Change{id, warnings})
	}
	done.Warnings = s.c.Finish(ctx, "")
	return done, nil
}

// ToArchive returns the sessions that ended so long ago that archive_after of
// the settings selects them; none without the setting. It changes nothing.
func (s Sessions) ToArchive(ctx context.Context) ([]session.Due, error) {
	return s.dueSessions(ctx, time.Duration(s.c.Settings.ArchiveAfter))
}

func (s Sessions) dueSessions(ctx context.Context, age time.Duration) ([]session.Due, error) {
	list := []session.Due{}
	if err := s.c.Hub.Closed(); err != nil || age == 0 {
		return list, err
	}
	return s.all.Due(ctx, s.c.Now().Add(-age))
}

// ArchiveDue archives the sessions that ended longer ago than an age such as 30d. Kinds:
// Invalid (the age), and those of Archive.
func (s Sessions) ArchiveDue(ctx context.Context, age string) (Changes, error) {
	if err := s.c.Hub.Closed(); err != nil {
		return Changes{}, err
	}
	limit, err := config.ParseAge(age)
	if err != nil {
		return Changes{}, handoff.E("archive sessions", "", handoff.Invalid, err)
	}
	due, err := s.dueSessions(ctx, time.Duration(limit))
	if err != nil || len(due) == 0 {
		return Changes{Sessions: []Change{}}, err
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
	return s.all.Candidates(ctx, limit)
}

// Trash returns the deleted sessions that have files. A folder outside
// {agent_outputs_folder} is not among them.
//
// Kinds: Unavailable, Corrupt (a record is missing or can't be read, and may need any
// file).
func (s Sessions) Trash(ctx context.Context) ([]session.Summary, error) {
	from, err := s.store()
	if err != nil {
		return nil, err
	}
	return s.all.Trash(ctx, from)
}

// RemoveTrash removes the files of the deleted sessions that a function selects, and returns
// those of Trash. It keeps the files that an active artifact needs, because its content is
// nowhere else; the records remain. No other operation removes files of a session. Kinds:
// those of Trash.
func (s Sessions) RemoveTrash(ctx context.Context, selects func(session.Summary) bool) ([]session.Summary, error) {
	from, err := s.store()
	if err != nil {
		return nil, err
	}
	return s.all.RemoveTrash(ctx, from, selects)
}

func (s Sessions) store() (lifecycle.Store, error) {
	outputs, err := s.outputs()
	return lifecycle.Store{Log: s.c.Checked, Bodies: s.c.RawBodies, Outputs: outputs}, err
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
	return s.transfer(lifecycle.Store{Log: s.c.Checked, Bodies: s.c.RawBodies}).Export(ctx, id, s.c.Path(file))
}

// Import imports a session that was exported from another workspace, with the
// IDs that it has there. The file is verified before anything is written. Nothing of it
// counts before all of it does; an import that was interrupted is completed by
// importing the file again.
//
// Kinds: Invalid (not a valid export), NotFound, Conflict (the session, an artifact or
// the folder exists), Unavailable.
func (s Sessions) Import(ctx context.Context, file string) (session.Transfer, error) {
	if err := s.c.Hub.Closed(); err != nil {
		return session.Transfer{}, err
	}
	from, err := s.store()
	if err != nil {
		return session.Transfer{}, err
	}
	done, err := s.transfer(from).Import(ctx, s.c.Path(file))
	if err == nil {
		done.Warnings = append(done.Warnings, s.c.Finish(ctx, "")...)
	}
	return done, err
}

func (s Sessions) transfer(from lifecycle.Store) *transfer.Transfer {
	t := &transfer.Transfer{Hub: s.c.Hub, Sessions: s.recorder(), Store: from,
		To: logcopy.Side{Log: s.c.Log, Bodies: s.c.Bodies}}
	if s.c.Remote {
		t.Origin = s.c.RuntimeDir.NewOrigin
	}
	return t
}
