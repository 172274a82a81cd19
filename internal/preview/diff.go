package preview

import (
	"bytes"
	"fmt"
	"html/template"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/agent-handoff/handoff/internal/printable"
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
		p.HTML = diffLines(text)
	}
	return p
}

// hunk reads the first lines of a hunk's head: @@ -12,3 +14,4 @@.
func hunk(line string) (from, to int, ok bool) {
	var rest string
	if _, err := fmt.Sscanf(line, "@@ -%d%s", &from, &rest); err != nil {
		return 0, 0, false
	}
	_, after, found := strings.Cut(line, " +")
	if _, err := fmt.Sscanf(after, "%d", &to); err != nil {
		return 0, 0, false
	}
	return from, to, found
}

// diffLines returns a unified diff with a class for each line, and the numbers of
// the lines in both texts.
func diffLines(text []byte) template.HTML {
	var b strings.Builder
	from, to, inside := 0, 0, false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		class, old, now := "ctx", "", ""
		if a, z, ok := hunk(line); ok {
			from, to, inside, class = a, z, true, "hunk"
		} else if strings.HasPrefix(line, "diff --git ") || !inside {
			class, inside = "head", false
		} else {
			switch {
			case strings.HasPrefix(line, "+"):
				class, now = "add", fmt.Sprint(to)
				to++
			case strings.HasPrefix(line, "-"):
				class, old = "del", fmt.Sprint(from)
				from++
			case strings.HasPrefix(line, `\`):
				class = "head"
			default:
				old, now = fmt.Sprint(from), fmt.Sprint(to)
				from, to = from+1, to+1
			}
		}
		fmt.Fprintf(&b, `<span class="%s" data-old="%s" data-new="%s">%s`+"\n</span>", class, old, now, escape(printable.Text([]byte(line))))
	}
	return pre("diff", b.String())
}
