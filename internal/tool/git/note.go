package git

import (
	"bytes"
	"context"
	"errors"
	"strings"
)

// Note returns the note of a commit in a ref, nil if it has none.
func (r Repository) Note(ctx context.Context, ref, commit string) ([]byte, error) {
	id, err := run(ctx, r.Top, "notes", "--ref="+ref, "list", commit)
	if err != nil {
		return nil, ctx.Err() // git fails, too, if there is no note
	}
	return r.Blob(ctx, strings.TrimSpace(string(id)))
}

// SetNote replaces the note of a commit in a ref, which had the note old. Another one that
// it has since is an error.
func (r Repository) SetNote(ctx context.Context, ref, commit string, old, note []byte) error {
	id, err := runWith(ctx, r.Top, nil, bytes.NewReader(note), "hash-object", "-w", "--stdin")
	if err != nil {
		return err
	}
	if now, err := r.Note(ctx, ref, commit); err != nil || !bytes.Equal(now, old) {
		return errors.Join(err, errors.New("the note was changed at the same time"))
	}
	_, err = run(ctx, r.Top, "notes", "--ref="+ref, "add", "-f", "-C", strings.TrimSpace(string(id)), commit)
	return err
}
