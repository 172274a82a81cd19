package preview

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/diff"

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
	for n := 0; len(text) > 0; n++ {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		if text = rest; n < 2 || len(line) == 0 { // the head
			continue
		}
		switch line[0] {
		case '+':
			added++
		case '-':
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
	text = diff.Diff(printable.Line(a.Title), a.Text, printable.Line(b.Title), b.Text)
	_, text, _ = bytes.Cut(text, []byte("\n")) // a command line that nobody ran
	return text, ""
}

// hunk matches the head of a hunk: where it begins in both texts, and how many lines of
// them it has.
var hunk = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@`)
})

// linesOfDiff returns the lines of a unified diff with a class for each, and their numbers in
// both texts. A part of a diff may begin inside a hunk: its numbers are not known.
func linesOfDiff(text []byte, part bool) (list []Line) {
	from, to, left, inside := 0, 0, 0, part // left are the lines that the hunk still has
	number := func(next *int) string {
		if left--; *next == 0 {
			return ""
		}
		*next++
		return strconv.Itoa(*next - 1)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	for i, line := range lines {
		class, old, now := "head", "", ""
		names := strings.HasPrefix(line, "--- ") && strings.HasPrefix(lines[min(i+1, len(lines)-1)], "+++ ")
		if strings.HasPrefix(line, "diff --git ") || left <= 0 && (names || strings.HasPrefix(line, "Index: ")) {
			inside = false
		}
		switch at := hunk().FindStringSubmatch(line); {
		case at != nil:
			class, inside = "hunk", true
			from, to, left = count(at[1]), count(at[3]), count(cmp.Or(at[2], "1"))+count(cmp.Or(at[4], "1"))
		case inside && left <= 0 && line == "-- ": // of an e-mail
			inside = false
		case !inside || strings.HasPrefix(line, `\`):
		case strings.HasPrefix(line, "+"):
			class, now = "add", number(&to)
		case strings.HasPrefix(line, "-"):
			class, old = "del", number(&from)
		default:
			class, old, now = "ctx", number(&from), number(&to)
		}
		list = append(list, Line{Class: class, Old: old, New: now, Text: string(printable.Text([]byte(line)))})
	}
	markWords(list)
	return list
}

// count returns a number of the head of a hunk.
func count(digits string) int {
	n, _ := strconv.Atoi(digits) // the largest for more
	return n
}
