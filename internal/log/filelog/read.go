package filelog

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"iter"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"

	"github.com/agent-handoff/handoff"
)

// maxWindow is the highest number of records that are read ahead.
const maxWindow = 512

// Read implements handoff.Log. Long stretches are read and decoded on all
// processors, a window ahead of the reader.
func (l *Log) Read(ctx context.Context, after handoff.Seq) iter.Seq2[handoff.Record, error] {
	return func(yield func(handoff.Record, error) bool) {
		next, size := after+1, 1
		ahead := l.fetch(ctx, next, size)
		defer func() { <-ahead }()
		for {
			w := <-ahead
			full := w.err == nil && len(w.records) == size
			if full {
				size = min(size*8, maxWindow)
				ahead = l.fetch(ctx, next+handoff.Seq(len(w.records)), size)
			}
			for _, r := range w.records {
				if !yield(r, nil) {
					return
				}
				next = r.Seq + 1
			}
			if full {
				continue
			}
			more, err := l.more(next)
			if err = cmp.Or(w.err, err); err != nil {
				yield(handoff.Record{}, err)
				return
			}
			if !more {
				return
			}
			size = 1
			ahead = l.fetch(ctx, next, size)
		}
	}
}

// more reports whether next, which was seen to be missing, exists by now. It
// returns an error of kind Corrupt if next is a hole.
func (l *Log) more(next handoff.Seq) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.atEnd && l.last == next-1 {
		return false, nil
	}
	end, err := l.isEnd(next)
	if err != nil || !end {
		return !end, err
	}
	if next-1 > l.last { // the caller may have passed a Seq beyond the end
		there, err := l.exists(next - 1)
		if err != nil || !there {
			return false, err
		}
		l.last = next - 1
	}
	l.atEnd = next-1 == l.last
	return false, nil
}

// A window is a range of records that were read: those before the first missing
// number.
type window struct {
	records []handoff.Record
	err     error
}

// fetch reads the numbers from first to first+n-1 in the background.
func (l *Log) fetch(ctx context.Context, first handoff.Seq, n int) chan window {
	c := make(chan window, 1)
	go func() {
		defer close(c)
		c <- l.window(ctx, first, n)
	}()
	return c
}

func (l *Log) window(ctx context.Context, first handoff.Seq, n int) window {
	records, errs := make([]handoff.Record, n), make([]error, n)
	each := (n + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0)
	var wg sync.WaitGroup
	for from := 0; from < n; from += each {
		wg.Go(func() {
			var buf []byte
			for i := from; i < min(from+each, n); i++ {
				if errs[i] = ctx.Err(); errs[i] != nil {
					return
				}
				records[i], buf, errs[i] = l.record(first+handoff.Seq(i), buf)
				if errs[i] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	for i, err := range errs {
		if errors.Is(err, fs.ErrNotExist) {
			return window{records: records[:i]}
		}
		if err != nil {
			return window{records[:i], err}
		}
	}
	return window{records: records}
}

// record reads one record into the start of buf, and returns the rest of buf.
func (l *Log) record(n handoff.Seq, buf []byte) (handoff.Record, []byte, error) {
	b, rest, err := l.file(n, buf)
	if err != nil {
		return handoff.Record{}, buf, err
	}
	r, _ := stored(n, b)
	return r, rest, nil
}

// file reads the file of a record. Its error is fs.ErrNotExist if there is none.
func (l *Log) file(n handoff.Seq, buf []byte) (content, rest []byte, err error) {
	if err := l.checkShard(n); err != nil {
		return nil, buf, err
	}
	content, rest, err = readFile(filepath.Join(l.dir, l.name(n)), buf)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, buf, fs.ErrNotExist
	}
	if err != nil {
		return nil, buf, l.failure("read log", err)
	}
	return content, rest, nil
}

// bufSize is the size of the buffers into which records are read.
const bufSize = 64 << 10

// readFile is os.ReadFile with the fewest system calls for a small file. It stops
// a little above the largest size of a record. It follows no link and does not
// wait for the writer of a pipe: the log may come from a hostile repository.
func readFile(name string, buf []byte) (content, rest []byte, err error) {
	fd, err := syscall.Open(name, syscall.O_RDONLY|syscall.O_CLOEXEC|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, buf, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	defer syscall.Close(fd)
	if len(buf) < 4<<10 {
		buf = make([]byte, bufSize)
	}
	size := 0
	for {
		n, err := syscall.Read(fd, buf[size:])
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return nil, buf, &fs.PathError{Op: "read", Path: name, Err: err}
		}
		size += n
		if n == 0 || size > handoff.MaxRecord+sealSize {
			return buf[:size:size], buf[size:], nil
		}
		if size == len(buf) {
			buf = append(buf, make([]byte, len(buf))...)
		}
	}
}
