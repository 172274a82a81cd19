package filelog

import (
	"context"
	"hash"
	"io"
	"os"

	"github.com/agent-handoff/handoff/internal/tool/durable"
)

// A clonable is the content of a file. Copied to a file on a file system that
// shares blocks between files, it is cloned; the digest is that of the clone.
type clonable struct {
	io.Reader // used if the file can't be cloned; updates sum
	ctx       context.Context
	file      *os.File
	sum       hash.Hash
}

// WriteTo implements io.WriterTo, which io.Copy calls.
func (c clonable) WriteTo(w io.Writer) (int64, error) {
	to, ok := w.(*os.File)
	if !ok || cloneFile(to, c.file) != nil {
		return io.Copy(w, c.Reader)
	}
	size, err := to.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, err
	}
	return io.Copy(c.sum, &durable.Source{Ctx: c.ctx, R: io.NewSectionReader(to, 0, size)})
}
