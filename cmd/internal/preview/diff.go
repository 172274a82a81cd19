package preview

import (
	"bytes"
	"fmt"
	"strconv"

	compare "github.com/rogpeppe/go-internal/diff"

	"github.com/agent-handoff/handoff/internal/tool/diff"
	"github.com/agent-handoff/handoff/internal/tool/printable"
)

// A Version is one of two texts that are compared.
type Version struct {
	Title string // for the head
	Name  string // of its file
	URL   string // where a page finds the text, "" for nowhere
	Text  []byte
}

// Changes returns the differences between two texts. If one of them is not text or
// is too large, there is only a note.
func Changes(from, to Version, o Layout) Preview {
	p := Preview{Kind: Diff, Size: int64(len(to.Text)), Previous: -1}
	text, note := unified(from, to)
	if note != "" {
		p.Notes = []string{note}
		return p
	}
	o.Texts = TextsOf(from, to)
	p.diff(linesOfDiff(text, false), to.Name, o)
	return p
}

// Counts returns how many lines the differences between two texts add and remove. ok is false if
// one of them is not text or is too large.
func Counts(from, to []byte) (added, removed int, ok bool) {
	text, note := unified(Version{Text: from}, Version{Text: to})
	for l := range diff.Lines(string(text), false) {
		switch l.Kind {
		case diff.Added:
			added++
		case diff.Removed:
			removed++
		}
	}
	return added, removed, note == "" || bytes.Equal(from, to)
}

// unified returns the differences between two texts as a unified diff, or a note why not.
func unified(a, b Version) (text []byte, note string) {
	switch from, to := a.Text, b.Text; {
	case bytes.Equal(from, to):
		return nil, "the contents are equal"
	case isBinary(from) || isBinary(to):
		return nil, "the contents differ and are not text"
	case len(from) > richSize || len(to) > richSize:
		return nil, fmt.Sprintf("the contents differ; differences are shown up to %d KB", richSize>>10)
	}
	text = compare.Diff(printable.Line(a.Title), a.Text, printable.Line(b.Title), b.Text)
	_, text, _ = bytes.Cut(text, []byte("\n")) // a command line that nobody ran
	return text, ""
}

// linesOfDiff returns the lines of a unified diff with a class for each, and their numbers in
// both texts. A part of a diff may begin inside a hunk: its numbers are not known.
func linesOfDiff(text []byte, part bool) (list []Line) {
	content := string(text)
	for l := range diff.Lines(content, part) {
		line := Line{Class: classes[l.Kind], file: l.File, Text: string(printable.Text(text[l.Start:l.End]))}
		if l.Kind != diff.Hunk {
			line.Old, line.New = number(l.Old), number(l.New)
		}
		list = append(list, line)
	}
	markWords(list)
	return list
}

// classes are the classes of the kinds of lines.
var classes = [...]string{diff.Head: "head", diff.Hunk: "hunk", diff.Context: "ctx", diff.Removed: "del", diff.Added: "add",
	diff.Note: "head"}

// number returns the number of a line, "" for none.
func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}
