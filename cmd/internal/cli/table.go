package cli

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/cmd/internal/textfmt"

	"github.com/clipperhouse/displaywidth"
	"github.com/spf13/cobra"
)

// gap separates the columns of a table.
const gap = "  "

// minText is the width to which the cells of a text column may be cut.
const minText = 12

const ellipsis = "…"

// noResults is printed for an empty table, in a pipe on standard error.
const noResults = "no results"

// The attributes of text on a terminal.
const (
	bold   = "\x1b[1m"
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	plain  = "\x1b[0m"
)

// A Column is one column of a table. Its cells are shown complete or not at all,
// unless they are text.
type Column struct {
	Name string
	Rank int  // where the table is too wide, the highest rank is dropped first, and 0 never
	Text bool // free text, which may be cut
	Long bool // paths and the like: a cell that is too wide is on a line of its own
	More bool // shown only if --columns names it
	ID   bool // IDs of artifacts or sessions, short on a terminal

	Else string // the column whose cell replaces an empty one where that column does not fit

	Sparse bool                     // not drawn on a terminal if all its cells are empty
	Color  func(cell string) string // the attribute of a cell on a terminal, "" for none
}

// A Table prints the answers of a command that are lists. On a terminal it is a
// table that fits, as far as possible, into the window; elsewhere each row is a
// line of cells with tabs between them.
type Table struct {
	app     *App
	command *cobra.Command
	names   []string // --columns
	wide    bool
}

// NewTable gives a command the flags of lists: --columns, --wide and --fields. The
// columns are those of the tables that it prints.
func (a *App) NewTable(c *cobra.Command, columns ...[]Column) *Table {
	t := &Table{app: a, command: c}
	c.Flags().StringSliceVar(&t.names, "columns", nil, "show only these `columns`, separated by commas")
	c.Flags().BoolVar(&t.wide, "wide", false,
		"do not fit the table to the terminal: show all columns, full IDs and uncut text")
	c.Flags().StringSliceVar(&a.fields, "fields", nil,
		"with --json, print only these `fields` of each item, separated by commas")
	for _, name := range []string{"columns", "fields"} {
		c.Flags().MarkHidden(name) // of programs; docs/json.md has them
	}
	GroupFlags(c, outputFlags, "wide")
	var names []string
	for _, name := range columnNames(slices.Concat(columns...)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	c.RegisterFlagCompletionFunc("columns", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
	return t
}

// Given reports whether a flag of the table was given.
func (t *Table) Given() bool { return t.wide || t.command.Flags().Changed("columns") }

// Check returns the error of Print, for a command that prints more than the table.
func (t *Table) Check(columns []Column) error {
	_, err := t.choose(columns)
	return err
}

// Print prints rows, which have a cell for each column. Error kind: Invalid (a
// column that --columns names does not exist).
func (t *Table) Print(columns []Column, rows [][]string) error {
	chosen, err := t.choose(columns)
	if err != nil {
		return err
	}
	a := t.app
	if a.Terminal && len(t.names) == 0 {
		chosen = slices.DeleteFunc(chosen, func(c int) bool { return columns[c].Sparse && isEmpty(rows, c) })
	}
	rows = selectCells(rows, chosen)
	if !a.Terminal {
		for _, row := range rows {
			fmt.Fprintln(a.Out, strings.Join(row, "\t"))
		}
		if len(rows) == 0 {
			fmt.Fprintln(a.Err, noResults)
		}
		return nil
	}
	if len(rows) == 0 {
		fmt.Fprintln(a.Out, noResults)
		return nil
	}
	shown := make([]Column, len(chosen))
	for i, c := range chosen {
		shown[i] = columns[c]
		if len(t.names) > 0 {
			shown[i].Rank = 0
		}
		if shown[i].ID && !t.wide {
			shortenCells(rows, i)
		}
	}
	t.draw(shown, rows)
	return a.Flush() // so that what is printed about the table comes after it
}

// choose returns the indexes of the columns to print.
func (t *Table) choose(columns []Column) (chosen []int, err error) {
	names := t.names
	switch given := t.command.Flags().Changed("columns"); {
	case !given:
		for i, c := range columns {
			if !c.More {
				chosen = append(chosen, i)
			}
		}
		return chosen, nil
	case len(names) == 0:
		names = []string{""} // which the flag can't represent
	}
	for _, name := range names {
		i := slices.IndexFunc(columns, func(c Column) bool { return c.Name == name })
		if i < 0 {
			return nil, Invalid(op(t.command), "--columns", fmt.Sprintf("unknown column %q", name),
				"use "+strings.Join(columnNames(columns), ","))
		}
		chosen = append(chosen, i)
	}
	return chosen, nil
}

func columnNames(columns []Column) []string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	return names
}

// isEmpty reports whether all cells of a column are empty.
func isEmpty(rows [][]string, column int) bool {
	return !slices.ContainsFunc(rows, func(row []string) bool { return row[column] != "" })
}

// selectCells returns the chosen cells of each row, each on one line.
func selectCells(rows [][]string, chosen []int) [][]string {
	selected := make([][]string, len(rows))
	for i, row := range rows {
		for _, c := range chosen {
			selected[i] = append(selected[i], textfmt.OneLine(row[c]))
		}
	}
	return selected
}

// shortenCells replaces the IDs in a column with short ones.
func shortenCells(rows [][]string, column int) {
	ids := make([]string, len(rows))
	for i, row := range rows {
		ids[i] = row[column]
	}
	for i, short := range shortIDs(ids) {
		rows[i][column] = short
	}
}

// draw prints a table on a terminal.
func (t *Table) draw(columns []Column, rows [][]string) {
	a := t.app
	head := columnNames(columns)
	total := a.Width
	if t.wide {
		total = math.MaxInt
	}
	shown, widths := layout(columns, append([][]string{head}, rows...), total)
	if fill(columns, rows, shown) {
		shown, widths = layout(columns, append([][]string{head}, rows...), total)
	}
	inColor := a.Getenv("NO_COLOR") == ""
	for _, title := range tableLines(columns, head, shown, widths, total, false) {
		if inColor {
			title = bold + title + plain
		}
		fmt.Fprintln(a.Out, title)
	}
	for _, row := range rows {
		for _, line := range tableLines(columns, row, shown, widths, total, inColor) {
			fmt.Fprintln(a.Out, line)
		}
	}
	if len(shown) == len(columns) {
		return
	}
	var dropped []string
	for i, name := range head {
		if !slices.Contains(shown, i) {
			dropped = append(dropped, name)
		}
	}
	fmt.Fprintf(a.Err, "columns not shown: %s; --wide shows all\n", strings.Join(dropped, ", "))
}

// fill replaces empty cells of columns by those of columns that are not shown.
func fill(columns []Column, rows [][]string, shown []int) (filled bool) {
	for _, c := range shown {
		other := slices.IndexFunc(columns, func(o Column) bool { return o.Name == columns[c].Else })
		if columns[c].Else == "" || other < 0 || slices.Contains(shown, other) {
			continue
		}
		for _, row := range rows {
			if row[c] == "" {
				row[c], filled = row[other], true
			}
		}
	}
	return filled
}

// layout returns the indexes of the columns that fit into total, and the width of
// each column. If the table is too wide, long cells get lines of their own, and
// columns are dropped in the order of their ranks until the others fit with their
// texts cut. Columns of rank 0 are kept even if they don't fit into one line.
func layout(columns []Column, rows [][]string, total int) (shown, widths []int) {
	natural := make([]int, len(columns))
	for i := range columns {
		shown = append(shown, i)
		natural[i] = widest(rows, i, math.MaxInt)
	}
	if tableWidth(shown, natural) <= total {
		return shown, natural
	}
	widths = slices.Clone(natural)
	for i, c := range columns {
		switch {
		case c.Long:
			widths[i] = widest(rows, i, max(2*total/5, displaywidth.String(c.Name)))
		case c.Text:
			widths[i] = min(natural[i], minText)
		}
	}
	for tableWidth(shown, widths) > total {
		drop := 0
		for i, c := range shown {
			if columns[c].Rank > columns[shown[drop]].Rank {
				drop = i
			}
		}
		if columns[shown[drop]].Rank == 0 {
			break
		}
		shown = slices.Delete(shown, drop, drop+1)
	}
	for left := total - tableWidth(shown, widths); left > 0; left-- { // goes to the narrowest text that is cut
		grow := -1
		for _, c := range shown {
			if columns[c].Text && widths[c] < natural[c] && (grow < 0 || widths[c] < widths[grow]) {
				grow = c
			}
		}
		if grow < 0 {
			break
		}
		widths[grow]++
	}
	return shown, widths
}

// widest returns the width of the widest cell of a column that is not wider than
// limit.
func widest(rows [][]string, column, limit int) (width int) {
	for _, row := range rows {
		if w := displaywidth.String(row[column]); w <= limit {
			width = max(width, w)
		}
	}
	return width
}

// tableWidth returns the width of a table of the columns shown.
func tableWidth(shown, widths []int) int {
	total := len(gap) * (len(shown) - 1)
	for _, c := range shown {
		total += widths[c]
	}
	return total
}

// cutLeft returns the end of a text if it is wider than width: of a path, the name.
func cutLeft(text string, width int) string {
	if displaywidth.String(text) <= width {
		return text
	}
	runes := []rune(text)
	for len(runes) > 0 && displaywidth.String(ellipsis+string(runes)) > width {
		runes = runes[1:]
	}
	return ellipsis + string(runes)
}

// tableLines returns a row as a line, with its texts cut, and a line for each long
// cell that is too wide. A cell that does not fit into the line begins another one.
func tableLines(columns []Column, row []string, shown, widths []int, total int, inColor bool) []string {
	var lines, long []string
	var b strings.Builder
	at := 0
	for _, c := range shown {
		cell, width := row[c], widths[c]
		if at > len(gap) && width > total-at {
			lines = append(lines, strings.TrimRight(b.String(), " "))
			b.Reset()
			b.WriteString(gap)
			if at = len(gap); columns[c].Text {
				width = max(width, total-at)
			}
		}
		switch {
		case displaywidth.String(cell) <= width:
		case columns[c].Text:
			cell = displaywidth.TruncateString(cell, width, ellipsis)
		case columns[c].Long:
			long = append(long, gap+cutLeft(cell, total-len(gap)))
			cell = ""
		}
		padding := strings.Repeat(" ", max(width-displaywidth.String(cell), 0)) + gap
		at += width + len(gap)
		if color := columns[c].Color; inColor && color != nil && color(row[c]) != "" {
			cell = color(row[c]) + cell + plain
		}
		b.WriteString(cell)
		b.WriteString(padding)
	}
	return append(append(lines, strings.TrimRight(b.String(), " ")), long...)
}
