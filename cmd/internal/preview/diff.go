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
	switch {
	case bytes.Equal(from, to):
		p.Notes = []string{"the contents are equal"}
	case isBinary(from) || isBinary(to):
		p.Notes = []string{"the contents differ and are not text"}
	case len(from) > richSize || len(to) > richSize:
		p.Notes = []string{fmt.Sprintf("the contents differ; differences are shown up to %d KB", richSize>>10)}
	default:
		text := diff.Diff(printable.Line(fromName), from, printable.Line(toName), to)
		_, text, _ = bytes.Cut(text, []byte("\n")) // a command line that nobody ran
		p.HTML = diffLines(text, false)
	}
	return p
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
		fmt.Fprintf(&b, `<span class="%s" data-old="%s" data-new="%s">%s`+"\n</span>", class, old, now,
			escape(printable.Text([]byte(line))))
	}
	return pre("diff", b.String())
}

// count returns a number of the head of a hunk.
func count(digits string) int {
	n, _ := strconv.Atoi(digits) // the largest for more
	return n
}
