package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/session"
)

// Archive records that a session is archived: lists omit it, and its manifest says when.
// A session that is running or stalled is refused without force. Archiving it again
// only renders the manifest.
//
// Error kinds: NotFound, Invalid (a run), Conflict (it is running, or in the trash), and
// those of Log.Append.
func (ss *Sessions) Archive(ctx context.Context, id string, force bool) ([]string, error) {
	s, err := ss.whole(ctx, "archive", id)
	if err != nil {
		return nil, err
	}
	if s.Archived {
		return nil, ss.Render(ctx, id) // perhaps of a process that was killed
	}
	if s.Deleted {
		return nil, handoff.E("archive", id, handoff.Conflict, errors.New("session is in the trash"),
			handoff.Suggest("restore it first", handoff.ActionRestore, id))
	}
	if err := ss.checkEnded(ctx, "archive", s, force); err != nil {
		return nil, err
	}
	return ss.record(ctx, id, &handoff.SessionArchived{SessionID: id})
}

// Delete records that a session is in the trash: lists omit it, and it has no manifest.
// All other files stay, and every ref to its artifacts still resolves. Error kinds: those
// of Archive.
func (ss *Sessions) Delete(ctx context.Context, id string, force bool) ([]string, error) {
	s, err := ss.whole(ctx, "trash session", id)
	if err != nil {
		return nil, err
	}
	if s.Deleted {
		return nil, ss.Render(ctx, id)
	}
	if err := ss.checkEnded(ctx, "trash session", s, force); err != nil {
		return nil, err
	}
	return ss.record(ctx, id, &handoff.SessionDeleted{SessionID: id})
}

// Restore takes a session out of the archive and the trash, and renders its manifest
// again. Error kinds: those of Archive; NotFound if the files of a deleted session were
// removed.
func (ss *Sessions) Restore(ctx context.Context, id string) (warnings []string, err error) {
	if _, err := ss.whole(ctx, "restore", id); err != nil {
		return nil, err
	}
	err = ss.Locked(ctx, func() error {
		s, err := ss.Session(ctx, id)
		if err != nil {
			return err
		}
		if !s.Archived && !s.Deleted {
			return ss.Render(ctx, id)
		}
		found, err := ss.Exists(s.Folder)
		if err == nil && s.Deleted && s.Folder != "" && !found {
			err = handoff.E("restore", id, handoff.NotFound, fmt.Errorf("its folder %s does not exist", s.Folder),
				handoff.Suggest("show what is recorded", handoff.ActionShow, id))
		}
		if err == nil {
			warnings, err = ss.record(ctx, id, &handoff.SessionRestored{SessionID: id})
		}
		return err
	})
	return warnings, err
}

// Due returns the sessions that ended before a time and that Archive accepts, the
// one that started last first. Error kind: Unavailable.
func (ss *Sessions) Due(ctx context.Context, before time.Time) ([]session.Due, error) {
	due := []session.Due{}
	q := handoff.SessionQuery{Until: before, Limit: 500}
	for {
		page, err := ss.hub.Sessions(ctx, q)
		if err != nil {
			return due, err
		}
		for _, s := range page.Sessions {
			if s.Closed == 0 || !s.ClosedAt.Before(before) {
				continue
			}
			switch err := ss.checkEnded(ctx, "archive", s, false); {
			case err == nil:
				due = append(due, session.Due{ID: s.ID, Folder: s.Folder, Name: LongName(s, s.Status, ss.Now()),
					ClosedAt: s.ClosedAt})
			case !errors.Is(err, handoff.Conflict):
				return due, err
			}
		}
		if q.Cursor = page.Cursor; q.Cursor == "" {
			return due, nil
		}
	}
}

// whole returns a session that is not a run. Error kinds: NotFound, Invalid.
func (ss *Sessions) whole(ctx context.Context, op, id string) (handoff.Session, error) {
	s, err := ss.Session(ctx, id)
	if err == nil && s.Parent != "" {
		err = handoff.E(op, id, handoff.Invalid, errors.New("is a run inside a session"),
			handoff.Advice("name its session, "+s.Parent))
	}
	return s, err
}

// checkEnded returns an error of kind Conflict if a session or a run in it is
// running or stalled, unless force is set.
func (ss *Sessions) checkEnded(ctx context.Context, op string, s handoff.Session, force bool) error {
	if force {
		return nil
	}
	tree, err := ss.Tree(ctx, s)
	for _, s := range tree {
		status, _ := StatusAt(s, ThisObserver(), ss.Now(), time.Time{})
		if status == handoff.Running || status == Stalled {
			return handoff.E(op, s.ID, handoff.Conflict, errors.New("is "+status),
				handoff.Suggest("close it first", handoff.ActionClose, s.ID, session.Completed))
		}
	}
	return err
}

// Tree returns a session and all runs in it, each after its parent.
func (ss *Sessions) Tree(ctx context.Context, s handoff.Session) ([]handoff.Session, error) {
	list := []handoff.Session{s}
	seen := map[string]bool{s.ID: true} // forged records can form a cycle
	for i := 0; i < len(list); i++ {
		page, err := ss.hub.Sessions(ctx, handoff.SessionQuery{Parent: list[i].ID, IncludeArchived: true})
		if err != nil {
			return nil, err
		}
		for _, run := range page.Sessions {
			if !seen[run.ID] {
				seen[run.ID] = true
				list = append(list, run)
			}
		}
	}
	return list, nil
}

// Exists reports whether a folder exists; "" does not. A folder that can't be looked
// up is an error of kind Unavailable: it is not taken for a missing one.
func (ss *Sessions) Exists(folder string) (bool, error) {
	if folder == "" {
		return false, nil
	}
	_, err := ss.Files.Lstat(filepath.FromSlash(folder))
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return err == nil, nil
	}
	return false, handoff.E("look up", folder, handoff.Unavailable, durable.Reason(err), handoff.Hint{})
}

// lockWait is how long an operation waits for another process that reads or removes the
// files of sessions.
const lockWait = 10 * time.Second

// Locked runs do while no other process restores, adopts, exports or imports a session, or
// removes the files of one.
func (ss *Sessions) Locked(ctx context.Context, do func() error) error {
	unavailable := func(err error) error {
		return handoff.E("lock", "the runtime directory", handoff.Unavailable, durable.Reason(err),
			handoff.Advice("retry once the process that restores or removes sessions has ended"))
	}
	dir, err := ss.Runtime()
	if err != nil {
		return err
	}
	defer dir.Close()
	lock, err := dir.Open(".")
	if err != nil {
		return unavailable(err)
	}
	defer lock.Close()
	switch err := durable.Lock(ctx, lock, syscall.LOCK_EX, lockWait); {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return unavailable(err)
	}
	return do()
}
