package threadindex

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"

	"github.com/agent-handoff/handoff/internal/tool/words"
	"github.com/agent-handoff/handoff/thread"
)

// mayContain reports whether the files of a transcript can have all terms. It
// compares bytes: it is wrong only by returning true.
func mayContain(ctx context.Context, s *thread.Stored, terms []words.Term) bool {
	g := newGrep(s, terms)
	if g == nil {
		return true
	}
	for _, path := range s.Texts {
		if found, err := g.file(ctx, path); found || err != nil {
			return true // opening the transcript reports the error
		}
	}
	return g.left == 0
}

// A grep searches files for some words, in any case.
type grep struct {
	words     [][]byte // in lower case; nil once they are found
	left      int      // words that are not found yet
	elsewhere []byte
	longest   int
}

// newGrep returns a grep, nil if the files do not decide.
func newGrep(s *thread.Stored, terms []words.Term) *grep {
	g := &grep{longest: len(s.Elsewhere)}
	if s.Elsewhere != "" {
		g.elsewhere = []byte(s.Elsewhere)
	}
	for _, t := range terms {
		for word := range bytes.FieldsSeq(t.Words) {
			if !bytes.ContainsFunc(word, func(r rune) bool { return r > 0x7f }) { // JSON may escape others
				g.words, g.longest = append(g.words, word), max(g.longest, len(word))
			}
		}
	}
	if g.left = len(g.words); g.left == 0 || s.Texts == nil {
		return nil
	}
	return g
}

const (
	chunk    = 256 << 10
	headSize = 4 * chunk // in which Stored.Elsewhere is searched
)

var buffers = sync.Pool{New: func() any { b := make([]byte, chunk); return &b }}

// file searches a file, and reports whether nothing more needs to be searched.
func (g *grep) file(ctx context.Context, path string) (done bool, err error) {
	f, err := thread.OpenFile(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	keep := 0
	for read := 0; ; {
		n, err := io.ReadFull(f, (*buf)[keep:])
		part := (*buf)[:keep+n]
		lower(part[keep:])
		if g.search(part) || read < headSize && g.elsewhere != nil && bytes.Contains(part, g.elsewhere) {
			return true, nil
		}
		read += n
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return false, nil
		}
		if err != nil || ctx.Err() != nil {
			return false, errors.Join(err, ctx.Err())
		}
		keep = copy(*buf, part[max(0, len(part)-g.longest):])
	}
}

func (g *grep) search(part []byte) (done bool) {
	for i, w := range g.words {
		if w != nil && bytes.Contains(part, w) {
			g.words[i], g.left = nil, g.left-1
		}
	}
	return g.left == 0
}

// lower converts the ASCII letters of b to lower case.
func lower(b []byte) {
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
}
