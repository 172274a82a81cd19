package preview

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/diff"
	"github.com/agent-handoff/handoff/internal/tool/printable"
)

// maxLines is how many lines of a text are returned.
const maxLines = 20_000

// A Line is a line of a text, or of the differences between two.
type Line struct {
	N        int    // in the text that is shown, from 1; 0 for one that it does not have
	Old, New string // its numbers in the two texts of a diff; a text that is none has New only
	Class    string // add, del, ctx, hunk or head, if it is of a diff
	Text     string // with control characters as escapes

	from, to int        // the part of Text that is marked
	file     *diff.File // that the line of a diff is about, nil for none
}

// Lines returns the lines of a text, those of a diff with their classes, or a note why there
// are none or not all.
func Lines(text []byte) (list []Line, note string) {
	switch {
	case isBinary(text):
		return nil, "the content is not text"
	case len(text) > richSize:
		return nil, fmt.Sprintf("lines are shown up to %d KB", richSize>>10)
	case len(text) == 0:
		return nil, "the file is empty"
	case isDiff(text, ""):
		list = linesOfDiff(text, false)
	default:
		for line := range strings.Lines(string(text)) {
			list = append(list, Line{Text: string(printable.Text([]byte(strings.TrimRight(line, "\r\n"))))})
		}
	}
	for i := range list {
		if list[i].N = i + 1; list[i].Class == "" {
			list[i].New = strconv.Itoa(i + 1)
		}
	}
	return shortened(list)
}

// ChangedLines returns the differences between two texts. N is the line of the second one.
func ChangedLines(from, to Version) (list []Line, note string) {
	text, note := unified(from, to)
	if note != "" {
		return nil, note
	}
	list = linesOfDiff(text, false)
	for i := range list {
		list[i].N, _ = strconv.Atoi(list[i].New)
	}
	return shortened(list)
}

func shortened(list []Line) ([]Line, string) {
	if left := len(list) - maxLines; left > 0 {
		return list[:maxLines], fmt.Sprintf("%d more lines", left)
	}
	return list, ""
}
