package testlog

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"time"

	"github.com/agent-handoff/handoff"
)

// Bodies are the bodies of a Log.
type Bodies struct{ log *Log }

// Bodies returns the store beside the log.
func (l *Log) Bodies() *Bodies { return &Bodies{l} }

var digestForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{64}$`) })

func (b *Bodies) path(d handoff.Digest) string { return b.log.path(filepath.Join("blobs", d.Value)) }

func digestOf(content []byte) handoff.Digest {
	sum := sha256.Sum256(content)
	return handoff.Digest{Algorithm: handoff.SHA256, Value: hex.EncodeToString(sum[:])}
}

// Put implements handoff.Bodies.
func (b *Bodies) Put(ctx context.Context, r io.Reader) (handoff.Digest, error) {
	content, err := io.ReadAll(r)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return handoff.Digest{}, err
	}
	d := digestOf(content)
	return d, b.log.locked(syscall.LOCK_EX, func() error {
		stored, err := os.ReadFile(b.path(d))
		switch {
		case err == nil && !bytes.Equal(stored, content):
			return damaged(d)
		case err == nil:
			return os.Chtimes(b.path(d), time.Time{}, time.Now())
		case !errors.Is(err, fs.ErrNotExist):
			return failure("keep body", d.Value, err)
		}
		f, err := os.CreateTemp(b.log.path("blobs"), ".tmp-")
		if err != nil {
			return failure("keep body", d.Value, err)
		}
		defer os.Remove(f.Name())
		_, err = f.Write(content)
		if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
			err = os.Rename(f.Name(), b.path(d))
		}
		if err != nil {
			return failure("keep body", d.Value, err)
		}
		return nil
	})
}

func damaged(d handoff.Digest) error {
	return handoff.E("read body", d.Value, handoff.Corrupt, errors.New("does not match its digest"),
		handoff.Suggest("see what else is damaged", handoff.ActionCheck))
}

type body struct{ *bytes.Reader }

func (body) Close() error { return nil }

// Open implements handoff.Bodies.
func (b *Bodies) Open(ctx context.Context, d handoff.Digest) (io.ReadSeekCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	there, err := b.Has(ctx, d)
	if err == nil && !there {
		err = handoff.E("read body", d.Value, handoff.NotFound, errors.New("not stored"))
	}
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(b.path(d))
	if err != nil {
		return nil, failure("read body", d.Value, err)
	}
	if digestOf(content) != d {
		return nil, damaged(d)
	}
	return body{bytes.NewReader(content)}, nil
}

// Has implements handoff.Bodies.
func (b *Bodies) Has(_ context.Context, d handoff.Digest) (bool, error) {
	if d.Algorithm != handoff.SHA256 || !digestForm().MatchString(d.Value) {
		return false, nil
	}
	_, err := os.Lstat(b.path(d))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// List implements handoff.BodyLister.
func (b *Bodies) List(context.Context) iter.Seq2[handoff.StoredBody, error] {
	return func(yield func(handoff.StoredBody, error) bool) {
		entries, err := os.ReadDir(b.log.path("blobs"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			yield(handoff.StoredBody{}, failure("list bodies", b.log.dir, err))
			return
		}
		for _, e := range entries {
			info, err := e.Info()
			if err != nil || !digestForm().MatchString(e.Name()) {
				continue
			}
			if !yield(handoff.StoredBody{Digest: handoff.Digest{Algorithm: handoff.SHA256, Value: e.Name()},
				SizeBytes: info.Size(), StoredAt: info.ModTime()}, nil) {
				return
			}
		}
	}
}

// Remove implements handoff.BodyRemover.
func (b *Bodies) Remove(ctx context.Context, d handoff.Digest, before time.Time) (removed bool, err error) {
	if there, err := b.Has(ctx, d); err != nil || !there {
		return false, err
	}
	err = b.log.locked(syscall.LOCK_EX, func() error {
		info, err := os.Lstat(b.path(d))
		if err != nil || !info.ModTime().Before(before) {
			return nil
		}
		err = os.Remove(b.path(d))
		removed = err == nil
		return err
	})
	return removed, err
}

// Repair implements handoff.Repairer.
func (b *Bodies) Repair(ctx context.Context, _ time.Time) error {
	for stored := range b.List(ctx) {
		if _, err := b.Open(ctx, stored.Digest); errors.Is(err, handoff.Corrupt) {
			if err := os.Rename(b.path(stored.Digest), b.path(stored.Digest)+".damaged"); err != nil {
				return failure("repair", b.log.dir, err)
			}
		}
	}
	return nil
}
