package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"charm.land/lipgloss/v2"
	"charm.land/lipgloss/v2/table"
	"github.com/agent-handoff/handoff"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

func terminalWidth(f *os.File) int {
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
		return width
	}
	return 80
}

// json prints v, indented.
func (a *app) json(v any) error {
	enc := json.NewEncoder(a.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// jsonLine prints v on one line.
func (a *app) jsonLine(v any) error {
	enc := json.NewEncoder(a.out)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// flush sends on what was printed, for a reader who follows.
func (a *app) flush() error {
	if b, ok := a.out.(*bufio.Writer); ok {
		return b.Flush()
	}
	return nil
}

// event is the line that tells of a publish. What is unknown is left out.
func event(art handoff.Artifact) string {
	line := "artifact:publish  " + oneLine(art.Path) + "  channel=" + art.Channel
	for _, slot := range []string{"task", "run", "agent"} {
		if v := art.Producer.Slot(slot); v != "" {
			line += " " + slot + "=" + oneLine(v)
		}
	}
	return line + " id=" + art.ID
}

// table prints artifacts, a line each.
func (a *app) table(list []handoff.Artifact, status bool) {
	head := []string{"id", "channel", "by", "path", "title", "age"}
	if status {
		head = append(head, "status")
	}
	rows := make([][]string, len(list))
	for i, art := range list {
		by := art.Producer.Agent
		if by == "" {
			by = art.Producer.Harness
		}
		mark := ""
		if len(art.Competing) > 0 {
			mark = fmt.Sprintf(" (competes with %d)", len(art.Competing))
		}
		if art.Target == handoff.Missing || art.Target == handoff.Modified {
			mark += " (" + string(art.Target) + ")"
		}
		rows[i] = []string{art.ID, art.Channel, by, art.Path, art.Title + mark, a.age(art.CreatedAt)}
		if status {
			rows[i] = append(rows[i], string(art.Status))
		}
	}
	a.rows(head, rows)
}

// rows prints a table on a terminal, and lines of cells with tabs between them
// elsewhere.
func (a *app) rows(head []string, rows [][]string) {
	for _, row := range rows {
		for i := range row {
			row[i] = oneLine(row[i])
		}
	}
	if !a.terminal {
		for _, row := range rows {
			fmt.Fprintln(a.out, strings.Join(row, "\t"))
		}
		return
	}
	if len(rows) == 0 {
		fmt.Fprintln(a.out, "nothing here")
		return
	}
	header := lipgloss.NewStyle()
	if a.getenv("NO_COLOR") == "" {
		header = header.Bold(true)
	}
	t := table.New().Headers(head...).Rows(rows...).Width(a.width).
		Border(lipgloss.HiddenBorder()).BorderTop(false).BorderBottom(false).BorderLeft(false).BorderRight(false).BorderHeader(false).
		StyleFunc(func(row, _ int) lipgloss.Style {
			if row == table.HeaderRow {
				return header
			}
			return lipgloss.NewStyle()
		})
	fmt.Fprintln(a.out, t)
}

// age says how long ago something was.
func (a *app) age(t time.Time) string {
	d := a.now().Sub(t)
	switch {
	case d < time.Second:
		return "now"
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + "s"
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes())) + "m"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d.Hours())) + "h"
	}
	return strconv.Itoa(int(d.Hours()/24)) + "d"
}

func stamp(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05 MST") }

// size is a number of bytes as people read it.
func size(n int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	value, unit := float64(n), 0
	for value >= 1024 && unit < len(units)-1 {
		value /= 1024
		unit++
	}
	if unit == 0 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%.1f %s", value, units[unit])
}

// oneLine keeps what is printed on its line, and drops what a terminal could
// take for a command.
func oneLine(s string) string {
	s = strings.ReplaceAll(s, "\n", " ")
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u202e' || r == '\u2066' || r == '\u2067' {
			return -1
		}
		return r
	}, s)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// completeChannels offers the channels in use, and those that are explained.
func (a *app) completeChannels(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	var names []string
	w, err := a.open()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer w.Close()
	page, _ := w.Artifacts(c.Context(), handoff.ArtifactQuery{})
	count := map[string]int{}
	for _, art := range page.Artifacts {
		count[art.Channel]++
	}
	for _, known := range w.Config.Purposes() {
		names = append(names, known[0]+"\t"+known[1])
		delete(count, known[0])
	}
	for _, name := range sortedKeys(count) {
		names = append(names, fmt.Sprintf("%s\t%d artifacts", name, count[name]))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeRefs offers the newest artifacts.
func (a *app) completeRefs(c *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	w, err := a.open()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer w.Close()
	page, _ := w.Artifacts(c.Context(), handoff.ArtifactQuery{Limit: 30})
	var ids []string
	for _, art := range page.Artifacts {
		if strings.HasPrefix(art.ID, begun) {
			ids = append(ids, art.ID+"\t"+oneLine(art.Label()))
		}
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}
