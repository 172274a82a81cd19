package content

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"os"

	"github.com/agent-handoff/handoff"
)

// A packedDir is a directory, read as one tar. At its end it is verified, if the
// artifact has a digest: the directory may change after it was compared.
type packedDir struct {
	ctx  context.Context
	dir  *os.Root
	want string // digest, "" for none
	read func(done, total int64)
	tar  io.ReadCloser // nil before the first read
	sum  hash.Hash
}

// openDir opens a directory whose content is that of an artifact, or may be. It returns
// nil if it can't be opened.
func (s *Files) openDir(ctx context.Context, a handoff.Artifact, root *os.Root, name string) io.ReadSeekCloser {
	dir, err := root.OpenRoot(name)
	if err != nil {
		return nil
	}
	return &packedDir{ctx: ctx, dir: dir, want: a.Digest.Value, read: s.Reading}
}

func (d *packedDir) Read(p []byte) (int, error) {
	if d.tar == nil {
		d.tar, d.sum = Pack(d.ctx, d.dir, d.read), sha256.New()
	}
	n, err := d.tar.Read(p)
	d.sum.Write(p[:n])
	if err == io.EOF && d.want != "" && hex.EncodeToString(d.sum.Sum(nil)) != d.want {
		err = handoff.E("read", d.dir.Name(), handoff.Conflict, errChanging, handoff.Advice("read it again"))
	}
	return n, err
}

// Seek goes back to the start.
func (d *packedDir) Seek(offset int64, whence int) (int64, error) {
	if offset != 0 || whence != io.SeekStart {
		return 0, errors.ErrUnsupported
	}
	return 0, d.stop()
}

func (d *packedDir) stop() (err error) {
	if d.tar != nil {
		err = d.tar.Close()
	}
	d.tar = nil
	return err
}

func (d *packedDir) Close() error { return errors.Join(d.stop(), d.dir.Close()) }
