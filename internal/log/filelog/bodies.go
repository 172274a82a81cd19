package filelog

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"regexp"
	"sync"
	"syscall"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"golang.org/x/sys/unix"
)

// bodiesDir is the directory of the kept bodies. Each is named by its digest, the
// first byte of which is a directory.
const bodiesDir = "bodies/sha256"

// Bodies stores bodies as files beside a log. Each is written once, is named by
// its digest, and is verified whenever it is opened.
type Bodies struct {
	log  *Log
	dirs sync.Map // directories that this process has synced
}

var (
	_ handoff.Bodies      = (*Bodies)(nil)
	_ handoff.BodyChecker = (*Bodies)(nil)
	_ handoff.Repairer    = (*Bodies)(nil)
	_ handoff.BodyLister  = (*Bodies)(nil)
	_ handoff.BodyRemover = (*Bodies)(nil)
)

// Bodies returns the store beside the log. Nothing is created there before the
// first Put.
func (l *Log) Bodies() *Bodies { return &Bodies{log: l} }

// OpenCopies returns the body store in a directory whose records are in a log on
// another machine. The index of that log may be there, too.
func OpenCopies(dir string, random io.Reader) *Bodies {
	l := Open(dir, random)
	l.elsewhere = true
	return l.Bodies()
}

// inMemory is the size up to which a body is read completely before anything is
// written.
const inMemory = 1 << 20

// Put implements handoff.Bodies.
func (b *Bodies) Put(ctx context.Context, r io.Reader) (handoff.Digest, error) {
	src := &durable.Source{Ctx: ctx, R: r}
	var head bytes.Buffer
	if _, err := io.CopyN(&head, src, inMemory+1); err != nil && !errors.Is(err, io.EOF) {
		return handoff.Digest{}, err
	}
	if err := b.log.Create(); err != nil {
		return handoff.Digest{}, err
	}
	sum, large := sha256.New(), head.Len() > inMemory
	content := io.TeeReader(io.MultiReader(&head, src), sum)
	if f, ok := r.(handoff.FileBody); ok && large {
		content = clonable{content, ctx, f.File(), sum}
	}
	t, err := b.log.disk.create(content, bodyMode(b.log.dir))
	switch {
	case src.Err != nil:
		return handoff.Digest{}, src.Err
	case err != nil:
		return handoff.Digest{}, b.failure("keep body", err)
	}
	defer t.close()
	d := handoff.Digest{Algorithm: handoff.SHA256, Value: hex.EncodeToString(sum.Sum(nil))}
	return d, b.failure("keep body", b.link(ctx, t, d))
}

// link gives a body its name, unless the store has one with the same digest.
func (b *Bodies) link(ctx context.Context, t temporary, d handoff.Digest) error {
	dir, name := b.locate(d)
	if err := b.log.checkDir(dir); err != nil {
		return err
	}
	for ready := false; ; ready = true {
		there, err := b.refresh(ctx, d, name)
		if err != nil {
			return err
		}
		if there {
			return b.log.disk.syncDir(dir) // its writer may not have done so yet
		}
		if !ready {
			if err := errors.Join(t.sync(), b.createDir(dir)); err != nil {
				return err
			}
		}
		err = t.link(name)
		if err == nil {
			return b.log.disk.syncDir(dir)
		}
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
}

// refresh sets the time of a stored body to now, so that it is not collected
// before its record is appended. The body of another user keeps its time.
func (b *Bodies) refresh(ctx context.Context, d handoff.Digest, name string) (there bool, err error) {
	info, err := os.Lstat(b.log.path(name)) // to touch a link would touch its target
	if err != nil || !info.Mode().IsRegular() {
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		return false, errors.Join(err, damaged(name))
	}
	err = unix.Utimes(b.log.path(name), nil)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	f, err := b.Open(ctx, d)
	if errors.Is(err, handoff.NotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, f.Close()
}

// createDir creates the directory of a body. Whichever process created it, it is
// durable when createDir returns.
func (b *Bodies) createDir(dir string) error {
	err := b.log.disk.mkdir(dir)
	if errors.Is(err, fs.ErrNotExist) { // a log without a store of bodies
		for _, above := range []string{"bodies", bodiesDir} {
			if err := b.log.disk.mkdir(above); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
		}
		err = errors.Join(b.log.disk.syncDir("."), b.log.disk.syncDir("bodies"))
		if err == nil {
			err = b.log.disk.mkdir(dir)
		}
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, known := b.dirs.Load(dir); known && err != nil {
		return nil
	}
	if err := b.log.disk.syncDir(bodiesDir); err != nil {
		return err
	}
	b.dirs.Store(dir, nil)
	return nil
}

// Open implements handoff.Bodies.
func (b *Bodies) Open(ctx context.Context, d handoff.Digest) (io.ReadSeekCloser, error) {
	if !isDigest(d) {
		return nil, notKept(d)
	}
	dir, name := b.locate(d)
	if err := b.log.checkDir(dir); err != nil {
		return nil, err
	}
	const flags = os.O_RDONLY | syscall.O_NOFOLLOW | syscall.O_NONBLOCK
	f, err := os.OpenFile(b.log.path(name), flags, 0)
	if errors.Is(err, fs.ErrNotExist) { // a removal may still restore it
		f, err = os.OpenFile(b.log.path(name+removingSuffix), flags, 0)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, notKept(d)
	case errors.Is(err, syscall.ELOOP):
		return nil, damaged(name)
	case err != nil:
		return nil, b.failure("read body", err)
	}
	if err = verify(ctx, f, name, d); err == nil {
		return f, nil
	}
	f.Close()
	return nil, b.failure("read body", err)
}

// Has implements handoff.Bodies.
func (b *Bodies) Has(_ context.Context, d handoff.Digest) (bool, error) {
	if !isDigest(d) {
		return false, nil
	}
	dir, name := b.locate(d)
	if err := b.log.checkDir(dir); err != nil {
		return false, err
	}
	there, err := b.log.disk.exists(name)
	return there, b.failure("find body", err)
}

// verify reads a body to its end and seeks back to its start.
func verify(ctx context.Context, f *os.File, name string, d handoff.Digest) error {
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return errors.Join(err, damaged(name))
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, &durable.Source{Ctx: ctx, R: f}); err != nil {
		return err
	}
	if hex.EncodeToString(sum.Sum(nil)) != d.Value {
		return damaged(name)
	}
	_, err := f.Seek(0, io.SeekStart)
	return err
}

func damaged(name string) error {
	return handoff.E("read body", name, handoff.Corrupt, errors.New("does not match its digest"),
		handoff.Suggest("see what else is damaged", handoff.ActionCheck))
}

func notKept(d handoff.Digest) error {
	return handoff.E("read body", d.Value, handoff.NotFound, errors.New("not stored"),
		handoff.Suggest("list the missing bodies", handoff.ActionCheck))
}

// failure is Log.failure for an error that may be nil or the context's.
func (b *Bodies) failure(op string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return b.log.failure(op, err)
}

var digestForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{64}$`) })

func isDigest(d handoff.Digest) bool {
	return d.Algorithm == handoff.SHA256 && digestForm().MatchString(d.Value)
}

// locate returns the names of a body's directory and file.
func (b *Bodies) locate(d handoff.Digest) (dir, name string) {
	dir = bodiesDir + "/" + d.Value[:2]
	return dir, dir + "/" + d.Value[2:]
}

// bodyMode returns the mode of kept bodies: read-only, for those who may read
// the directory.
func bodyMode(dir string) fs.FileMode { return DirMode(dir) & 0o440 }
