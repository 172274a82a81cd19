package preview

import (
	"bytes"
	"errors"
	"io"
	"unicode/utf8"
)

// headSize is how much of the beginning of content its kind is detected from.
const headSize = 8 << 10

// A piece is a part of content that was read.
type piece struct {
	size   int64
	offset int64
	head   []byte // the beginning of the content
	text   []byte // the range at offset, which ends with a line if it can
}

// read reads the range at an offset. If the offset is within a line, the range
// starts with that line, unless it is a long one, which is divided.
func read(body io.ReadSeeker, offset int64) (piece, error) {
	size, err := body.Seek(0, io.SeekEnd)
	if err != nil {
		return piece{}, err
	}
	p := piece{size: size, offset: max(0, min(offset, size))}
	if p.head, err = readAt(body, 0, headSize); err != nil {
		return piece{}, err
	}
	before := min(p.offset, Window/2)
	buf, err := readAt(body, p.offset-before, int(before)+Window)
	if err != nil {
		return piece{}, err
	}
	before = min(before, int64(len(buf)))
	start := int(before)
	if at := bytes.LastIndexByte(buf[:start], '\n'); at >= 0 || before == p.offset {
		start = at + 1
	} else {
		for start < len(buf) && !utf8.RuneStart(buf[start]) {
			start++
		}
	}
	p.offset += int64(start) - before
	p.text = buf[start:]
	if len(p.text) > Window {
		p.text = p.text[:Window]
	}
	if p.offset+int64(len(p.text)) < size {
		p.text = complete(p.text)
	}
	return p, nil
}

// complete returns the complete lines of a text, or its complete characters if it
// has none.
func complete(text []byte) []byte {
	if at := bytes.LastIndexByte(text, '\n'); at >= 0 {
		return text[:at+1]
	}
	for n := 1; n < utf8.UTFMax && n < len(text); n++ {
		if last := text[len(text)-n:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return text[:len(text)-n]
			}
			break
		}
	}
	return text
}

// previous returns the offset of the range before, -1 if there is none.
func (p piece) previous() int64 {
	if p.offset == 0 {
		return -1
	}
	return max(0, p.offset-Window)
}

// all returns the content if it is small enough to be rendered at once.
func (p piece) all(body io.ReadSeeker) ([]byte, bool) {
	switch {
	case p.size > richSize:
		return nil, false
	case p.offset == 0 && int64(len(p.text)) == p.size:
		return p.text, true
	}
	all, err := readAt(body, 0, richSize)
	return all, err == nil
}

// readAt reads at most n bytes.
func readAt(body io.ReadSeeker, offset int64, n int) ([]byte, error) {
	if _, err := body.Seek(offset, io.SeekStart); err != nil {
		return nil, err
	}
	buf := make([]byte, n)
	got, err := io.ReadFull(body, buf)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = nil // the content may have become shorter
	}
	return buf[:got], err
}
