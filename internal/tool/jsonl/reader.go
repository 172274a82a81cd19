// Package jsonl reads files of JSON values, one per line (JSON Lines). The
// program that writes a file may still be writing it or may have been killed, and
// the file may have several gigabytes.
//
// A [Reader] returns one line at a time, in memory that it reuses. A [Value] is
// the bytes of one JSON value. Its methods scan these bytes and decode only what
// is requested. Neither fails on the content of a line: malformed input is
// reported, and what precedes it can be read.
//
// The package checks structure, not grammar, and has no encoder. Use
// encoding/json unless the input is large or may be damaged.
package jsonl

import (
	"bytes"
	"errors"
	"io"
	"sync"
)

const (
	// chunk is the size of a read.
	chunk = 256 << 10

	// MaxLine is the length to which longer lines are truncated. Lines are that
	// long because of images, which come after the other fields.
	MaxLine = 8 << 20
)

// byteOrderMark is what some editors write at the start of a file.
var byteOrderMark = []byte("\xef\xbb\xbf")

// WithoutMark returns b without a byte order mark at its start.
func WithoutMark(b []byte) []byte { return bytes.TrimPrefix(b, byteOrderMark) }

// A Reader reads lines. Use NewReader to create one.
type Reader struct {
	src    io.Reader
	buf    []byte
	r, w   int   // buf[r:w] has been read and not returned
	offset int64 // of buf[r] in the source

	line   []byte
	start  int64 // offset of line
	number int
	torn   bool
	cut    bool
	again  bool
	eof    bool
	err    error
}

// NewReader returns a Reader of r.
func NewReader(r io.Reader) *Reader { return NewReaderSize(r, chunk) }

// NewReaderSize returns a Reader whose first read has size bytes. Use it to read
// only the head of a file.
func NewReaderSize(r io.Reader, size int) *Reader {
	return &Reader{src: r, buf: make([]byte, size)}
}

// readers are the memory of Borrow.
var readers = sync.Pool{New: func() any { return NewReader(nil) }}

// Borrow returns a Reader of r in memory of an earlier one, which is what reading
// many files needs. Return ends its use.
func Borrow(r io.Reader) *Reader {
	rd := readers.Get().(*Reader)
	rd.Reset(r)
	return rd
}

// Return lets other readers use the memory of rd.
func (rd *Reader) Return() {
	const most = 1 << 20
	if rd.Reset(nil); len(rd.buf) <= most {
		readers.Put(rd)
	}
}

// Reset makes rd read from r. It keeps its memory.
func (rd *Reader) Reset(r io.Reader) { *rd = Reader{src: r, buf: rd.buf} }

// Next advances to the next line that is not blank and reports whether there is
// one. See Torn for a last line without a newline.
func (rd *Reader) Next() bool {
	if rd.again {
		rd.again = false
		return true
	}
	for rd.fill() {
		if rd.start == 0 && bytes.HasPrefix(rd.line, byteOrderMark) {
			rd.line = rd.line[len(byteOrderMark):]
			rd.start = int64(len(byteOrderMark))
		}
		line := bytes.TrimSpace(rd.line)
		rd.start += int64(cap(rd.line) - cap(line))
		rd.line = line
		if len(rd.line) > 0 {
			return true
		}
	}
	return false
}

// Again makes Next return the line again that it returned last.
func (rd *Reader) Again() { rd.again = true }

// Line returns the line without its newline. Next overwrites it.
func (rd *Reader) Line() Value { return Value(rd.line) }

// Number returns the line number, counted from 1.
func (rd *Reader) Number() int { return rd.number }

// Continue makes rd count lines and offsets as if so many lines and bytes were read
// before.
func (rd *Reader) Continue(lines int, offset int64) { rd.number, rd.offset = lines, offset }

// End returns the offset after the line and its newline.
func (rd *Reader) End() int64 { return rd.offset }

// Offset returns the offset of the line in the source.
func (rd *Reader) Offset() int64 { return rd.start }

// Torn reports whether the line had no newline. Its writer may not have finished
// it, even if it is a complete value.
func (rd *Reader) Torn() bool { return rd.torn }

// Cut reports whether the line was truncated to MaxLine bytes.
func (rd *Reader) Cut() bool { return rd.cut }

// Err returns the error that stopped Next, nil at the end of the source.
func (rd *Reader) Err() error { return rd.err }

// fill sets line to the next line, blank or not.
func (rd *Reader) fill() bool {
	rd.line = nil
	rd.torn = false
	rd.cut = false
	rd.start = rd.offset
	for seen := 0; ; {
		if i := bytes.IndexByte(rd.buf[rd.r+seen:rd.w], '\n'); i >= 0 {
			rd.take(seen+i, 1)
			return true
		}
		seen = rd.w - rd.r
		if seen >= MaxLine {
			rd.compact()
			rd.take(MaxLine, 0)
			rd.cut = true
			rd.skip()
			return true
		}
		if rd.eof {
			if seen == 0 {
				return false
			}
			rd.take(seen, 0)
			rd.torn = true
			return true
		}
		rd.more()
	}
}

// take sets line to the next n bytes and skips the following skip bytes.
func (rd *Reader) take(n, skip int) {
	rd.line = rd.buf[rd.r : rd.r+n : rd.r+n]
	rd.r += n + skip
	rd.offset += int64(n + skip)
	rd.number++
}

// more reads once and appends to buf.
func (rd *Reader) more() {
	rd.compact()
	if rd.w == len(rd.buf) {
		rd.buf = append(rd.buf, make([]byte, min(len(rd.buf), MaxLine+chunk-len(rd.buf)))...)
	}
	rd.read()
}

func (rd *Reader) compact() {
	if rd.r > 0 {
		rd.w = copy(rd.buf, rd.buf[rd.r:rd.w])
		rd.r = 0
	}
}

// skip skips the rest of a truncated line. It only overwrites the memory after the
// part that is returned.
func (rd *Reader) skip() {
	keep := rd.r
	if len(rd.buf) == keep {
		rd.buf = append(rd.buf, make([]byte, chunk)...)
		rd.line = rd.buf[:keep:keep]
	}
	for {
		if i := bytes.IndexByte(rd.buf[rd.r:rd.w], '\n'); i >= 0 {
			rd.r += i + 1
			rd.offset += int64(i + 1)
			return
		}
		rd.offset += int64(rd.w - rd.r)
		rd.r, rd.w = keep, keep
		if rd.eof {
			rd.torn = true
			return
		}
		rd.read()
	}
}

// read reads once. A source that keeps returning neither bytes nor an error fails
// with io.ErrNoProgress.
func (rd *Reader) read() {
	for range 100 {
		n, err := rd.src.Read(rd.buf[rd.w:])
		rd.w += n
		if err != nil {
			rd.eof = true
			if !errors.Is(err, io.EOF) {
				rd.err = err
			}
			return
		}
		if n > 0 {
			return
		}
	}
	rd.eof, rd.err = true, io.ErrNoProgress
}
