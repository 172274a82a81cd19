package secret

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
)

// sizes are limits of what is in memory.
type sizes struct {
	piece int // bytes of a string that are searched at a time
	hold  int // bytes at the end of a piece that are searched again with the next
}

// Limits of what Redact has in memory. A secret that is longer than holdLen may be
// replaced in parts.
const (
	pieceLen = 256 << 10
	holdLen  = 32 << 10
)

// Redact copies a file of JSON, JSON lines or plain text, and replaces each secret
// in it. What was valid JSON stays valid: strings are searched as they are decoded,
// and only a part of a string is ever replaced. report is called with each secret,
// which it must not keep, and the line it is on. Memory is bounded.
//
// With a nil to, secrets are only reported.
func Redact(to io.Writer, from io.Reader, report func(kind, secret string, line int)) error {
	return redact(to, from, report, sizes{pieceLen, holdLen})
}

func redact(to io.Writer, from io.Reader, report func(kind, secret string, line int), limits sizes) error {
	if to == nil {
		to = io.Discard
	}
	size := 64 << 10
	if b, ok := from.(interface{ Len() int }); ok {
		size = min(size, b.Len()) // one of many values
	}
	r := &redactor{in: bufio.NewReaderSize(from, size), out: bufio.NewWriterSize(to, size), report: report, line: 1,
		limits: limits}
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
	limits sizes
	in     *bufio.Reader
	out    *bufio.Writer
	report func(kind, secret string, line int)
	line   int
	raw    []byte // the piece as it is in the file
	inside bool   // the piece is in a string
	before string // the text before the piece that counts: of the same string, or the name of the member
	last   []byte // the last string, if it is short
	text   string // the text of the last piece
}

// next reads up to the end of a string, the beginning of one, the end of a line, or a
// full piece, and copies that.
func (r *redactor) next() error {
	for {
		b, err := r.in.ReadByte()
		if err != nil {
			r.flush(true)
			return err
		}
		switch {
		case b == '\n':
			err = r.newLine(b)
			r.line++
			return err
		case r.inside && b == '\\':
			r.raw = append(r.raw, b)
			if b, err = r.in.ReadByte(); err != nil {
				r.flush(true)
				return err
			}
			if b == '\n' {
				err = r.newLine(b)
				r.line++
				return err
			}
			r.raw = append(r.raw, b)
		case b == '"':
			return r.quote()
		default:
			r.raw = append(r.raw, b)
		}
		if len(r.raw) >= r.limits.piece {
			r.flush(false)
			return nil
		}
	}
}

// quote ends a string, or begins one.
func (r *redactor) quote() error {
	before := ""
	if !r.inside {
		before = r.name()
	}
	r.flush(true)
	r.before = before
	r.last = r.last[:0]
	if r.inside && len(r.text) <= maxName {
		r.last = append(r.last, r.text...)
	}
	r.inside = !r.inside
	return r.out.WriteByte('"')
}

// Of the name of a member, and what precedes its value where it is searched.
const (
	maxName = 100
	nameEnd = `": "`
)

// name returns what is before a string and may name it: the string before it and an
// operator, or the text before the quote.
func (r *redactor) name() string {
	text := string(r.raw[max(0, len(r.raw)-maxName):])
	switch operator := strings.TrimSpace(text); {
	case operator == ":":
		text = string(r.last) + nameEnd
	case len(operator) <= 3 && strings.Trim(operator, ":=>") == "":
		text = string(r.last) + `"` + text + `"`
	default:
		text += `"`
	}
	if len(text) < len(nameEnd) || !rules().words().in(text) {
		return ""
	}
	return text
}

// keyForm is the name of a JSON member whose value is a secret, also with spaces.
var keyForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`(?i)^(?:[a-z0-9]+[_-])*(?:password|passwd|secret|api[_-]?key|(?:access|auth|refresh|bearer)[_-]?token)$`)
})

// newLine ends a line, and a string that was not closed: JSON has no line breaks in
// strings. In plain text, a secret may have several lines.
func (r *redactor) newLine(b byte) error {
	if bytes.Contains(r.raw, []byte("-----BEGIN ")) && !bytes.Contains(r.raw, []byte("-----END ")) &&
		len(r.raw) < r.limits.hold {
		r.raw = append(r.raw, b)
		return nil
	}
	r.flush(true)
	r.inside, r.before = false, ""
	r.last = r.last[:0]
	return r.out.WriteByte(b)
}

// flush copies the piece, except its end if more of the string follows.
func (r *redactor) flush(end bool) {
	r.text = r.decode()
	before := len(r.before)
	whole := r.before + r.text
	limit := len(whole)
	if !end {
		limit = max(before, limit-r.limits.hold)
	}
	upTo, cut := limit, 0 // the text is copied up to here; of what is before this, a part counts for what follows
	found := r.find(whole, before, end)
	for i, m := range found {
		if m.Start >= limit || (!end && m.End == len(whole) && m.Start-before > r.limits.piece/2) {
			upTo = min(limit, m.Start)
			if found = found[:i]; i > 0 {
				upTo = max(upTo, found[i-1].End)
			}
			break
		}
		upTo = max(upTo, m.End)
		if !end && m.End == len(whole) {
			cut = m.Start + reach/4 // the secret goes on
		}
	}
	rest := r.copy(whole, found, before, upTo)
	if cut == 0 || cut > upTo {
		cut = upTo
	}
	r.before = strings.Clone(whole[max(0, cut-reach):cut])
	r.raw = append(r.raw[:0], r.raw[rest:]...)
}

// find returns the secrets in a text after a position.
func (r *redactor) find(text string, from int, end bool) []Match {
	found := find(text, from)
	if len(found) > 0 || !end || !r.inside || len(text)-from < shortest {
		return found
	}
	if name, ok := strings.CutSuffix(text[:from], nameEnd); ok && keyForm().MatchString(name) && isSecret(text[from:]) {
		return []Match{{"password", from, len(text)}}
	}
	return nil
}

// copy writes the piece with secrets replaced, up to a position of the text, and returns
// the position in the file. In the text, the piece is after before.
func (r *redactor) copy(text string, found []Match, before, upTo int) int {
	done := 0 // bytes of the piece that were copied
	at := position{raw: r.raw, plain: len(r.raw) == len(r.text)}
	for _, m := range found {
		r.report(m.Kind, text[m.Start:m.End], r.line)
		r.out.Write(r.raw[done:at.of(m.Start-before)])
		r.out.WriteString(Redacted(m.Kind))
		done = at.of(m.End - before)
	}
	end := max(done, at.of(upTo-before))
	r.out.Write(r.raw[done:end])
	return end
}

// decode returns the text of the piece.
func (r *redactor) decode() string {
	if !r.inside || bytes.IndexByte(r.raw, '\\') < 0 {
		return string(r.raw)
	}
	decoded := make([]byte, 0, len(r.raw))
	for i := 0; i < len(r.raw); {
		size := 1
		if r.raw[i] == '\\' {
			decoded, size = unescape(decoded, r.raw[i:])
		} else {
			decoded = append(decoded, r.raw[i])
		}
		i += size
	}
	return string(decoded)
}

// A position follows positions in a text, in order, to those in the file.
type position struct {
	raw      []byte
	plain    bool // there are no escapes
	text, in int
}

// of returns the position of the character that has a byte of the text.
func (p *position) of(n int) int {
	if p.plain {
		return n
	}
	var buf [8]byte
	for p.in < len(p.raw) {
		c, size := p.raw[p.in:p.in+1], 1
		if c[0] == '\\' {
			c, size = unescape(buf[:0], p.raw[p.in:])
		}
		if p.text+len(c) > n {
			break
		}
		p.text += len(c)
		p.in += size
	}
	return p.in
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
