package secret

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Limits of what Redact has in memory.
const (
	pieceLen = 256 << 10 // bytes of a string that are searched at a time
	holdLen  = 32 << 10  // bytes at the end of a piece that are searched again with the next
)

// Redact copies a file of JSON, JSON lines or plain text, and replaces each secret
// in it. What was valid JSON stays valid: strings are searched as they are decoded,
// and only a part of a string is ever replaced. report is called with each secret,
// which it must not keep, and the line it is on. Memory is bounded.
//
// With a nil to, secrets are only reported.
func Redact(to io.Writer, from io.Reader, report func(kind, secret string, line int)) error {
	if to == nil {
		to = io.Discard
	}
	size := 64 << 10
	if b, ok := from.(interface{ Len() int }); ok {
		size = min(size, b.Len()) // one of many values
	}
	r := &redactor{in: bufio.NewReaderSize(from, size), out: bufio.NewWriterSize(to, size), report: report, line: 1}
	for {
		err := r.next()
		if errors.Is(err, io.EOF) {
			return r.out.Flush()
		}
		if err != nil {
			return err
		}
	}
}

type redactor struct {
	in     *bufio.Reader
	out    *bufio.Writer
	report func(kind, secret string, line int)
	line   int
	raw    []byte // the piece as it is in the file
	inside bool   // the piece is in a string
	key    bool   // the last string was the name of a secret, and a colon follows
	last   []byte // the last string, if it is short
}

// next reads up to the end of a string, the beginning of one, the end of a line, or a
// full piece, and copies that.
func (r *redactor) next() error {
	for {
		b, err := r.in.ReadByte()
		if err != nil {
			return errors.Join(r.flush(true), err)
		}
		switch {
		case b == '\n':
			err = r.newLine(b)
			r.line++
			return err
		case r.inside && b == '\\':
			r.raw = append(r.raw, b)
			if b, err = r.in.ReadByte(); err != nil {
				return errors.Join(r.flush(true), err)
			}
			if b == '\n' {
				err = r.newLine(b)
				r.line++
				return err
			}
			r.raw = append(r.raw, b)
		case b == '"':
			if !r.inside {
				r.key = r.key && len(bytes.Trim(r.raw, ": \t\r")) == 0 && bytes.IndexByte(r.raw, ':') >= 0
			}
			if err := r.flush(true); err != nil {
				return err
			}
			if r.inside {
				r.key = keyForm().Match(r.last)
			}
			r.inside = !r.inside
			r.last = r.last[:0]
			return r.out.WriteByte(b)
		default:
			r.raw = append(r.raw, b)
		}
		if len(r.raw) >= pieceLen {
			return r.flush(false)
		}
	}
}

// newLine ends a line, and a string that was not closed: JSON has no line breaks in
// strings. In plain text, a secret may have several lines.
func (r *redactor) newLine(b byte) error {
	if !r.inside && bytes.Contains(r.raw, []byte("-----BEGIN ")) && !bytes.Contains(r.raw, []byte("-----END ")) && len(r.raw) < holdLen {
		r.raw = append(r.raw, b)
		return nil
	}
	err := r.flush(true)
	r.inside, r.key = false, false
	return errors.Join(err, r.out.WriteByte(b))
}

// flush copies the piece, except its end if more of the string follows.
func (r *redactor) flush(end bool) error {
	text, at := r.decode()
	done := 0 // bytes of raw that were copied
	found := Find(text)
	if r.inside && r.key && end && len(found) == 0 && len(text) >= shortest && isSecret(text) {
		found = []Match{{"password", 0, len(text)}}
	}
	limit := len(text)
	if !end {
		limit -= holdLen
	}
	for _, m := range found {
		if m.Start >= limit || !end && m.End == len(text) && m.Start > 0 {
			limit = min(limit, m.Start)
			break
		}
		r.report(m.Kind, text[m.Start:m.End], r.line)
		r.out.Write(r.raw[done:at(m.Start)])
		r.out.WriteString(Redacted(m.Kind))
		done = at(m.End)
	}
	upTo := max(done, at(max(limit, 0)))
	if end {
		upTo = len(r.raw)
		if r.inside && len(text) <= 100 {
			r.last = append(r.last[:0], text...)
		}
	}
	_, err := r.out.Write(r.raw[done:upTo])
	r.raw = append(r.raw[:0], r.raw[upTo:]...)
	return err
}

// decode returns the text of the piece, and the position in the file of a position in
// the text.
func (r *redactor) decode() (text string, at func(int) int) {
	if !r.inside || bytes.IndexByte(r.raw, '\\') < 0 {
		return string(r.raw), func(n int) int { return n }
	}
	decoded := make([]byte, 0, len(r.raw))
	from := make([]int32, 0, len(r.raw)+1)
	for i := 0; i < len(r.raw); {
		n := len(decoded)
		size := 1
		if r.raw[i] == '\\' {
			decoded, size = unescape(decoded, r.raw[i:])
		} else {
			decoded = append(decoded, r.raw[i])
		}
		for range len(decoded) - n {
			from = append(from, int32(i))
		}
		i += size
	}
	from = append(from, int32(len(r.raw)))
	return string(decoded), func(n int) int { return int(from[n]) }
}

// unescape appends the character of an escape sequence, and returns its size.
func unescape(to, b []byte) ([]byte, int) {
	if len(b) < 2 {
		return append(to, b[0]), 1
	}
	switch b[1] {
	case 'n':
		return append(to, '\n'), 2
	case 't':
		return append(to, '\t'), 2
	case 'r':
		return append(to, '\r'), 2
	case 'b', 'f':
		return append(to, ' '), 2
	case 'u':
		unit, ok := hex(b)
		if !ok {
			return append(to, 'u'), 2
		}
		if low, ok := hex(b[min(6, len(b)):]); ok && utf16.IsSurrogate(unit) {
			if c := utf16.DecodeRune(unit, low); c != utf8.RuneError {
				return utf8.AppendRune(to, c), 12
			}
		}
		return utf8.AppendRune(to, unit), 6
	}
	return append(to, b[1]), 2
}

// hex returns the value of an escape sequence \uXXXX.
func hex(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	return rune(n), err == nil
}
