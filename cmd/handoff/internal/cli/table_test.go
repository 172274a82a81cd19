package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/clipperhouse/displaywidth"
)

func TestTable(t *testing.T) {
	head := []string{"id", "title"}
	rows := func() [][]string {
		return [][]string{{"art_1", "Retry twice, then give up"}, {"art_2", "再試行 two times"}}
	}
	for _, tt := range []struct {
		name     string
		terminal bool
		width    int
		want     string
	}{
		{"pipe", false, 10, "art_1\tRetry twice, then give up\nart_2\t再試行 two times\n"},
		{"wide enough", true, 40, "id     title\nart_1  Retry twice, then give up\nart_2  再試行 two times\n"},
		{"wrapped", true, 20, "id     title\nart_1  Retry twice,\n       then give up\nart_2  再試行 two\n       times\n"},
		{"narrow", true, 10, "id    titl\n      e\nart_  Retr\n1     y\n      twic\n      e,\n      then\n      give\n      up\nart_  再試\n2     行\n      two\n      time\n      s\n"},
	} {
		var out bytes.Buffer
		a := &App{Out: &out, Terminal: tt.terminal, Width: tt.width, Getenv: func(string) string { return "1" }}
		a.Table(head, rows())
		if got := out.String(); got != tt.want {
			t.Errorf("%s: Table prints\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}

// A cell of any text is wrapped into lines that fit, and none of its words is
// lost.
func FuzzWrap(f *testing.F) {
	f.Add("Retry twice, then give up", 5)
	f.Add("再試行する", 3)
	f.Add("   ", 1)
	f.Add("", -1)
	f.Fuzz(func(t *testing.T, s string, width int) {
		s = OneLine(s)
		lines := wrap(s, width)
		for _, line := range lines {
			one := displaywidth.StringGraphemes(line)
			one.Next()
			if w := displaywidth.String(line); w > width && len(one.Value()) < len(line) {
				t.Errorf("wrap(%q, %d) has the line %q of %d columns", s, width, line, w)
			}
		}
		if got, want := strings.ReplaceAll(strings.Join(lines, ""), " ", ""), strings.ReplaceAll(s, " ", ""); got != want {
			t.Errorf("wrap(%q, %d) = %q, which lost text", s, width, lines)
		}
	})
}
