package threadindex

import (
	"strings"
	"testing"
)

// TestFirstLine shows that the prompt of a list was cut.
func TestFirstLine(t *testing.T) {
	long := strings.Repeat("é", 120)
	for text, want := range map[string]string{"": "", "  one  two\nthree": "one two", long: long,
		long + "x": strings.Repeat("é", 119) + "…"} {
		if got := firstLine(text); got != want {
			t.Errorf("firstLine(%q) = %q, want %q", text, got, want)
		}
	}
}
