package reviews

import (
	"errors"
	"fmt"
	"iter"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/diff"
)

// patchLines returns the lines of the hunks of a unified diff that are about a file.
func patchLines(content, file string) iter.Seq[diff.Line] {
	return func(yield func(diff.Line) bool) {
		for l := range diff.Lines(content, false) {
			about := l.File != nil && (l.File.Old == file || l.File.New == file)
			if about && l.Old+l.New > 0 && l.Kind != diff.Hunk && !yield(l) {
				return
			}
		}
	}
}

// numberOn returns the number of a line on a side, 0 if it is not there.
func numberOn(side string, l diff.Line) int {
	if side == handoff.SideOld {
		return l.Old
	}
	return l.New
}

// sideSpan returns which bytes of a patch have lines of one side of a file.
func sideSpan(content, file, side string, firstLine, lastLine int) (start, end int, err error) {
	start, found := -1, 0
	for l := range patchLines(content, file) {
		n := numberOn(side, l)
		if n < firstLine || n > lastLine {
			continue
		}
		if start < 0 {
			start = l.Start
		}
		end, found = l.End, found+1
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
	for l := range patchLines(content, file) {
		if n := numberOn(side, l); n > 0 && l.Start >= start && l.Start <= end {
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
