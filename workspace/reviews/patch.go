package reviews

import (
	"errors"
	"fmt"
	"strings"

	"github.com/agent-handoff/handoff"
)

// A patchLine is a line of a hunk of a patch: its number on each side, 0 where it is not,
// and its bytes in the patch, with the mark and without the line end.
type patchLine struct {
	old, new   int
	start, end int
}

// number returns the number of the line on a side.
func (l patchLine) number(side string) int {
	if side == handoff.SideOld {
		return l.old
	}
	return l.new
}

// patchLines returns the lines of the hunks of a unified diff that are about a file.
// Without a file, all are. What is no hunk is skipped.
func patchLines(content, file string) (list []patchLine) {
	names := map[string]bool{file: true, "a/" + file: true, "b/" + file: true}
	about := file == ""
	var old, new, oldLeft, newLeft, at int
	for line := range strings.Lines(content) {
		start, text := at, strings.TrimRight(line, "\r\n")
		at += len(line)
		if oldLeft > 0 || newLeft > 0 {
			l := patchLine{start: start, end: start + len(strings.TrimSuffix(line, "\n"))}
			mark := byte(' ')
			if text != "" {
				mark = text[0]
			}
			switch mark {
			case '\\': // no newline at the end of the file
				continue
			case '-', '+', ' ':
			default:
				oldLeft, newLeft = 0, 0
				continue
			}
			if mark != '+' {
				l.old, old, oldLeft = old, old+1, oldLeft-1
			}
			if mark != '-' {
				l.new, new, newLeft = new, new+1, newLeft-1
			}
			if about {
				list = append(list, l)
			}
			continue
		}
		switch {
		case file == "":
		case strings.HasPrefix(text, "diff "):
			about = false
		case strings.HasPrefix(text, "--- "), strings.HasPrefix(text, "+++ "):
			name, _, _ := strings.Cut(text[4:], "\t")
			about = names[name] || about && text[0] == '+'
		}
		old, oldLeft, new, newLeft = hunk(text)
	}
	return list
}

// hunk parses the first line of a hunk. Of another line it returns zeros.
func hunk(text string) (old, oldCount, new, newCount int) {
	header, ok := strings.CutPrefix(text, "@@ -")
	if !ok {
		return 0, 0, 0, 0
	}
	header, _, ok = strings.Cut(header, " @@")
	before, after, found := strings.Cut(header, " +")
	old, oldCount, okOld := hunkRange(before)
	new, newCount, okNew := hunkRange(after)
	if !ok || !found || !okOld || !okNew {
		return 0, 0, 0, 0
	}
	return old, oldCount, new, newCount
}

func hunkRange(text string) (first, count int, ok bool) {
	count = 1
	if strings.Contains(text, ",") {
		n, err := fmt.Sscanf(text, "%d,%d", &first, &count)
		return first, count, err == nil && n == 2 && first >= 0 && count >= 0
	}
	n, err := fmt.Sscanf(text, "%d", &first)
	return first, count, err == nil && n == 1 && first >= 0
}

// sideSpan returns which bytes of a patch have lines of one side of a file.
func sideSpan(content, file, side string, firstLine, lastLine int) (start, end int, err error) {
	start, found := -1, 0
	for _, l := range patchLines(content, file) {
		n := l.number(side)
		if n < firstLine || n > lastLine {
			continue
		}
		if start < 0 {
			start = l.start
		}
		end, found = l.end, found+1
	}
	if found != lastLine-firstLine+1 {
		return 0, 0, handoff.E("review", file, handoff.NotFound,
			fmt.Errorf("the patch does not have these lines of the %s side", side),
			handoff.Advice("name lines that the patch shows"))
	}
	return start, end, nil
}

// sidePlace returns the place of bytes of a patch as lines of one side of a file.
func sidePlace(content, file, side string, start, end int) (handoff.Place, bool) {
	where := newPlace(content, file, start, end)
	where.Side, where.FirstLine, where.LastLine = side, 0, 0
	for _, l := range patchLines(content, file) {
		if n := l.number(side); n > 0 && l.start >= start && l.start <= end {
			if where.FirstLine == 0 {
				where.FirstLine = n
			}
			where.LastLine = n
		}
	}
	return where, where.FirstLine > 0
}

// placeOnSide returns where lines of one side of a patch are.
func (d Reviews) placeOnSide(content string, r Draft) (where handoff.Place, err error) {
	if r.Side != handoff.SideOld && r.Side != handoff.SideNew || r.Path == "" || r.Lines == "" {
		return where, handoff.E("review", r.Side, handoff.Invalid,
			errors.New("a side is old or new, and needs a path and lines"),
			handoff.Advice("name the file that the patch changes"))
	}
	firstLine, lastLine, err := parseLines(r.Lines)
	if err != nil {
		return where, err
	}
	start, end, err := sideSpan(content, r.Path, r.Side, firstLine, lastLine)
	if err != nil {
		return where, err
	}
	where, _ = sidePlace(content, r.Path, r.Side, start, end)
	return where, nil
}
