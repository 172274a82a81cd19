package threadindex

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/gob"
	"io"
	"time"

	"github.com/agent-handoff/handoff/thread"
)

// minTail is the size of the smallest transcript that has a mark, and the least number
// of bytes between marks. Tests change it.
var minTail int64 = 1 << 20

// A tailMark is where a transcript can be read further.
type tailMark struct {
	thread.Mark
	Digest []byte // SHA-256 of the file before Offset
	Known  marked
}

// A marked is what an index has of the part before a mark.
type marked struct {
	Segments                             int // of words
	Size                                 int // of words, in bytes
	Last                                 int // number of the last message
	Touches, Commands, Mentions, Reports int
	Prompt                               string // the first of the user
	Continues                            thread.URI
	Prompted                             time.Time // when the user wrote the last
	Tools                                []string
}

// encode encodes a mark for decodeMark.
func (m tailMark) encode() []byte {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(m); err != nil {
		panic(err) // its types can be encoded
	}
	return b.Bytes()
}

// decodeMark decodes a mark, the zero one if b is damaged.
func decodeMark(b []byte) (m tailMark) {
	if gob.NewDecoder(bytes.NewReader(b)).Decode(&m) != nil {
		return tailMark{}
	}
	return m
}

// A tailFile is a transcript as it is before it is read.
type tailFile struct {
	path    string
	stamp   uint64
	size    int64
	changed time.Time
}

// statTail returns the file of a transcript. ok is false if a mark is of no use: it is
// small, it is not plain text, or there are copies of it.
func statTail(ctx context.Context, s *thread.Stored) (f tailFile, ok bool) {
	if len(s.Texts) != 1 {
		return f, false
	}
	src, err := thread.OpenFile(s.Source)
	if err != nil {
		return f, false
	}
	f.path, f.size = s.Source, src.Size()
	now, ok := thread.NewWalk(ctx).StatStored(s.Texts)
	f.stamp, f.changed = now.Stamp, now.Changed
	return f, ok && src.Close() == nil && f.size >= minTail
}

// next returns the offset from which a new mark is useful, after the one from which
// the file is read. It is far enough before the end that the file is appended to
// several times before it has another one.
func (f tailFile) next(from tailMark) int64 {
	apart := max(minTail, f.size/16)
	if from.Offset > 0 && f.size-from.Offset < 2*apart {
		return f.size + 1
	}
	return f.size - apart
}

// has reports whether the file has the part before a mark.
func (f tailFile) has(m tailMark) bool {
	return m.Offset > 0 && m.Offset <= f.size && bytes.Equal(f.digest(m.Offset), m.Digest)
}

// unchanged returns the digest of the part before an offset, nil if the file may have
// changed since statTail. A file that had just changed then may change without a trace.
func (f tailFile) unchanged(ctx context.Context, offset int64, settled time.Time) []byte {
	digest := f.digest(offset)
	now, ok := thread.NewWalk(ctx).StatStored([]string{f.path})
	if !ok || now.Stamp != f.stamp || f.changed.After(settled) {
		return nil
	}
	return digest
}

func (f tailFile) digest(n int64) []byte {
	src, err := thread.OpenFile(f.path)
	if err != nil {
		return nil
	}
	defer src.Close()
	h := sha256.New()
	if _, err := io.CopyBuffer(h, io.NewSectionReader(src, 0, n), make([]byte, 256<<10)); err != nil {
		return nil
	}
	return h.Sum(nil)
}
