// Package words splits texts into words, as a search of threads compares them,
// and finds what a person searches for.
package words

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxWord is the number of bytes by which words are compared.
const maxWord = 64

// Append appends the words of a text: each in lower case, after a space. A
// word is a sequence of letters, digits and marks. A character of a script without
// spaces between words is a word of its own.
//
// Only ASCII letters become ASCII letters, so that an ASCII word of the result
// occurs in the text, in some case.
func Append(b []byte, text string) []byte {
	for end := 0; end < len(text); {
		_, end, b = next(b, text, end)
	}
	return b
}

// next appends the first word of a text from i, if there is one, and returns
// where it starts and ends.
func next(b []byte, text string, i int) (start, end int, _ []byte) {
	length := 0
	for i < len(text) {
		r, size := rune(text[i]), 1
		word, alone := lowerASCII[text[i]] != 0, false
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(text[i:])
			word, alone = unicode.In(r, letters...), unicode.In(r, unspaced...)
		}
		switch {
		case length > 0 && (!word || alone):
			return start, i, b
		case !word:
			i += size
			continue
		case length == 0:
			start = i
			b = append(b, ' ')
		}
		if i, length = i+size, length+size; length <= maxWord {
			b = appendLower(b, r)
		}
		if alone {
			break
		}
	}
	return start, i, b
}

func appendLower(b []byte, r rune) []byte {
	if r < utf8.RuneSelf {
		return append(b, lowerASCII[r])
	}
	if lower := unicode.ToLower(r); lower >= utf8.RuneSelf {
		r = lower
	}
	return utf8.AppendRune(b, r)
}

// The characters of words, and those that are words of their own.
var (
	letters  = []*unicode.RangeTable{unicode.L, unicode.N, unicode.M}
	unspaced = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao,
		unicode.Khmer, unicode.Myanmar}
)

// lowerASCII has the lower case of each ASCII letter and digit, and 0 for all
// other bytes.
var lowerASCII = func() (table [256]byte) {
	for c := range byte(utf8.RuneSelf) {
		if lower := unicode.ToLower(rune(c)); unicode.In(lower, unicode.L, unicode.N) {
			table[c] = byte(lower)
		}
	}
	return table
}()

// A Term is a sequence of words that must be found in one text.
type Term struct {
	Words  []byte // as Append makes them
	n      int    // how many there are
	prefix bool   // the last word may continue
}

// maxTerms is the number of terms that a search can have.
const maxTerms = 32

// Check returns an error unless a search can have so many terms.
func Check(terms int) error {
	switch {
	case terms == 0:
		return errors.New("contains no word")
	case terms > maxTerms:
		return fmt.Errorf("has %d words, more than %d", terms, maxTerms)
	}
	return nil
}

// Parse parses what a person searches for: words, phrases in double quotes,
// and prefixes that end in *. Words that are joined by other characters than
// spaces, such as a path, are a phrase.
func Parse(text string) (terms []Term) {
	for i, part := range strings.Split(text, `"`) {
		fields := []string{part}
		if i%2 == 0 {
			fields = strings.Fields(part)
		}
		for _, f := range fields {
			stem := strings.TrimRight(f, "*")
			words := Append(nil, stem)
			last, _ := utf8.DecodeLastRuneInString(stem) // which the star continues
			if len(words) > 0 {
				prefix := stem != f && unicode.In(last, letters...)
				terms = append(terms, Term{words, bytes.Count(words, []byte(" ")), prefix})
			}
		}
	}
	return terms
}

// In reports whether t is in a text, whose words Append made, with a space
// after them.
func (t Term) In(words []byte) bool {
	for rest := words; ; {
		i := bytes.Index(rest, t.Words)
		if i < 0 {
			return false
		}
		rest = rest[i+len(t.Words):]
		if t.prefix || len(rest) == 0 || rest[0] == ' ' {
			return true
		}
	}
}

// Query returns t as a phrase of a full-text query, and "". Words contain letters and
// digits only, none of which is an operator. If the last word may continue, it returns
// the phrase up to that word, and the word.
func (t Term) Query() (phrase, last string) {
	if !t.prefix {
		return `"` + string(t.Words[1:]) + `"`, ""
	}
	at := bytes.LastIndexByte(t.Words, ' ') + 1
	return `"` + string(t.Words[1:at]), string(t.Words[at:])
}

// Pieces splits a text into pieces: every second one is a match of a
// term, and shortens it to the surroundings of the first match.
func Pieces(text string, terms []Term) []string {
	const before, after = 60, 160 // bytes, about
	spans := matches(text, terms)
	from, to := 0, min(len(text), before+after)
	if len(spans) > 0 {
		from = max(0, spans[0][0]-before)
		to = min(len(text), max(spans[0][0]+after, spans[0][1]))
	}
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	list := []string{""}
	if from > 0 {
		list[0] = "…"
	}
	at := from
	for _, s := range spans {
		if s[0] < at || s[1] > to {
			continue
		}
		list[len(list)-1] += text[at:s[0]]
		list = append(list, text[s[0]:s[1]], "")
		at = s[1]
	}
	list[len(list)-1] += text[at:to]
	if to < len(text) {
		list[len(list)-1] += "…"
	}
	for i, p := range list {
		list[i] = strings.ToValidUTF8(p, "\uFFFD")
	}
	return list
}

// matches returns the parts of a text that are matches, in their order.
func matches(text string, terms []Term) (spans [][2]int) {
	var words []byte
	var at, in [][2]int // of each word: in words, and in text
	for end := 0; end < len(text); {
		n, start := len(words), 0
		if start, end, words = next(words, text, end); len(words) > n {
			at, in = append(at, [2]int{n, len(words)}), append(in, [2]int{start, end})
		}
	}
	for i := range at {
		for _, t := range terms {
			last := i + t.n - 1
			if last < len(at) && t.In(words[at[i][0]:at[last][1]]) && bytes.HasPrefix(words[at[i][0]:], t.Words) {
				spans = append(spans, [2]int{in[i][0], in[last][1]})
				break
			}
		}
	}
	return spans
}
