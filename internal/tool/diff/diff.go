// Package diff reads unified diffs, as diff -u, git and Subversion write them. A text around
// them, such as the message of an e-mail, is the head of a file.
//
// A line belongs to a hunk until the hunk has as many lines as its head announces, and after
// that until a head follows: programs that write patches by hand miscount.
package diff

import (
	"cmp"
	"iter"
	"strconv"
	"strings"
)

// A Kind is what a line is.
type Kind byte

// The kinds of lines.
const (
	Head    Kind = iota // of a file, or outside of hunks
	Hunk                // the head of a hunk
	Context             // in both texts
	Removed             // in the old text
	Added               // in the new text
	Note                // about the line before: \ No newline at end of file
)

// A Line is a line of a diff.
type Line struct {
	Kind       Kind
	File       *File // that it is about; nil before the first. Its names are complete at its first hunk
	Old, New   int   // its number in each text, 0 where it is not, or not known; of a Hunk, those of the next lines
	Start, End int   // its bytes, without the line end
}

// A File is what the head of a file names. A name is "" for a file that is not there.
type File struct {
	Old, New string
	git      bool // the names have the prefixes a/ and b/
}

// Name returns the name of the new version, or of the old one if there is no other.
func (f *File) Name() string { return cmp.Or(f.New, f.Old) }

// A reader is the state between two lines.
type reader struct {
	file     *File
	old, new int  // the numbers of the next lines, 0 if they are not known
	left     int  // lines that the hunk still has
	inHunk   bool // also after those that it announced
	inHead   bool // of a file, before its first hunk
}

// Lines returns the lines of a text. A part of a diff may begin inside a hunk, whose numbers are not
// known then.
func Lines(text string, part bool) iter.Seq[Line] {
	return func(yield func(Line) bool) {
		r := reader{inHunk: part}
		for at := 0; at < len(text); {
			line, rest, _ := strings.Cut(text[at:], "\n")
			l := r.read(line, rest)
			l.Start, l.End = at, at+len(line)
			if !yield(l) {
				return
			}
			at += len(line) + 1
		}
	}
}

// read reads a line. rest is what follows it.
func (r *reader) read(line, rest string) Line {
	r.begin(line, rest)
	if r.hunk(line) {
		return Line{Kind: Hunk, File: r.file, Old: r.old, New: r.new}
	}
	if r.inHunk && r.left <= 0 && strings.TrimSuffix(line, "\r") == "-- " { // of an e-mail
		r.inHunk = false
	}
	l := Line{File: r.file}
	switch {
	case !r.inHunk:
		r.name(line)
	case strings.HasPrefix(line, `\`):
		l.Kind = Note
	case strings.HasPrefix(line, "+"):
		l.Kind, l.New = Added, r.next(&r.new)
	case strings.HasPrefix(line, "-"):
		l.Kind, l.Old = Removed, r.next(&r.old)
	default:
		l.Kind = Context
		l.Old, l.New = r.next(&r.old), r.next(&r.new)
	}
	return l
}

// begin notices that a line is the first one about a file.
func (r *reader) begin(line, rest string) {
	git := strings.HasPrefix(line, "diff --git ")
	names := strings.HasPrefix(line, "--- ") && strings.HasPrefix(rest, "+++ ")
	outside := r.left <= 0 && (names || strings.HasPrefix(line, "Index: "))
	if !git && !outside {
		return
	}
	r.inHunk = false
	if names && r.inHead {
		return
	}
	r.file, r.inHead = &File{git: git}, true
	r.left = 0
	if names {
		before, _, _ := strings.Cut(line[len("--- "):], "\t")
		after, _, _ := strings.Cut(rest[len("+++ "):], "\n")
		after, _, _ = strings.Cut(after, "\t")
		r.file.git = hasPrefix(before, "a/") && hasPrefix(after, "b/")
	}
}

// hasPrefix reports whether a name has a prefix of git, or there is no file.
func hasPrefix(name, prefix string) bool {
	return strings.HasPrefix(strings.TrimPrefix(name, `"`), prefix) || strings.TrimSuffix(name, "\r") == "/dev/null"
}

// name reads the names that a line of a head has.
func (r *reader) name(line string) {
	if !r.inHead {
		return
	}
	key, rest, _ := strings.Cut(line, " ")
	name, _, _ := strings.Cut(strings.TrimSuffix(rest, "\r"), "\t")
	switch key {
	case "diff":
		from, to, ok := strings.Cut(name, " b/")
		if _, from, _ = strings.Cut(from, " a/"); ok {
			r.file.Old, r.file.New = from, to
		}
	case "Index:":
		r.file.Old, r.file.New = name, name
	case "---":
		r.file.Old = r.file.plain(name, "a/")
	case "+++":
		r.file.New = r.file.plain(name, "b/")
	}
}

// plain returns the name without quotes and prefix.
func (f *File) plain(name, prefix string) string {
	if quoted, err := strconv.Unquote(name); err == nil {
		name = quoted
	}
	if name == "/dev/null" {
		return ""
	}
	if f.git {
		name = strings.TrimPrefix(name, prefix)
	}
	return name
}

// next returns the number of a line, and counts it.
func (r *reader) next(number *int) int {
	r.left--
	if *number == 0 {
		return 0
	}
	*number++
	return *number - 1
}

// hunk reads the head of a hunk: where it begins in both texts, and how many lines of them it has.
func (r *reader) hunk(line string) bool {
	ranges, found := strings.CutPrefix(line, "@@ -")
	ranges, _, closed := strings.Cut(ranges, " @@")
	before, after, both := strings.Cut(ranges, " +")
	from, fromCount, fromOK := hunkRange(before)
	to, toCount, toOK := hunkRange(after)
	if !found || !closed || !both || !fromOK || !toOK {
		return false
	}
	*r = reader{file: r.file, old: from, new: to, left: fromCount + toCount, inHunk: true}
	return true
}

// hunkRange returns the number of the first line of a hunk in one of the texts, and how many it has.
func hunkRange(text string) (from, n int, ok bool) {
	first, count, _ := strings.Cut(text, ",")
	from, err := strconv.Atoi(first)
	n, other := strconv.Atoi(cmp.Or(count, "1"))
	if n == 0 { // the head has the line before
		from++
	}
	return from, n, err == nil && other == nil && from >= 0 && n >= 0
}
