package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
)

// maxNoteAttempts is how often a note is written again because another process has changed the
// ref. Each time, a note of another process was written.
const maxNoteAttempts = 100

// Note returns the note of a commit in a ref, nil if it has none.
func (r Repository) Note(ctx context.Context, ref, commit string) ([]byte, error) {
	id, err := run(ctx, r.Top, "notes", "--ref="+ref, "list", commit)
	if err != nil {
		return nil, ctx.Err() // git fails, too, if there is no note
	}
	return r.Blob(ctx, strings.TrimSpace(string(id)))
}

// EditNote replaces the note of a commit, its full ID, in a ref by what edit returns for it,
// unless that is nil. A commit without a note has nil. edit is called again if another process
// has changed the ref, so that no note is lost. Errors of edit are returned as they are.
func (r Repository) EditNote(ctx context.Context, ref, commit string, edit func(old []byte) ([]byte, error)) error {
	committer, err := run(ctx, r.Top, "var", "GIT_COMMITTER_IDENT")
	if err != nil {
		return err
	}
	for range maxNoteAttempts {
		tip, err := r.tip(ctx, ref) // before the note: a later one has another tip
		if err != nil {
			return err
		}
		old, err := r.Note(ctx, ref, commit)
		if err != nil {
			return err
		}
		note, err := edit(old)
		if err != nil || note == nil {
			return err
		}
		var stream bytes.Buffer
		fmt.Fprintf(&stream, "commit %s\ncommitter %sdata 0\n", ref, committer)
		if tip != "" {
			fmt.Fprintf(&stream, "from %s\n", tip)
		}
		fmt.Fprintf(&stream, "N inline %s\ndata %d\n%s\ndone\n", commit, len(note), note)
		// It updates the ref only if that is still an ancestor of the new commit.
		_, failed := runWith(ctx, r.Top, nil, &stream, "-c", "core.filesRefLockTimeout=10000",
			"fast-import", "--quiet", "--done")
		if failed == nil {
			return nil
		}
		now, err := r.tip(ctx, ref)
		if err != nil || now == tip {
			return errors.Join(failed, err)
		}
	}
	return errors.New("other processes change the notes at the same time")
}

// tip returns the commit of a ref, "" if it does not exist.
func (r Repository) tip(ctx context.Context, ref string) (string, error) {
	id, err := run(ctx, r.Top, "for-each-ref", "--format=%(objectname)", ref)
	return strings.TrimSpace(string(id)), err
}
