package transfer

import (
	"bytes"
	"context"
	"io"
	"slices"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/session/relocate"
)

// isLost reports whether the session of an export is in the trash of this workspace,
// with the same records, and its folder is gone: the trash was emptied.
func (t *Transfer) isLost(ctx context.Context, v *verified) (bool, error) {
	s, err := t.Hub.Session(ctx, v.SessionID)
	if err != nil || !s.Deleted || s.Folder == "" || s.Origin != v.Folder {
		return false, nil // it is new, or a Conflict
	}
	if there, err := t.AnyExists(s.Folder, s.Origin); err != nil || there {
		return false, err
	}
	exported := map[string][]byte{}
	for _, r := range v.records {
		if exported[r.ID], err = plain(r); err != nil {
			return false, err
		}
	}
	for r, err := range t.Store.Log.Read(ctx, 0) {
		if err != nil {
			return false, err
		}
		want, ok := exported[r.ID]
		if !ok {
			continue
		}
		got, err := plain(r)
		if err != nil || !bytes.Equal(got, want) {
			return false, err
		}
		delete(exported, r.ID)
	}
	return len(exported) == 0, nil
}

// plain returns a record as an export has it.
func plain(r handoff.Record) ([]byte, error) {
	b, err := r.JSON()
	if err != nil {
		return nil, err
	}
	return withImport(b, "", "")
}

// putBack stores the files and bodies of a session that is in the trash, and restores
// it from there.
func (t *Transfer) putBack(ctx context.Context, f io.ReadSeeker, v *verified) ([]string, error) {
	err := t.Locked(ctx, func() error {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
		}
		staged, err := t.store(ctx, f, v)
		if err != nil {
			return err
		}
		return t.PutInTrash(ctx, v.SessionID, staged)
	})
	if err != nil {
		return nil, err
	}
	moved, err := t.Restore(ctx, v.SessionID)
	return moved.Warnings, err
}

// formerFolders returns the folders in the archive and the trash that the session had
// when its artifacts were published, sorted. Their files are now in its folder.
func (v *verified) formerFolders() (list []string) {
	for _, r := range v.records {
		f, ok := r.Fact.(*handoff.ArtifactPublished)
		if !ok || f.Root != "" || v.Folder == "" {
			continue
		}
		if from := relocate.FormerFolder(v.Folder, f.Path); from != "" && !slices.Contains(list, from) {
			list = append(list, from)
		}
	}
	slices.Sort(list)
	return list
}
