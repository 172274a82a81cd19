package relocate

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/content"
	"github.com/agent-handoff/handoff/internal/session/lifecycle"
	"github.com/agent-handoff/handoff/internal/session/manifest"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/session"
)

// Candidates returns the sessions that can be deleted, the one that started last
// first, at most limit.
func (m *Mover) Candidates(ctx context.Context, limit int) ([]session.Summary, error) {
	list := []session.Summary{}
	q := handoff.SessionQuery{IncludeArchived: true, Limit: 100}
	for {
		page, err := m.Hub.Sessions(ctx, q)
		if err != nil {
			return list, err
		}
		for _, s := range page.Sessions {
			if s.Deleted || m.checkEnded(ctx, s, "", false) != nil {
				continue
			}
			d, err := m.summarize(ctx, s)
			if err != nil {
				return list, err
			}
			if list = append(list, d); len(list) == limit {
				return list, nil
			}
		}
		if q.Cursor = page.Cursor; q.Cursor == "" {
			return list, nil
		}
	}
}

func (m *Mover) summarize(ctx context.Context, s handoff.Session) (session.Summary, error) {
	d := session.Summary{ID: s.ID, Name: lifecycle.LongName(s, s.Status, m.Now), Folder: s.Folder, OpenedAt: s.OpenedAt,
		Active: []string{}}
	page, err := m.Hub.Artifacts(ctx, handoff.ArtifactQuery{Producer: map[string]string{"session": s.ID}})
	for _, a := range page.Artifacts {
		d.Active = append(d.Active, a.ID)
	}
	d.SizeBytes = m.size(s.Folder)
	return d, err
}

// size returns the size of the files in a folder, as far as they can be read.
func (m *Mover) size(folder string) (n int64) {
	_ = fs.WalkDir(m.Sessions.Files.FS(), cmp.Or(folder, "."), func(_ string, d fs.DirEntry, err error) error {
		if err != nil || folder == "" {
			return fs.SkipAll
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			n += info.Size()
		}
		return nil
	})
	return n
}

// A Store is where records and kept bodies are read to decide what can be removed.
type Store struct {
	Log    handoff.Log
	Bodies handoff.Bodies
}

// Trash returns the sessions in the trash that have files, the one that started last
// first. It changes nothing.
//
// Kinds: Unavailable; Corrupt (a record is missing or can't be read, and may need
// any file).
func (m *Mover) Trash(ctx context.Context, from Store) ([]session.Summary, error) {
	deleted, err := m.deleted(ctx)
	if err != nil || len(deleted) == 0 {
		return nil, err
	}
	unknown, err := unknownRecords(ctx, from.Log)
	if err != nil {
		return nil, err
	}
	list := make([]session.Summary, len(deleted))
	for i, s := range deleted {
		if list[i], err = m.summarize(ctx, s); err != nil {
			return nil, err
		}
		for _, r := range unknown { // may need the files of the session
			if b, err := r.JSON(); err != nil || bytes.Contains(b, []byte(s.ID)) {
				list[i].NeededBy = append(list[i].NeededBy, r.ID)
			}
		}
	}
	recorded := map[string]bool{} // paths
	err = content.EachArtifact(ctx, m.Hub, handoff.ArtifactQuery{IncludeInactive: true}, func(a handoff.Artifact) error {
		for i, s := range deleted {
			if !isIn(s, a) {
				continue
			}
			if recorded[a.Path] = true; a.Root == handoff.SessionRoot {
				recorded[path.Join(s.Folder, a.Path)] = true
			}
			if a.Status != handoff.Active {
				continue
			}
			kept := false
			if a.Kept {
				if kept, err = from.Bodies.Has(ctx, a.Digest); err != nil {
					return err
				}
			}
			if !kept {
				list[i].NeededBy = append(list[i].NeededBy, a.ID)
			}
		}
		return ctx.Err()
	})
	for i, s := range deleted {
		list[i].Unrecorded = m.unrecorded(s.Folder, recorded)
	}
	return list, err
}

// unrecorded returns the number of files in the folder of a session, as far as it can
// be read, that are not at one of the paths or in it. The manifest is handoff's own.
func (m *Mover) unrecorded(folder string, recorded map[string]bool) (n int) {
	_ = fs.WalkDir(m.Sessions.Files.FS(), folder, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil
		case recorded[name] && d.IsDir():
			return fs.SkipDir
		case !d.IsDir() && !recorded[name] && name != path.Join(folder, manifest.Name):
			n++
		}
		return nil
	})
	return n
}

// isIn reports whether an artifact is in the folder of a session, or is the folder or
// a directory that contains it.
func isIn(s handoff.Session, a handoff.Artifact) bool {
	switch {
	case a.Root == handoff.SessionRoot:
		return a.Producer.Session == s.ID
	case a.Root != "" || a.Worktree != "":
		return false
	}
	return strings.HasPrefix(a.Path+"/", s.Folder+"/") || strings.HasPrefix(s.Folder+"/", a.Path+"/")
}

// deleted returns the sessions in the trash that have files.
func (m *Mover) deleted(ctx context.Context) ([]handoff.Session, error) {
	page, err := m.Hub.Sessions(ctx, handoff.SessionQuery{IncludeArchived: true})
	var list []handoff.Session
	for _, s := range page.Sessions {
		if !s.Deleted || path.Base(path.Dir(s.Folder)) != trashDir {
			continue
		}
		found, failed := m.AnyExists(s.Folder, removing(s.Folder))
		if found {
			list = append(list, s)
		}
		err = errors.Join(err, failed)
	}
	return list, err
}

// unknownRecords returns the records of types and versions that this program doesn't
// know. Kind: Corrupt, if a record is missing or can't be read.
func unknownRecords(ctx context.Context, log handoff.Log) ([]handoff.Record, error) {
	var unknown []handoff.Record
	lost := false
	report, err := content.CheckLog(ctx, log, func(r handoff.Record) {
		switch r.Fact.(type) {
		case *handoff.Gap, *handoff.Damaged:
			lost = true
		}
		if r.Fact == nil || r.Version > handoff.Version {
			unknown = append(unknown, r)
		}
	})
	if err == nil && (lost || !report.OK()) {
		err = handoff.E("empty trash", "", handoff.Corrupt,
			errors.New("a record is missing or can't be read, and may need any file"),
			handoff.Suggest("list every problem", handoff.ActionCheck))
	}
	return unknown, err
}

// EmptyTrash removes the files of the sessions in the trash that selects returns true for,
// nil for all of them, unless an active
// artifact has its content nowhere else. Their records remain. It is the only
// operation that removes files of a session. A folder is renamed before it is
// removed, so that none is ever restored in part. Kinds: those of Trash.
func (m *Mover) EmptyTrash(ctx context.Context, from Store,
	selects func(session.Summary) bool) (session.EmptiedTrash, error) {
	done := session.EmptiedTrash{Removed: []session.Summary{}, Kept: []session.Summary{}}
	err := m.Locked(ctx, func() error {
		list, err := m.Trash(ctx, from)
		if err != nil {
			return err
		}
		for _, s := range list {
			if selects != nil && !selects(s) {
				continue
			}
			if len(s.NeededBy) > 0 {
				done.Kept = append(done.Kept, s)
				continue
			}
			if err := m.remove(s.Folder); err != nil {
				return handoff.E("empty trash", s.Folder, handoff.Unavailable, durable.Reason(err),
					handoff.Advice("make the directory writable, then retry"))
			}
			done.Removed = append(done.Removed, s)
		}
		return ctx.Err()
	})
	return done, err
}

// removing returns the name that a folder has while it is being removed.
func removing(folder string) string {
	return path.Join(path.Dir(folder), ".removing-"+path.Base(folder))
}

func (m *Mover) remove(folder string) error {
	files, gone := m.Sessions.Files, filepath.FromSlash(removing(folder))
	if err := files.RemoveAll(gone); err != nil { // of a process that was killed
		return err
	}
	found, err := m.exists(folder)
	if err != nil {
		return err
	}
	if found {
		if err := files.Rename(filepath.FromSlash(folder), gone); err != nil {
			return err
		}
		if err := files.RemoveAll(gone); err != nil {
			return err
		}
	}
	if err := durable.SyncDir(files, filepath.FromSlash(path.Dir(folder))); err != nil {
		return err
	}
	m.removeEmpty(path.Dir(folder))
	return nil
}

// PutInTrash makes files that were stored elsewhere the folder of a session in the
// trash. Kinds: NotFound, Unavailable.
func (m *Mover) PutInTrash(ctx context.Context, id, staged string) error {
	s, err := m.Sessions.Session(ctx, id)
	if err != nil {
		return err
	}
	if err := m.rename(staged, s.Folder); err != nil {
		return handoff.E("restore", id, handoff.Unavailable, durable.Reason(err),
			handoff.Advice("check that the workspace is writable, then import the file again"))
	}
	return nil
}

// Staging returns the folder that the files of an imported session are stored in before
// they are moved to its folder.
func Staging(folder, importID string) string {
	const shown = 12
	return path.Join(path.Dir(folder), ".import-"+importID[:shown])
}
