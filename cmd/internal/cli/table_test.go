package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/cmd/internal/textfmt"

	"github.com/clipperhouse/displaywidth"
	"github.com/spf13/cobra"
)

var testColumns = []Column{{Name: "id"}, {Name: "title", Rank: 1, Text: true}, {Name: "agent", Rank: 2},
	{Name: "kind", More: true}}

func testRows() [][]string {
	return [][]string{
		{"art_1", "Retry twice, then give up", "ada", "report"},
		{"art_22", "再試行する two times", "", "patch"},
	}
}

// printTable runs a command that prints a table with flags.
func printTable(t *testing.T, terminal bool, width int, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	a := &App{Out: &out, Err: &errs, Terminal: terminal, Width: width, Getenv: func(string) string { return "1" }}
	c := &cobra.Command{Use: "list", SilenceErrors: true, SilenceUsage: true}
	table := a.NewTable(c, testColumns)
	c.RunE = func(*cobra.Command, []string) error { return table.Print(testColumns, testRows()) }
	c.SetArgs(args)
	err = c.Execute()
	return out.String(), errs.String(), err
}

func TestTable(t *testing.T) {
	for _, tt := range []struct {
		name     string
		terminal bool
		width    int
		args     []string
		want     string
		note     string
	}{
		{"pipe", false, 10, nil, "art_1\tRetry twice, then give up\tada\nart_22\t再試行する two times\t\n", ""},
		{"pipe with columns", false, 10, []string{"--columns=kind,id"}, "report\tart_1\npatch\tart_22\n", ""},
		{"enough", true, 40, nil,
			"id      title                      agent\nart_1   Retry twice, then give up  ada\nart_22  " +
				"再試行する two times\n", ""},
		{"cut", true, 35, nil, "id      title                 agent\nart_1   Retry twice, then g…  ada\nart_22  再試行する two " +
			"times\n", ""},
		{"dropped", true, 24, nil, "id      title\nart_1   Retry twice, th…\nart_22  再試行する two …\n",
			"columns not shown: agent; --wide shows all\n"},
		{"id only", true, 3, nil, "id\nart_1\nart_22\n", "columns not shown: title, agent; --wide shows all\n"},
		{"wide", true, 3, []string{"--wide"}, "id      title                      agent\nart_1   Retry twice, then give up " +
			" ada\nart_22  再試行する two times\n", ""},
		{"columns", true, 10, []string{"--columns", "kind", "--columns", "id"}, "kind\n  id\nreport\n  art_1\npatch\n  art_22\n",
			""},
	} {
		got, note, err := printTable(t, tt.terminal, tt.width, tt.args...)
		if err != nil || got != tt.want || note != tt.note {
			t.Errorf("%s: Print prints\n%s%s(%v)\nwant\n%s%s", tt.name, got, note, err, tt.want, tt.note)
		}
	}
	for _, flag := range []string{"--columns=titel", "--columns=", "--columns=id,,kind"} {
		out, _, err := printTable(t, true, 80, flag)
		if err == nil || out != "" || NewFailure(err).Hint != "use id,title,agent,kind" {
			t.Errorf("%s: error %v with hint %q, printed %q", flag, err, NewFailure(err).Hint, out)
		}
	}
}

// A table of any width has every cell complete, except text and the start of paths, and no line that is
// wider than the window unless a single cell is.
func FuzzTable(f *testing.F) {
	f.Add("art_01", "Retry twice, then give up", "docs/design.md", 40)
	f.Add("art_01K6ZQ8J4X5T0V9W2C7R3D1E8F", "再試行する", "", 5)
	f.Fuzz(func(t *testing.T, id, title, path string, width int) {
		columns := []Column{{Name: "id"}, {Name: "agent", Rank: 1}, {Name: "path", Long: true, Rank: 2},
			{Name: "title", Rank: 3, Text: true}}
		row := []string{textfmt.OneLine(id), textfmt.OneLine(title), textfmt.OneLine(path), textfmt.OneLine(title)}
		shown, widths := layout(columns, [][]string{{"id", "agent", "path", "title"}, row}, width)
		if len(shown) > 1 && tableWidth(shown, widths) > width {
			t.Errorf("width %d: the columns %v of %v take %d", width, shown, widths, tableWidth(shown, widths))
		}
		lines := tableLines(columns, row, shown, widths, width, false)
		for _, c := range shown {
			cell := strings.TrimRight(row[c], " ")
			if columns[c].Long && displaywidth.String(cell) > widths[c] {
				cell = strings.TrimRight(cutLeft(row[c], width-len(gap)), " ")
			}
			if !columns[c].Text && !strings.Contains(strings.Join(lines, "\n"), cell) {
				t.Errorf("width %d: %q has no %s %q", width, lines, columns[c].Name, cell)
			}
		}
		for _, line := range lines {
			if w := displaywidth.String(line); w > max(width, len(gap)+widths[0], len(gap)+len(ellipsis)) {
				t.Errorf("width %d: %q takes %d", width, line, w)
			}
		}
	})
}

// TestSparseColumn checks that a column of notices is drawn, in the color of its worst
// code, only if it has content.
func TestSparseColumn(t *testing.T) {
	columns := []Column{{Name: "id"}, NoticeColumn}
	for _, tt := range []struct{ cell, want string }{
		{"", "\x1b[1mid\x1b[0m\na\n"},
		{"contradicted,stale", "\x1b[1mid  notices\x1b[0m\na   \x1b[31mcontradicted,stale\x1b[0m\n"},
		{"stale", "\x1b[1mid  notices\x1b[0m\na   \x1b[33mstale\x1b[0m\n"},
		{"asserted", "\x1b[1mid  notices\x1b[0m\na   asserted\n"},
		{"verified", "\x1b[1mid  notices\x1b[0m\na   \x1b[32mverified\x1b[0m\n"},
	} {
		var out bytes.Buffer
		a := &App{Out: &out, Err: &out, Terminal: true, Width: 80, Getenv: func(string) string { return "" }}
		if err := a.NewTable(&cobra.Command{Use: "list"}, columns).Print(columns, [][]string{{"a", tt.cell}}); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.cell, got, tt.want)
		}
	}
}
