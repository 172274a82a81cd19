package cli

import (
	"fmt"
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// gap separates the columns of a table.
const gap = "  "

// minColumn is the width below which no column is shrunk.
const minColumn = 4

// Table prints a table on a terminal, and tab-separated cells elsewhere.
func (a *App) Table(head []string, rows [][]string) {
	for _, row := range rows {
		for i := range row {
			row[i] = OneLine(row[i])
		}
	}
	if !a.Terminal {
		for _, row := range rows {
			fmt.Fprintln(a.Out, strings.Join(row, "\t"))
		}
		return
	}
	if len(rows) == 0 {
		fmt.Fprintln(a.Out, "no results")
		return
	}
	widths := columnWidths(head, rows, a.Width)
	for i, row := range append([][]string{head}, rows...) {
		before, after := "", ""
		if i == 0 && a.Getenv("NO_COLOR") == "" {
			before, after = "\x1b[1m", "\x1b[0m"
		}
		for _, line := range tableLines(row, widths) {
			fmt.Fprintln(a.Out, before+line+after)
		}
	}
}

// columnWidths returns a width for each column: that of its widest cell. While
// the table is wider than total, its widest column is shrunk.
func columnWidths(head []string, rows [][]string, total int) []int {
	widths := make([]int, len(head))
	sum := len(gap) * (len(head) - 1)
	for _, row := range append([][]string{head}, rows...) {
		for i, cell := range row {
			w := min(displaywidth.String(cell), total)
			sum += max(w-widths[i], 0)
			widths[i] = max(w, widths[i])
		}
	}
	for ; sum > total; sum-- {
		widest := 0
		for i, w := range widths {
			if w > widths[widest] {
				widest = i
			}
		}
		if widths[widest] <= minColumn {
			break
		}
		widths[widest]--
	}
	return widths
}

// tableLines returns a row as the lines that it takes on a terminal, where long
// cells are wrapped.
func tableLines(row []string, widths []int) []string {
	cells, height := make([][]string, len(row)), 1
	for i, cell := range row {
		cells[i] = wrap(cell, widths[i])
		height = max(height, len(cells[i]))
	}
	lines := make([]string, height)
	for n := range lines {
		var b strings.Builder
		for i, cell := range cells {
			part := ""
			if n < len(cell) {
				part = cell[n]
			}
			b.WriteString(part)
			b.WriteString(strings.Repeat(" ", max(widths[i]-displaywidth.String(part), 0)))
			b.WriteString(gap)
		}
		lines[n] = strings.TrimRight(b.String(), " ")
	}
	return lines
}

// wrap breaks s into lines of at most width columns: after a space if there is
// one, otherwise between characters.
func wrap(s string, width int) []string {
	var lines []string
	for s != "" && displaywidth.String(s) > width {
		end, columns := 0, 0
		for g := displaywidth.StringGraphemes(s); g.Next(); {
			if columns += g.Width(); columns > width && end > 0 {
				break
			}
			end += len(g.Value())
		}
		if end < len(s) && s[end] != ' ' {
			if space := strings.LastIndexByte(s[:end], ' '); space > 0 {
				end = space
			}
		}
		lines = append(lines, strings.TrimRight(s[:end], " "))
		s = strings.TrimLeft(s[end:], " ")
	}
	return append(lines, s)
}
