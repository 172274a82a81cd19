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
	"golang.org/x/sys/unix"
)

// bodiesDir is where kept bodies are, below the runtime directory. Each is
// named by its digest, the first byte of which is a directory.
const bodiesDir = "bodies/sha256"

// Bodies keeps bodies as files beside a log. Each is written once, under its
// digest, and verified whenever it is opened.
type Bodies struct {
	log  *Log
	dirs sync.Map // those that this process saw on stable storage
}

var _ handoff.Bodies = (*Bodies)(nil)

// Bodies returns what is kept beside the log. Nothing is made there before
// the first Put.
func (l *Log) Bodies() *Bodies { return &Bodies{log: l} }

// inMemory is the size up to which a body is read before anything is written.
const inMemory = 1 << 20

// Put implements handoff.Bodies.
func (b *Bodies) Put(ctx context.Context, r io.Reader) (handoff.Digest, error) {
	src := &source{ctx: ctx, r: r}
	var head bytes.Buffer
	if _, err := io.CopyN(&head, src, inMemory+1); err != nil && !errors.Is(err, io.EOF) {
		return handoff.Digest{}, err
	}
	if err := b.log.Make(); err != nil {
		return handoff.Digest{}, err
	}
	sum := sha256.New()
	t, err := b.log.disk.create(io.TeeReader(io.MultiReader(&head, src), sum), bodyMode(b.log.dir))
	switch {
	case src.err != nil:
		return handoff.Digest{}, src.err
	case err != nil:
		return handoff.Digest{}, b.failure("keep body", err)
	}
	defer t.close()
	d := handoff.Digest{Algorithm: handoff.SHA256, Value: hex.EncodeToString(sum.Sum(nil))}
	return d, b.failure("keep body", b.link(ctx, t, d))
}

// link gives a body its name, unless there is one of the same digest.
func (b *Bodies) link(ctx context.Context, t temporary, d handoff.Digest) error {
	dir, name := b.place(d)
	for ready := false; ; ready = true {
		there, err := b.refresh(ctx, d, name)
		if err != nil {
			return err
		}
		if there {
			return b.log.disk.syncDir(dir) // its writer may not have come so far
		}
		if !ready {
			if err := errors.Join(t.sync(), b.makeDir(dir)); err != nil {
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

// refresh makes a body that is there as young as a new one, so that it is not
// collected before its record is appended. Where it is another user's it keeps
// its age.
func (b *Bodies) refresh(ctx context.Context, d handoff.Digest, name string) (there bool, err error) {
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

// makeDir makes the directory of a body. It is on stable storage when makeDir
// returns, whoever made it.
func (b *Bodies) makeDir(dir string) error {
	err := b.log.disk.mkdir(dir)
	if errors.Is(err, fs.ErrNotExist) { // the log is older than the bodies
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
	_, name := b.place(d)
	const flags = os.O_RDONLY | syscall.O_NOFOLLOW | syscall.O_NONBLOCK
	f, err := os.OpenFile(b.log.path(name), flags, 0)
	if errors.Is(err, fs.ErrNotExist) { // a collection that looks at it may put it back
		f, err = os.OpenFile(b.log.path(name+asideSuffix), flags, 0)
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
	_, name := b.place(d)
	there, err := b.log.disk.exists(name)
	return there, b.failure("find body", err)
}

// verify reads a body to its end and goes back to its beginning.
func verify(ctx context.Context, f *os.File, name string, d handoff.Digest) error {
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return errors.Join(err, damaged(name))
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, &source{ctx: ctx, r: f}); err != nil {
		return err
	}
	if hex.EncodeToString(sum.Sum(nil)) != d.Value {
		return damaged(name)
	}
	_, err := f.Seek(0, io.SeekStart)
	return err
}

func damaged(name string) error {
	return &handoff.Error{Op: "read body", Name: name, Kind: handoff.Corrupt, Err: errors.New("is not the body that was kept"),
		Hint: handoff.Advice("handoff check tells what else is damaged")}
}

func notKept(d handoff.Digest) error {
	return &handoff.Error{Op: "read body", Name: d.Value, Kind: handoff.NotFound, Err: errors.New("is not kept"),
		Hint: handoff.Advice("handoff check tells which kept bodies are missing")}
}

// failure is the log's, and leaves nil and what has a kind alone.
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

// place returns the directory and the name of a body, below the runtime
// directory.
func (b *Bodies) place(d handoff.Digest) (dir, name string) {
	dir = bodiesDir + "/" + d.Value[:2]
	return dir, dir + "/" + d.Value[2:]
}

// bodyMode returns the mode of kept bodies: read-only, for those who may read
// the runtime directory.
func bodyMode(dir string) fs.FileMode { return dirMode(dir) & 0o440 }

// A source reads, until ctx ends, and keeps the error apart from those of
// whoever writes what was read.
type source struct {
	ctx context.Context
	r   io.Reader
	err error
}

func (s *source) Read(p []byte) (n int, err error) {
	if err = s.ctx.Err(); err == nil {
		n, err = s.r.Read(p)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}
