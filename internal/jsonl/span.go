package jsonl

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"sync"
)

// A Span is where a value lies in a source. A file in which later lines change
// what earlier ones said is read twice: once for the spans of what remains, once
// for what lies there. Memory then holds spans, never the file.
type Span struct {
	Offset int64
	Len    int
}

// Span returns where part lies, which was got from v by methods of this package.
func (v Value) Span(part Value) Span {
	return Span{int64(cap(v) - cap(part)), len(part)}
}

// Span returns where part of the line lies in the source.
func (rd *Reader) Span(part Value) Span {
	s := rd.Line().Span(part)
	s.Offset += rd.start
	return s
}

// Read reads the value that lies at s, into buf where that is large enough. A
// source that has become shorter gives what is left of the value.
func (s Span) Read(src io.ReaderAt, buf []byte) (Value, error) {
	if cap(buf) < s.Len {
		buf = make([]byte, s.Len)
	}
	n, err := src.ReadAt(buf[:s.Len], s.Offset)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return Value(buf[:n]), err
}

// Spans reads values that lie in a source, each into the memory of the one
// before.
type Spans struct {
	Source io.ReaderAt
	buf    []byte
}

// Read reads the value that lies at span. It is overwritten by the next one.
func (s *Spans) Read(span Span) (Value, error) {
	v, err := span.Read(s.Source, s.buf)
	if cap(v) > cap(s.buf) {
		s.buf = v[:0]
	}
	return v, err
}

// chunks are memory that LinesWith is done with: it is asked of many files.
var chunks = sync.Pool{New: func() any { return new([chunk]byte) }}

// LinesWith yields where the lines of src start that begin with prefix, the
// first line apart, and n bytes from there. It looks at bytes only, so it costs
// little more than reading.
func LinesWith(src interface {
	io.Reader
	io.ReaderAt
}, prefix []byte, n int) iter.Seq2[int64, Value] {
	head := func(at int64) Value {
		v, err := Span{Offset: at, Len: n}.Read(src, nil)
		if err != nil {
			return nil
		}
		return v
	}
	return func(yield func(int64, Value) bool) {
		pattern := append([]byte{'\n'}, prefix...)
		mem := chunks.Get().(*[chunk]byte)
		defer chunks.Put(mem)
		buf := mem[:]
		kept, base := 0, int64(0)
		for {
			n, err := src.Read(buf[kept:])
			have := buf[:kept+n]
			from := 0
			for i := bytes.Index(have, pattern); i >= 0; i = bytes.Index(have[from:], pattern) {
				from += i + 1
				if at := base + int64(from); !yield(at, head(at)) {
					return
				}
			}
			if err != nil {
				return
			}
			kept = min(len(have)-from, len(prefix))
			base += int64(len(have) - kept)
			copy(buf, have[len(have)-kept:])
		}
	}
}
