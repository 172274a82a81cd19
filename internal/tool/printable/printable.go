// Package printable makes text of others safe to print on a terminal.
//
// Control characters can change what a terminal shows, and invisible characters,
// such as changes of text direction, can change how a text reads. They are printed
// as escapes.
package printable

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// unsafe reports whether a character would not be seen for what it is. Joiners are
// needed in many scripts and in emoji.
func unsafe(r rune) bool {
	const joiner, nonJoiner = '\u200d', '\u200c'
	return unicode.IsControl(r) || (r != joiner && r != nonJoiner && unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp))
}

// Line returns s with line breaks, unsafe characters and invalid bytes escaped as
// in Go, so that it is safe to print within a line.
func Line(s string) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, unsafe) {
		return s
	}
	return string(escape([]byte(s), goEscape))
}

// Word returns s if it is a plain word, such as a name or a path without a space,
// and otherwise s in quotes. A model reads text of others in quotes as data.
func Word(s string) string {
	plain := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._-/@+~#:", r)
	}
	if s != "" && utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return strconv.Quote(s)
}

// OneLine returns s on one line: white space becomes a single space, and other
// control characters are removed. Invalid UTF-8 is returned as it is.
func OneLine(s string) string {
	if !utf8.ValidString(s) {
		return s
	}
	s = strings.Join(strings.Fields(s), " ")
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, s)
}

// Text is Line for a text of several lines, whose ends and tabs stay.
func Text(s []byte) []byte {
	return escape(s, func(s []byte, size int) string {
		if s[0] == '\n' || s[0] == '\t' || (s[0] == '\r' && len(s) > 1 && s[1] == '\n') {
			return ""
		}
		return goEscape(s, size)
	})
}

// JSON returns valid JSON with an escape in place of each unsafe character, which
// only strings contain. encoding/json escapes some of them.
func JSON(b []byte) []byte {
	return escape(b, func(s []byte, size int) string {
		r, _ := utf8.DecodeRune(s)
		switch {
		case r < ' ':
			return "" // white space between values
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			return fmt.Sprintf(`\u%04x\u%04x`, high, low)
		}
		return fmt.Sprintf(`\u%04x`, r)
	})
}

// goEscape returns the first character of s, or its first byte if that is
// invalid, as in a Go string.
func goEscape(s []byte, size int) string {
	q := strconv.QuoteToASCII(string(s[:size]))
	return q[1 : len(q)-1]
}

// escape replaces each unsafe character and invalid byte by what replace returns
// for the text from there, unless that is "". size is the length of the character.
func escape(s []byte, replace func(s []byte, size int) string) []byte {
	var out []byte
	kept := 0
	for i := 0; i < len(s); {
		if c := s[i]; c >= ' ' && c < 0x7f {
			i++
			continue
		}
		r, size := utf8.DecodeRune(s[i:])
		if unsafe(r) || (r == utf8.RuneError && size == 1) {
			if with := replace(s[i:], size); with != "" {
				out = append(append(out, s[kept:i]...), with...)
				kept = i + size
			}
		}
		i += size
	}
	if kept == 0 {
		return s
	}
	return append(out, s[kept:]...)
}

// Code returns at most so many characters of a text as a code span (CommonMark, 6.1) on
// one line, "" without text. Its fence is longer than every run of backticks in the text.
func Code(text string, most int) string {
	text = strings.Join(strings.Fields(Line(text)), " ")
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most-1]) + "…"
	}
	if text == "" {
		return ""
	}
	longest, run := 0, 0
	for _, r := range text {
		if run++; r != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", longest+1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return fence + text + fence
}
