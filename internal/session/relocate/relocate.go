// Package relocate moves the folders of sessions: to the archive, to the trash, and
// back to where they were.
//
// A move has three steps, in this order:
//
//  1. The decision is recorded: session.archived, session.deleted or
//     session.restored, with the folder to move to.
//  2. The folder is renamed, and both directories are synced.
//  3. path.moved is recorded. From here on, views have the new path.
//
// A process that is killed before step 1 has changed nothing. After step 1 the
// session has its new state and [handoff.Session.MovingTo] is set; its files are
// complete in one of the two folders, because a rename is atomic, and readers look in
// both. The next operation that records something completes the move. A path.moved
// that completes nothing has no effect, so completing twice is harmless.
//
// Moves in one runtime directory are made one at a time, under a lock that ends with
// its process.
package relocate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/session/lifecycle"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/internal/tool/plainfile"
	"github.com/agent-handoff/handoff/session"
)

// The directories of archived and of deleted sessions, beside the folders that the
// sessions were opened in.
const (
	archiveDir = "archive"
	trashDir   = ".trash"
)

// A Mover moves the folders of the sessions of one workspace. Use one for each
// operation.
type Mover struct {
	Hub      *handoff.Hub
	Sessions *lifecycle.Sessions
	Runtime  func() (*os.Root, error) // opens the runtime directory, whose lock moves hold
	Observer lifecycle.Observer
	Now      time.Time

	folders []string // of all sessions, once they are known
}

// Archive archives a session: its folder is moved to archive/YYYY-MM, by the month
// in which it started. A session that is running or stalled is refused without
// force. Archiving it again changes nothing.
//
// Kinds: NotFound, Invalid (a run), Conflict (it is running, or in the trash),
// Unavailable, and those of handoff.Hub.Record.
func (m *Mover) Archive(ctx context.Context, id string, force bool) (session.Move, error) {
	return m.exclusively(ctx, "archive", id, func(s handoff.Session) (handoff.Fact, error) {
		if s.Archived {
			return nil, nil
		}
		if s.Deleted {
			return nil, handoff.E("archive", id, handoff.Conflict, errors.New("session is in the trash"),
				handoff.Suggest("restore it first", handoff.ActionRestore, id))
		}
		if err := m.checkEnded(ctx, s, "archive", force); err != nil {
			return nil, err
		}
		to, err := m.free(s, path.Join(archiveDir, s.OpenedAt.UTC().Format("2006-01")))
		return &handoff.SessionArchived{SessionID: id, Folder: to}, err
	})
}

// Delete moves a session to the trash. Nothing is removed, and every ref to its
// artifacts still resolves. Kinds: those of Archive.
func (m *Mover) Delete(ctx context.Context, id string, force bool) (session.Move, error) {
	return m.exclusively(ctx, "trash session", id, func(s handoff.Session) (handoff.Fact, error) {
		if s.Deleted {
			return nil, nil
		}
		if err := m.checkEnded(ctx, s, "trash session", force); err != nil {
			return nil, err
		}
		to, err := m.free(s, trashDir)
		return &handoff.SessionDeleted{SessionID: id, Folder: to}, err
	})
}

// Restore takes a session out of the archive or the trash: its folder is moved back
// to where the session was opened.
//
// Kinds: those of Archive; Conflict if the folder is taken, and NotFound if the
// files in the trash were removed.
func (m *Mover) Restore(ctx context.Context, id string) (session.Move, error) {
	return m.exclusively(ctx, "restore", id, func(s handoff.Session) (handoff.Fact, error) {
		if !s.Archived && !s.Deleted {
			return nil, nil
		}
		restored := &handoff.SessionRestored{SessionID: id, Folder: s.Origin}
		if s.Origin == "" {
			return restored, nil
		}
		found, err := m.exists(s.Folder)
		taken, failed := m.exists(s.Origin)
		switch {
		case err != nil || failed != nil:
			return nil, cmp.Or(err, failed)
		case !found:
			return nil, handoff.E("restore", id, handoff.NotFound, fmt.Errorf("its folder %s does not exist", s.Folder),
				handoff.Suggest("show what is recorded", handoff.ActionShow, id))
		case taken:
			return nil, handoff.E("restore", id, handoff.Conflict, errors.New(s.Origin+" exists"),
				handoff.Advice("move that folder elsewhere first"))
		}
		return restored, nil
	})
}

// Due returns the sessions that ended before a time and that Archive accepts, the
// one that started last first. Kind: Unavailable.
func (m *Mover) Due(ctx context.Context, before time.Time) ([]session.Due, error) {
	if err := m.loadFolders(ctx); err != nil {
		return nil, err
	}
	due := []session.Due{}
	q := handoff.SessionQuery{Until: before, Limit: 500}
	for {
		page, err := m.Hub.Sessions(ctx, q)
		if err != nil {
			return due, err
		}
		for _, s := range page.Sessions {
			if s.Closed == 0 || !s.ClosedAt.Before(before) || m.sharing(s) != "" {
				continue
			}
			switch err := m.checkEnded(ctx, s, "archive", false); {
			case err == nil:
				due = append(due, session.Due{ID: s.ID, Folder: s.Folder, Name: lifecycle.LongName(s, s.Status, m.Now),
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

// Complete completes the moves that a killed process has left. One whose folder is
// on another machine is left to that machine. Kinds: Unavailable, and those of
// handoff.Hub.Record.
func (m *Mover) Complete(ctx context.Context) error {
	page, err := m.moving(ctx)
	if err != nil || len(page.Sessions) == 0 {
		return err
	}
	return m.Locked(ctx, func() error {
		page, err := m.moving(ctx) // another process may have completed some
		for _, s := range page.Sessions {
			here, failed := m.AnyExists(s.Folder, s.MovingTo)
			if here {
				_, failed = m.complete(ctx, s)
			}
			err = errors.Join(err, failed)
		}
		return err
	})
}

// exclusively runs a move while no other process makes one. decide returns the fact
// to record, nil for none.
func (m *Mover) exclusively(ctx context.Context, op, id string,
	decide func(handoff.Session) (handoff.Fact, error)) (moved session.Move, err error) {
	s, err := m.Sessions.Session(ctx, id)
	if err != nil {
		return session.Move{}, err
	}
	if s.Parent != "" {
		return session.Move{}, handoff.E(op, id, handoff.Invalid, errors.New("is a run inside a session"),
			handoff.Advice("name its session, "+s.Parent))
	}
	err = m.Locked(ctx, func() error {
		if s, err = m.Sessions.Session(ctx, id); err != nil {
			return err
		}
		if s.MovingTo != "" {
			if s, err = m.complete(ctx, s); err != nil {
				return err
			}
		}
		moved = session.Move{ID: id, From: s.Folder, To: s.Folder}
		fact, err := decide(s)
		if err != nil || fact == nil {
			return err
		}
		if _, moved.Warnings, err = m.Hub.Record(ctx, fact); err != nil {
			return err
		}
		if s, err = m.Sessions.Session(ctx, id); err != nil {
			return err
		}
		if s, err = m.complete(ctx, s); err != nil {
			return err
		}
		moved.To = s.Folder
		if err := m.Sessions.Render(ctx, id); err != nil {
			moved.Warnings = append(moved.Warnings, err.Error())
		}
		return nil
	})
	return moved, err
}

// complete moves the folder of a session to MovingTo, unless that was done, and
// records it.
func (m *Mover) complete(ctx context.Context, s handoff.Session) (handoff.Session, error) {
	if s.MovingTo == "" {
		return s, nil
	}
	from, to := s.Folder, s.MovingTo
	found, err := m.exists(from)
	if err != nil {
		return s, err
	}
	if found {
		if err := m.rename(from, to); err != nil {
			return s, handoff.E("move", from, handoff.Unavailable, fmt.Errorf("to %s: %w", to, durable.Reason(err)),
				handoff.Advice("make both directories writable and check that no file has the new name; the next command "+
					"completes the move"))
		}
	}
	for _, dir := range []string{path.Dir(from), path.Dir(to)} {
		if err := durable.SyncDir(m.Sessions.Files, filepath.FromSlash(dir)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return s, handoff.E("move", from, handoff.Unavailable, durable.Reason(err))
		}
	}
	if _, _, err := m.Hub.Record(ctx, &handoff.PathMoved{From: from, To: to, SessionID: s.ID}); err != nil {
		return s, err
	}
	m.removeEmpty(path.Dir(from))
	return m.Sessions.Session(ctx, s.ID)
}

// rename renames a folder. The new name must be free: a rename replaces an empty
// directory.
func (m *Mover) rename(from, to string) error {
	if taken, err := m.exists(to); taken || err != nil {
		return cmp.Or(err, fs.ErrExist)
	}
	files := m.Sessions.Files
	dir := path.Dir(to)
	if err := files.MkdirAll(filepath.FromSlash(dir), 0o777); err != nil {
		return err
	}
	if path.Base(dir) == trashDir {
		if err := ignore(files, dir); err != nil {
			return err
		}
	}
	return files.Rename(filepath.FromSlash(from), filepath.FromSlash(to))
}

// ignoreAll is the .gitignore of the trash: what was deleted is not committed.
const ignoreAll = "*\n"

func ignore(files *os.Root, dir string) error {
	err := durable.Create(files, path.Join(dir, ".gitignore"), func(w io.Writer) error {
		_, err := io.WriteString(w, ignoreAll)
		return err
	})
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// removeEmpty removes the directories of the archive or the trash that a move has
// left empty.
func (m *Mover) removeEmpty(dir string) {
	for depth := 0; depth < 2; depth++ {
		name, parent := path.Base(dir), path.Base(path.Dir(dir))
		if name != trashDir && name != archiveDir && parent != archiveDir {
			return
		}
		if name == trashDir {
			m.removeIgnore(dir)
		}
		if m.Sessions.Files.Remove(filepath.FromSlash(dir)) != nil { // something is in it
			return
		}
		dir = path.Dir(dir)
	}
}

// removeIgnore removes the .gitignore of a trash that has nothing else.
func (m *Mover) removeIgnore(dir string) {
	entries, err := fs.ReadDir(m.Sessions.Files.FS(), dir)
	name := path.Join(dir, ".gitignore")
	if err != nil || len(entries) != 1 || entries[0].Name() != ".gitignore" {
		return
	}
	if text, err := plainfile.ReadIn(m.Sessions.Files, name, int64(len(ignoreAll))); err == nil &&
		string(text) == ignoreAll {
		_ = m.Sessions.Files.Remove(filepath.FromSlash(name)) // the directory stays then
	}
}

// free returns the folder that a session is moved to, in a directory beside the one
// that it was opened in. If its name is taken, it gets the first free suffix. It
// returns "" for a session without a folder here.
func (m *Mover) free(s handoff.Session, dir string) (string, error) {
	if found, err := m.exists(s.Folder); !found {
		return "", err
	}
	if other := m.sharing(s); other != "" {
		return "", handoff.E("move", s.ID, handoff.Conflict,
			errors.New("the folder of another session, "+other+", contains its folder or is in it"),
			handoff.Advice("give each session a folder of its own"))
	}
	origin := s.Origin
	if origin == "" {
		origin = s.Folder
	}
	base := path.Join(path.Dir(origin), dir, path.Base(origin))
	for to, n := base, 2; ; n++ {
		if taken, err := m.exists(to); !taken {
			return to, err
		}
		to = fmt.Sprintf("%s.%d", base, n)
	}
}

// sharing returns the folder of another session that can't be told from that of s.
func (m *Mover) sharing(s handoff.Session) string {
	i, _ := slices.BinarySearch(m.folders, s.Folder)
	for ; i < len(m.folders) && strings.HasPrefix(m.folders[i], s.Folder); i++ {
		if next := i + 1; m.folders[i] == s.Folder && next < len(m.folders) && m.folders[next] == s.Folder ||
			strings.HasPrefix(m.folders[i], s.Folder+"/") {
			return m.folders[i]
		}
	}
	for dir := path.Dir(s.Folder); dir != "." && dir != "/"; dir = path.Dir(dir) {
		if _, found := slices.BinarySearch(m.folders, dir); found {
			return dir
		}
	}
	return ""
}

// loadFolders loads the folders of all sessions, without runs.
func (m *Mover) loadFolders(ctx context.Context) error {
	if m.folders != nil {
		return nil
	}
	page, err := m.Hub.Sessions(ctx, handoff.SessionQuery{IncludeArchived: true})
	m.folders = []string{}
	for _, s := range page.Sessions {
		if s.Folder != "" {
			m.folders = append(m.folders, s.Folder)
		}
	}
	slices.Sort(m.folders)
	return err
}

// checkEnded returns an error of kind Conflict if a session or a run in it is
// running or stalled, unless force is set.
func (m *Mover) checkEnded(ctx context.Context, s handoff.Session, op string, force bool) error {
	if force {
		return nil
	}
	tree, err := m.Tree(ctx, s)
	for _, s := range tree {
		status, _ := lifecycle.StatusAt(s, m.Observer, m.Now, time.Time{})
		if status == handoff.Running || status == lifecycle.Stalled {
			return handoff.E(op, s.ID, handoff.Conflict, errors.New("is "+status),
				handoff.Suggest("close it first", handoff.ActionClose, s.ID, session.Completed))
		}
	}
	return err
}

// Tree returns a session and all runs in it, each after its parent.
func (m *Mover) Tree(ctx context.Context, s handoff.Session) ([]handoff.Session, error) {
	list, seen := []handoff.Session{s}, map[string]bool{s.ID: true} // forged records can form a cycle
	for i := 0; i < len(list); i++ {
		page, err := m.Hub.Sessions(ctx, handoff.SessionQuery{Parent: list[i].ID, IncludeArchived: true})
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

// exists reports whether a folder exists; "" does not. A folder that can't be looked
// up is an error of kind Unavailable: to take it for missing would record a move that
// was not made.
func (m *Mover) exists(folder string) (bool, error) {
	if folder == "" {
		return false, nil
	}
	_, err := m.Sessions.Files.Lstat(filepath.FromSlash(folder))
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return err == nil, nil
	}
	return false, handoff.E("move", folder, handoff.Unavailable, durable.Reason(err))
}

// AnyExists reports whether one of several folders exists. Its kind is Unavailable.
func (m *Mover) AnyExists(folders ...string) (bool, error) {
	var failed error
	for _, folder := range folders {
		found, err := m.exists(folder)
		if found {
			return true, nil
		}
		failed = errors.Join(failed, err)
	}
	return false, failed
}

// lockWait is how long an operation waits for a move of another process.
const lockWait = 10 * time.Second

// Locked runs do while no other process moves, exports or imports a session.
func (m *Mover) Locked(ctx context.Context, do func() error) error {
	if err := m.loadFolders(ctx); err != nil {
		return err
	}
	unavailable := func(err error) error {
		return handoff.E("lock", "the runtime directory", handoff.Unavailable, durable.Reason(err),
			handoff.Advice("retry once the process that moves a session has ended"))
	}
	dir, err := m.Runtime()
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
