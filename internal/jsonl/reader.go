// Package jsonl reads files of JSON values, one a line, written by programs
// that may still be writing, may have been killed, or may have written several
// gigabytes.
//
// A [Reader] hands out one line at a time in memory it reuses. A [Value] is the
// bytes of one JSON value; its methods walk those bytes and decode only what is
// asked for. Both are lenient: they never fail on what a line holds. What is
// broken is reported as such, and what comes before the break can still be read.
//
// It is not a JSON library: it checks structure, not grammar, and has no
// encoder.
package jsonl

import (
	"bytes"
	"errors"
	"io"
)

const (
	// chunk is how much a Reader asks for at a time.
	chunk = 256 << 10

	// MaxLine is the longest line that is handed out whole. Of a longer one,
	// its first MaxLine bytes are: the fields that matter come first, and what
	// makes lines so long are images.
	MaxLine = 8 << 20
)

// A Reader reads lines. Its zero value is not usable; see NewReader.
type Reader struct {
	src    io.Reader
	buf    []byte
	r, w   int   // buf[r:w] is read and not yet handed out
	offset int64 // of buf[r] in the source

	line   []byte
	start  int64 // offset of line
	number int
	torn   bool
	cut    bool
	eof    bool
	err    error
}

// NewReader returns a Reader of r.
func NewReader(r io.Reader) *Reader { return NewReaderSize(r, chunk) }

// NewReaderSize returns a Reader that asks for size bytes at first: for whoever
// wants the head of a file only.
func NewReaderSize(r io.Reader, size int) *Reader {
	return &Reader{src: r, buf: make([]byte, size)}
}

// Reset makes rd read from r, keeping its memory.
func (rd *Reader) Reset(r io.Reader) { *rd = Reader{src: r, buf: rd.buf} }

// Next moves to the next line that is not blank and reports whether there is
// one. A last line without its newline is handed out too; Torn tells.
func (rd *Reader) Next() bool {
	for rd.fill() {
		line := bytes.TrimSpace(rd.line)
		rd.start += int64(cap(rd.line) - cap(line))
		rd.line = line
		if len(rd.line) > 0 {
			return true
		}
	}
	return false
}

// Line returns the line without its newline. It is overwritten by Next.
func (rd *Reader) Line() Value { return Value(rd.line) }

// Number returns the line's place in the source, counted from 1.
func (rd *Reader) Number() int { return rd.number }

// Offset returns where the line starts in the source.
func (rd *Reader) Offset() int64 { return rd.start }

// Torn reports whether the line had no newline: its writer may not be done
// with it, even if it is a complete value.
func (rd *Reader) Torn() bool { return rd.torn }

// Cut reports whether the line is longer than MaxLine.
func (rd *Reader) Cut() bool { return rd.cut }

// Err returns what stopped Next, nil at the end of the source.
func (rd *Reader) Err() error { return rd.err }

// fill sets line to the next line, blank or not.
func (rd *Reader) fill() bool {
	rd.line, rd.torn, rd.cut = nil, false, false
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

// take hands out n bytes and steps over skip more.
func (rd *Reader) take(n, skip int) {
	rd.line = rd.buf[rd.r : rd.r+n : rd.r+n]
	rd.r += n + skip
	rd.offset += int64(n + skip)
	rd.number++
}

// more reads once, behind what is not yet handed out.
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

// skip steps over the rest of a line that was cut, reading only into the memory
// behind the part that is handed out.
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

// read reads once. A source that keeps giving neither bytes nor an error is
// ended with io.ErrNoProgress.
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
