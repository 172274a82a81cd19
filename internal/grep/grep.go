// Package grep excludes transcripts that can't have some words, without decoding
// them.
package grep

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"sync"

	"github.com/agent-handoff/handoff/internal/words"
	"github.com/agent-handoff/handoff/thread"
)

// MayContain reports whether the files of a transcript can have all terms. It
// compares bytes: it is wrong only by returning true.
func MayContain(ctx context.Context, s *thread.Stored, terms []words.Term) bool {
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
	words     []wanted
	left      int  // words that are not found yet
	lower     bool // a word has no rare letter: the files are converted to lower case
	elsewhere []byte
	longest   int
}

// A wanted is a word that is searched.
type wanted struct {
	word  []byte // in lower case; nil once it is found
	rare  int    // index of its rarest letter
	known bool   // it has a rare letter
}

// rareLetters are those that less than one of a hundred letters of a text is, the
// rarest first. Words with one of them are searched by it, which is faster.
const rareLetters = "qzjxkv"

func newWanted(word []byte) wanted {
	for _, c := range []byte(rareLetters) {
		if i := bytes.IndexByte(word, c); i >= 0 {
			return wanted{word, i, true}
		}
	}
	return wanted{word: word}
}

// in reports whether w occurs in b, in any case.
func (w wanted) in(b []byte) bool {
	return w.at(b, w.word[w.rare]) || w.at(b, w.word[w.rare]-'a'+'A')
}

// at reports whether w occurs in b with its rare letter as c.
func (w wanted) at(b []byte, c byte) bool {
	for i := w.rare; i < len(b); i++ {
		next := bytes.IndexByte(b[i:], c)
		if next < 0 {
			return false
		}
		i += next
		if start := i - w.rare; len(b)-start >= len(w.word) && equalFold(b[start:start+len(w.word)], w.word) {
			return true
		}
	}
	return false
}

// equalFold reports whether the lower case of b is word.
func equalFold(b, word []byte) bool {
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != word[i] {
			return false
		}
	}
	return true
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
				w := newWanted(word)
				g.words, g.lower = append(g.words, w), g.lower || !w.known
				g.longest = max(g.longest, len(word))
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
		if g.lower {
			lower(part[keep:])
		}
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
		if w.word != nil && (g.lower && bytes.Contains(part, w.word) || !g.lower && w.in(part)) {
			g.words[i].word, g.left = nil, g.left-1
		}
	}
	return g.left == 0
}

// lower converts the ASCII letters of b to lower case, eight bytes at a time.
func lower(b []byte) {
	const ones = 0x0101010101010101
	for len(b) >= 8 {
		v := binary.LittleEndian.Uint64(b)
		low := v & (ones * 0x7f)
		upper := (low + ones*(0x80-'A')) &^ (low + ones*(0x7f-'Z')) &^ v & (ones * 0x80)
		binary.LittleEndian.PutUint64(b, v|upper>>2)
		b = b[8:]
	}
	copy(b, strings.ToLower(string(b[:len(b):len(b)])))
}
