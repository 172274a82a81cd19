package lifecycle

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
	"github.com/agent-handoff/handoff/internal/session/manifest"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/session"
)

// Candidates returns the sessions that can be deleted, the one that started last
// first, at most limit.
func (ss *Sessions) Candidates(ctx context.Context, limit int) ([]session.Summary, error) {
	list := []session.Summary{}
	q := handoff.SessionQuery{IncludeArchived: true, Limit: 100}
	for {
		page, err := ss.hub.Sessions(ctx, q)
		if err != nil {
			return list, err
		}
		for _, s := range page.Sessions {
			if s.Deleted || ss.checkEnded(ctx, "", s, false) != nil {
				continue
			}
			d, err := ss.summarize(ctx, s)
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

func (ss *Sessions) summarize(ctx context.Context, s handoff.Session) (session.Summary, error) {
	d := session.Summary{ID: s.ID, Name: LongName(s, s.Status, ss.Now()), Folder: s.Folder, OpenedAt: s.OpenedAt,
		DeletedAt: s.DeletedAt, Active: []string{}}
	page, err := ss.hub.Artifacts(ctx, handoff.ArtifactQuery{Producer: map[string]string{"session": s.ID}})
	for _, a := range page.Artifacts {
		d.Active = append(d.Active, a.ID)
	}
	_ = fs.WalkDir(ss.Files.FS(), cmp.Or(s.Folder, "."), func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || s.Folder == "" {
			return fs.SkipAll
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			d.SizeBytes += info.Size()
		}
		return nil
	})
	return d, err
}

// A Store is where records and kept bodies are read to decide which files of sessions are
// needed, and the directory that their folders are in, relative to Options.Files.
type Store struct {
	Log     handoff.Log
	Bodies  handoff.Bodies
	Outputs string
}

// Trash returns the deleted sessions that have files in the directory of outputs, the one
// that started last first, and what needs them. It changes nothing.
//
// Error kinds: Unavailable; Corrupt (a record is missing or can't be read, and may need
// any file).
func (ss *Sessions) Trash(ctx context.Context, from Store) ([]session.Summary, error) {
	page, err := ss.hub.Sessions(ctx, handoff.SessionQuery{IncludeArchived: true})
	if err != nil {
		return nil, err
	}
	folders := map[string]string{}  // of each session
	inside := map[string][]string{} // by directory: the sessions that are not deleted and have their folder in it
	var list []session.Summary
	for _, s := range page.Sessions {
		folders[s.ID] = s.Folder
		for dir := s.Folder; !s.Deleted && strings.Contains(dir, "/"); dir = path.Dir(dir) {
			inside[dir] = append(inside[dir], s.ID)
		}
	}
	for _, s := range page.Sessions {
		// a record can name any folder of the workspace
		if !s.Deleted || path.Clean(s.Folder) != s.Folder || from.Outputs == "" ||
			!strings.HasPrefix(s.Folder, from.Outputs+"/") {
			continue
		}
		found, err := ss.Exists(s.Folder)
		if err == nil && !found {
			found, err = ss.Exists(removing(s.Folder))
		}
		if err != nil {
			return nil, err
		}
		if !found {
			continue
		}
		d, err := ss.summarize(ctx, s)
		if err != nil {
			return nil, err
		}
		d.NeededBy = inside[s.Folder]
		list = append(list, d)
	}
	if len(list) == 0 {
		return nil, nil
	}
	return list, ss.findNeeds(ctx, list, folders, from)
}

// findNeeds adds to each session what needs its files, and how many of them are not
// recorded.
func (ss *Sessions) findNeeds(ctx context.Context, list []session.Summary, folders map[string]string,
	from Store) error {
	unknown, err := unknownRecords(ctx, from.Log)
	if err != nil {
		return err
	}
	for i, s := range list {
		for _, r := range unknown { // may need the files of the session
			if b, err := r.JSON(); err != nil || bytes.Contains(b, []byte(s.ID)) {
				list[i].NeededBy = append(list[i].NeededBy, r.ID)
			}
		}
	}
	recorded := map[string]bool{} // paths
	all := handoff.ArtifactQuery{IncludeInactive: true}
	err = content.EachArtifact(ctx, ss.hub, all, func(a handoff.Artifact) error {
		file := a.Path
		switch {
		case a.Root == handoff.SessionRoot:
			file = path.Join(folders[a.Producer.Session], a.Path)
		case a.Root != "" || a.Worktree != "":
			return ctx.Err()
		}
		for i, s := range list {
			if !strings.HasPrefix(file+"/", s.Folder+"/") && !strings.HasPrefix(s.Folder+"/", file+"/") {
				continue
			}
			recorded[file] = true
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
	for i, s := range list {
		list[i].Unrecorded = ss.unrecorded(s.Folder, recorded)
	}
	return err
}

// unrecorded returns the number of files in the folder of a session, as far as it can
// be read, that are not at one of the paths or in it. The manifest is handoff's own.
func (ss *Sessions) unrecorded(folder string, recorded map[string]bool) (n int) {
	_ = fs.WalkDir(ss.Files.FS(), folder, func(name string, d fs.DirEntry, err error) error {
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

// unknownRecords returns the records of types and versions that this program doesn't
// know. Error kind: Corrupt, if a record is missing or can't be read.
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
		err = handoff.E("collect sessions", "", handoff.Corrupt,
			errors.New("a record is missing or can't be read, and may need any file"),
			handoff.Suggest("list every problem", handoff.ActionCheck))
	}
	return unknown, err
}

// RemoveTrash removes the files of those deleted sessions that selects returns true for and
// nothing needs, and returns all of them. Records remain. It is the only operation that
// removes files of a session. A folder is renamed before it is removed, so that none is
// ever restored in part. Error kinds: those of Trash.
func (ss *Sessions) RemoveTrash(ctx context.Context, from Store,
	selects func(session.Summary) bool) (list []session.Summary, err error) {
	err = ss.Locked(ctx, func() error {
		if list, err = ss.Trash(ctx, from); err != nil {
			return err
		}
		for i, s := range list {
			if len(s.NeededBy) > 0 || !selects(s) {
				continue
			}
			if err := ss.remove(s.Folder); err != nil {
				return handoff.E("collect session", s.Folder, handoff.Unavailable, durable.Reason(err),
					handoff.Advice("make the directory writable, then retry"))
			}
			list[i].Removed = true
		}
		return ctx.Err()
	})
	return list, err
}

// removing returns the name that a folder has while it is being removed.
func removing(folder string) string {
	return path.Join(path.Dir(folder), ".removing-"+path.Base(folder))
}

func (ss *Sessions) remove(folder string) error {
	gone := filepath.FromSlash(removing(folder))
	if err := ss.Files.RemoveAll(gone); err != nil { // of a process that was killed
		return err
	}
	err := ss.Files.Rename(filepath.FromSlash(folder), gone)
	if err == nil {
		err = ss.Files.RemoveAll(gone)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return durable.SyncDir(ss.Files, filepath.FromSlash(path.Dir(folder)))
}
