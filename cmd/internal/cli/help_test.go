package cli

import (
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/cmd/internal/textfmt"

	"github.com/clipperhouse/displaywidth"
)

// A usage of any text is wrapped into lines that fit, and none of its words is
// lost.
func FuzzWrap(f *testing.F) {
	f.Add("Retry twice, then give up", 5)
	f.Add("再試行する", 3)
	f.Add("   ", 1)
	f.Add("", -1)
	f.Fuzz(func(t *testing.T, s string, width int) {
		s = textfmt.OneLine(s)
		lines := textfmt.Wrap(s, width)
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
