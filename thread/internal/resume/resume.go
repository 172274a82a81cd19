// Package resume continues to read files with one record per line at a thread.Mark.
package resume

import (
	"bytes"
	"encoding/gob"
	"io"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// A Point is where a file is read, and who is asked for marks.
type Point struct {
	lines   int // before the first one that is read
	offset  int64
	mark    func(offset int64, state func() []byte)
	damaged bool // a line was skipped or truncated
}

// A saved is the content of the State of a Mark.
type saved[T any] struct {
	Lines int
	State T
}

// At returns the Point of a Mark with its state. mark is called after lines.
func At[T any](from thread.Mark, mark func(offset int64, state func() []byte)) (p Point, state T, err error) {
	var s saved[T]
	if from.Offset > 0 && gob.NewDecoder(bytes.NewReader(from.State)).Decode(&s) != nil {
		return p, state, thread.ErrMark
	}
	return Point{lines: s.Lines, offset: from.Offset, mark: mark}, s.State, nil
}

// Resumed reports whether p is not the start of the file.
func (p *Point) Resumed() bool { return p.offset > 0 }

// Open opens a file of which about size bytes remain at p.
func (p *Point) Open(path string) (src *thread.File, err error) {
	if src, err = thread.OpenFile(path); err == nil && p.offset > 0 {
		_, err = src.Seek(p.offset, io.SeekStart)
	}
	return src, err
}

// Hash returns a hash of a text that is the same in every process: FNV-1a of 64 bits.
func Hash[T string | []byte](text T) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 1099511628211
	}
	return h
}

// Start sets the position of a reader of the file.
func (p *Point) Start(rd *jsonl.Reader) { rd.Continue(p.lines, p.offset) }

// Mark asks for a mark after a line. complete reports whether it was complete; save
// returns the state, ok false if reading can't be resumed here.
func Mark[T any](p *Point, rd *jsonl.Reader, complete bool, save func() (state T, ok bool)) {
	p.damaged = p.damaged || !complete || rd.Cut()
	if p.mark == nil || p.damaged || rd.Torn() {
		return
	}
	p.mark(rd.End(), func() []byte {
		state, ok := save()
		if !ok {
			return nil
		}
		var b bytes.Buffer
		if err := gob.NewEncoder(&b).Encode(saved[T]{rd.Number(), state}); err != nil {
			panic(err) // the types of states can be encoded
		}
		return b.Bytes()
	})
}
