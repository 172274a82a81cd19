package transfer

import (
	"bytes"
	"context"
)

// isLost reports whether the session of an export is in the trash of this workspace,
// with the same records, and its folder is gone: the trash was emptied.
func (t *Transfer) isLost(ctx context.Context, v *verified) (bool, error) {
	s, err := t.Hub.Session(ctx, v.SessionID)
	if err != nil || !s.Deleted || s.Folder == "" || s.Folder != v.Folder {
		return false, nil // it is new, or a Conflict
	}
	if there, err := t.Sessions.Exists(s.Folder); err != nil || there {
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
