package preview

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/agent-handoff/handoff/internal/tool/printable"
)

// Changes returns the differences between two texts. If one of them is not text or
// is too large, there is only a note. Names are those of the two, for the head.
func Changes(fromName string, from []byte, toName string, to []byte) Preview {
	p := Preview{Kind: Diff, Size: int64(len(to)), Previous: -1}
	text, note := unified(fromName, from, toName, to)
	if note != "" {
		p.Notes = []string{note}
		return p
	}
	p.HTML = diffLines(text, false)
	return p
}

// unified returns the differences between two texts as a unified diff, or a note why not.
func unified(fromName string, from []byte, toName string, to []byte) (text []byte, note string) {
	switch {
	case bytes.Equal(from, to):
		return nil, "the contents are equal"
	case isBinary(from) || isBinary(to):
		return nil, "the contents differ and are not text"
	case len(from) > richSize || len(to) > richSize:
		return nil, fmt.Sprintf("the contents differ; differences are shown up to %d KB", richSize>>10)
	}
	text = diff.Diff(printable.Line(fromName), from, printable.Line(toName), to)
	_, text, _ = bytes.Cut(text, []byte("\n")) // a command line that nobody ran
	return text, ""
}

// hunk matches the head of a hunk: where it begins in both texts, and how many lines of
// them it has.
var hunk = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@`)
})

// diffLines returns a unified diff with a class for each line, and the numbers of the
// lines in both texts. A part of a diff may begin inside a hunk: its numbers are not known.
func diffLines(text []byte, part bool) template.HTML {
	var b strings.Builder
	for _, l := range linesOfDiff(text, part) {
		fmt.Fprintf(&b, `<span class="%s" data-old="%s" data-new="%s">%s`+"\n</span>", l.Class, l.Old, l.New, l.HTML())
	}
	return pre("diff", b.String())
}

// linesOfDiff returns the lines of a unified diff, see diffLines.
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
		if strings.HasPrefix(line, "diff --git ") || left <= 0 && names {
			inside = false
		}
		switch at := hunk().FindStringSubmatch(line); {
		case at != nil:
			class, inside = "hunk", true
			from, to, left = count(at[1]), count(at[3]), count(cmp.Or(at[2], "1"))+count(cmp.Or(at[4], "1"))
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
