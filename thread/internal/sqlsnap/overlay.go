package sqlsnap

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/plainfile"
)

// fileName is the name of the virtual file.
const fileName = "database"

// An overlay is a database file as it would be after a checkpoint. It is an [fs.FS]
// that contains only this file.
type overlay struct {
	main *os.File
	wal  *os.File // nil if it does not exist
	log  *log
	size int64
}

func openOverlay(path string) (_ *overlay, err error) {
	o := new(overlay)
	defer func() {
		if err != nil {
			err = errors.Join(err, o.close())
		}
	}()
	if o.main, err = plainfile.OpenLinked(path); err != nil {
		return nil, err
	}
	info, err := o.main.Stat()
	if err != nil {
		return nil, err
	}
	o.size = info.Size()
	o.wal, err = plainfile.OpenLinked(path + walSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return o, nil
	}
	if err != nil {
		return nil, fmt.Errorf("write-ahead log: %w", err)
	}
	if o.log, err = readLog(o.wal); err != nil {
		return nil, fmt.Errorf("write-ahead log: %w", err)
	}
	if o.log != nil {
		o.size = int64(o.log.pages) * o.log.pageSize
	}
	return o, nil
}

func (o *overlay) close() error {
	var errs []error
	for _, f := range []*os.File{o.main, o.wal} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// Open implements [fs.FS].
func (o *overlay) Open(name string) (fs.File, error) {
	if name != fileName {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &view{overlay: o}, nil
}

// ReadAt reads the virtual file.
func (o *overlay) ReadAt(p []byte, off int64) (n int, err error) {
	for n < len(p) && err == nil {
		at := off + int64(n)
		if at >= o.size {
			return n, io.EOF
		}
		var k int
		k, err = o.piece(p[n:min(int64(len(p)), o.size-off)], at)
		n += k
	}
	journalMode(p[:n], off)
	return n, err
}

// piece reads from one page, or from the database if there is no log.
func (o *overlay) piece(p []byte, at int64) (int, error) {
	if o.log == nil {
		return o.main.ReadAt(p, at)
	}
	page, skip := at/o.log.pageSize, at%o.log.pageSize
	if rest := o.log.pageSize - skip; int64(len(p)) > rest {
		p = p[:rest]
	}
	if frame, ok := o.log.frames[uint32(page+1)]; ok {
		return o.log.read(o.wal, p, uint32(page+1), frame, skip)
	}
	return o.main.ReadAt(p, at)
}

// journalMode changes the header to one without a WAL, so that SQLite does not look
// for one.
func journalMode(p []byte, off int64) {
	for _, at := range []int64{18, 19} {
		if i := at - off; i >= 0 && i < int64(len(p)) && p[i] == 2 {
			p[i] = 1
		}
	}
}

// A view is the open file of an overlay.
type view struct {
	*overlay
	at int64
}

func (v *view) Read(p []byte) (int, error) {
	n, err := v.ReadAt(p, v.at)
	v.at += int64(n)
	return n, err
}

func (v *view) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += v.at
	case io.SeekEnd:
		offset += v.size
	}
	if offset < 0 {
		return 0, fs.ErrInvalid
	}
	v.at = offset
	return offset, nil
}

func (v *view) Stat() (fs.FileInfo, error) { return v, nil }
func (v *view) Close() error               { return nil }

func (v *view) Name() string       { return fileName }
func (v *view) Size() int64        { return v.size }
func (v *view) Mode() fs.FileMode  { return 0o400 }
func (v *view) ModTime() time.Time { return time.Time{} }
func (v *view) IsDir() bool        { return false }
func (v *view) Sys() any           { return nil }
