package manifest_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agent-handoff/handoff/internal/session/manifest"
	"github.com/clipperhouse/displaywidth"
	"pgregory.net/rapid"
)

func TestTruncate(t *testing.T) {
	for _, tt := range [][2]string{
		{"", ""},
		{strings.Repeat("a", 35), strings.Repeat("a", 35)},
		{strings.Repeat("a", 36), strings.Repeat("a", 32) + "..."},
		{"\n\n  two   words\there \nsecond line", "two words here"},
		{"I need to purchase 10 laptops for the office", "I need to purchase 10 laptops fo..."},
		{strings.Repeat("界", 18), strings.Repeat("界", 16) + "..."},     // two columns each
		{strings.Repeat("👩‍👧", 20), strings.Repeat("👩‍👧", 16) + "..."}, // one character of several runes
		{"a\x1b[31mred", "a[31mred"},
	} {
		if got := manifest.Truncate(tt[0]); got != tt[1] {
			t.Errorf("Truncate(%q) = %q, want %q", tt[0], got, tt[1])
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		got := manifest.Truncate(text)
		if w := displaywidth.String(got); w > 35 || !utf8.ValidString(got) || strings.ContainsAny(got, "\n\r\t") {
			t.Errorf("Truncate(%q) = %q of %d columns", text, got, w)
		}
	})
}
