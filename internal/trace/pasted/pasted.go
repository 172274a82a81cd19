// Package pasted finds the text of bodies in prompts.
//
// Text is pasted if lines that follow one another in a prompt follow one another in a
// body. Lines are compared byte for byte, without their ends, so text that was
// shortened, quoted or indented is not found. Lines without a letter or digit are common
// to most texts, so they do not count towards the least that is found.
package pasted

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/agent-handoff/handoff/internal/tool/order"
)

// What is found has at least so many lines with a letter or digit, or is a complete
// body, and these lines have at least so many bytes.
const (
	minLines = 3
	minBytes = 100
)

// MaxPrompt is how many bytes of a prompt are compared, from its beginning.
const MaxPrompt = 1 << 20

// The limits of an Index.
const (
	MaxText  = 16 << 20 // bytes of all bodies
	MaxLines = 1 << 19  // of all bodies
	maxSame  = 64       // bodies that are found by the same lines
)

// A window has the numbers of lines that follow one another in a body: of three lines,
// or of all lines of a shorter body.
type window [minLines]uint32

// An Index has the lines of bodies. The zero Index has none.
type Index struct {
	bytes   int
	total   int
	bodies  []int             // number of lines
	lines   map[string]uint32 // numbers, from 1
	windows map[window][]int  // bodies, in order
}

// Add adds a body and returns its number, from 0. It returns false if the index would
// exceed its limits: then it is unchanged.
func (x *Index) Add(text string) (body int, ok bool) {
	count := strings.Count(text, "\n") + 1
	if x.bytes+len(text) > MaxText || x.total+count > MaxLines {
		return 0, false
	}
	if x.lines == nil {
		x.lines, x.windows = map[string]uint32{}, map[window][]int{}
	}
	x.bytes, x.total = x.bytes+len(text), x.total+count
	lines := split(text)
	for i, l := range lines {
		number, known := x.lines[l.text]
		if !known {
			number = uint32(len(x.lines) + 1)
			x.lines[l.text] = number
		}
		lines[i].number = number
	}
	body = len(x.bodies)
	x.bodies = append(x.bodies, len(lines))
	for i := 0; i+minLines <= max(len(lines), minLines) && len(lines) > 0; i++ {
		w := windowOf(lines[i:min(i+minLines, len(lines))])
		if list := x.windows[w]; len(list) < maxSame && !slices.Contains(list, body) {
			x.windows[w] = append(list, body)
		}
	}
	return body, true
}

// A Span is pasted text of a prompt: the bytes from Start to End.
type Span struct {
	Body       int
	Start, End int
}

// Find returns what of a prompt is pasted, in order, from bodies of which may reports
// true. No byte is in two spans: a line that several bodies have belongs to the longest
// run of lines with it, and then to the body that was added first.
func (x *Index) Find(prompt string, may func(body int) bool) []Span {
	lines := split(prompt[:min(len(prompt), MaxPrompt)])
	for i, l := range lines {
		lines[i].number = x.lines[l.text]
	}
	runs := x.runs(lines, may)
	size := func(r run) int { return lines[r.end-1].end - lines[r.start].start }
	order.Sort(runs, func(a, b run) int {
		return cmp.Or(cmp.Compare(size(b), size(a)), cmp.Compare(a.body, b.body), cmp.Compare(a.start, b.start))
	})
	owners := make([]int, len(lines)) // number of the body + 1
	for _, r := range runs {
		for i := r.start; i < r.end; i++ {
			owners[i] = cmp.Or(owners[i], r.body+1)
		}
	}
	var spans []Span
	for i, owner := range owners {
		switch {
		case owner == 0:
		case i > 0 && owners[i-1] == owner:
			spans[len(spans)-1].End = lines[i].end
		default:
			spans = append(spans, Span{owner - 1, lines[i].start, lines[i].end})
		}
	}
	return spans
}

// A run is lines that follow one another in a prompt and, three by three, in a body.
type run struct{ body, start, end int }

// runs returns the runs that are long enough, the longest for each body and start.
func (x *Index) runs(lines []line, may func(body int) bool) (list []run) {
	open := map[int]run{} // the last of each body
	done := func(r run) {
		if x.enough(r, lines[r.start:r.end]) {
			list = append(list, r)
		}
	}
	for i := range lines {
		for size := 1; size <= min(minLines, len(lines)-i) && lines[i+size-1].number > 0; size++ {
			for _, body := range x.windows[windowOf(lines[i:i+size])] {
				if !may(body) {
					continue
				}
				r, ok := open[body]
				if ok && size == minLines && r.end == i+size-1 {
					r.end++
				} else {
					if ok {
						done(r)
					}
					r = run{body, i, i + size}
				}
				open[body] = r
			}
		}
	}
	for _, r := range open {
		done(r)
	}
	return list
}

// enough reports whether a run is found.
func (x *Index) enough(r run, lines []line) bool {
	count, bytes := 0, 0
	for _, l := range lines {
		if strings.ContainsFunc(l.text, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }) {
			count, bytes = count+1, bytes+len(l.text)
		}
	}
	return bytes >= minBytes && (count >= minLines || len(lines) >= x.bodies[r.body])
}

// A line is a line of a text, which is between start and end there.
type line struct {
	text       string // without its end
	number     uint32 // 0 if no body has it
	start, end int
}

func split(text string) (lines []line) {
	at := 0
	for l := range strings.Lines(text) {
		lines = append(lines, line{strings.TrimSuffix(strings.TrimSuffix(l, "\n"), "\r"), 0, at, at + len(l)})
		at += len(l)
	}
	return lines
}

func windowOf(lines []line) (w window) {
	for i, l := range lines {
		w[i] = l.number
	}
	return w
}
