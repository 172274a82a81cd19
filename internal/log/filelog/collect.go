package filelog

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/agent-handoff/handoff"
)

// removingSuffix is the suffix of a body that is being removed.
const removingSuffix = ".aside"

// A bodyFile is the file of a body.
type bodyFile struct {
	handoff.StoredBody
	name     string // in the log's directory
	removing bool
}

// Erase implements handoff.BodyEraser.
func (b *Bodies) Erase(ctx context.Context, d handoff.Digest) error {
	_, err := b.Remove(ctx, d, time.Unix(1<<40, 0)) // put at any time
	return err
}

// List implements handoff.BodyLister.
func (b *Bodies) List(ctx context.Context) iter.Seq2[handoff.StoredBody, error] {
	return func(yield func(handoff.StoredBody, error) bool) {
		stop := errors.New("stop")
		err := b.Names(ctx, func(_ handoff.Digest, stat func() (handoff.StoredBody, error)) error {
			body, err := stat()
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err == nil && !yield(body, nil):
				return stop
			}
			return err
		})
		if err != nil && !errors.Is(err, stop) {
			yield(handoff.StoredBody{}, err)
		}
	}
}

// Names calls each for every body, with a function that returns its size and time. Without a
// call of it, no file is looked at. Its error is fs.ErrNotExist if the body was removed.
func (b *Bodies) Names(ctx context.Context,
	each func(d handoff.Digest, stat func() (handoff.StoredBody, error)) error) error {
	_, err := b.walk(func(f bodyFile, e fs.DirEntry) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return each(f.Digest, func() (handoff.StoredBody, error) {
			err := f.stat(e)
			return f.StoredBody, err
		})
	})
	return b.failure("list bodies", err)
}

// files returns every body, and the names of files that are none.
func (b *Bodies) files() (bodies []bodyFile, foreign []string, err error) {
	foreign, err = b.walk(func(f bodyFile, e fs.DirEntry) error {
		err := f.stat(e)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		bodies = append(bodies, f)
		return err
	})
	return bodies, foreign, err
}

// stat sets the size and time of a body.
func (f *bodyFile) stat(e fs.DirEntry) error {
	info, err := e.Info()
	if err == nil {
		f.SizeBytes, f.StoredAt = info.Size(), info.ModTime()
	}
	return err
}

// walk calls each for the file of every body, and returns the names of files that are none.
func (b *Bodies) walk(each func(bodyFile, fs.DirEntry) error) (foreign []string, err error) {
	dirs, err := b.entries(bodiesDir)
	for _, dir := range dirs {
		name := bodiesDir + "/" + dir.Name()
		if !dir.IsDir() {
			foreign = append(foreign, name)
			continue
		}
		files, err := b.entries(name)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			rest, removing := strings.CutSuffix(file.Name(), removingSuffix)
			f := bodyFile{name: name + "/" + file.Name(), removing: removing}
			f.Digest = handoff.Digest{Algorithm: handoff.SHA256, Value: dir.Name() + rest}
			if len(dir.Name()) != 2 || !isDigest(f.Digest) || !file.Type().IsRegular() {
				foreign = append(foreign, f.name)
				continue
			}
			if err := each(f, file); err != nil {
				return nil, err
			}
		}
	}
	return foreign, err
}

// entries lists a directory, which need not exist.
func (b *Bodies) entries(dir string) ([]fs.DirEntry, error) {
	if err := b.log.checkDir(dir); err != nil {
		return nil, err
	}
	list, err := os.ReadDir(b.log.path(dir))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	return list, err
}

// Remove implements handoff.BodyRemover. It renames the body before it checks
// the age: a Put from then on finds the body missing and writes it again, and a
// Put before that has renewed the age.
func (b *Bodies) Remove(_ context.Context, d handoff.Digest, before time.Time) (removed bool, err error) {
	defer func() { err = b.failure("collect body", err) }()
	if !isDigest(d) {
		return false, nil
	}
	dir, name := b.locate(d)
	if err := b.log.checkDir(dir); err != nil {
		return false, err
	}
	file := b.log.path(name)
	// A rename over a body whose removal was interrupted changes nothing: both
	// have the same bytes.
	if err := os.Rename(file, file+removingSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	info, err := os.Lstat(file + removingSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // another process removed it
	}
	if err != nil {
		return false, err
	}
	if !info.ModTime().Before(before) {
		if err := os.Link(file+removingSuffix, file); err != nil && !errors.Is(err, fs.ErrExist) {
			return false, err
		}
		return false, os.Remove(file + removingSuffix)
	}
	if err := os.Remove(file + removingSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	return true, nil
}
