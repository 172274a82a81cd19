package nearest_test

import (
	"slices"
	"testing"

	"github.com/agent-handoff/handoff/internal/tool/nearest"
)

func TestOf(t *testing.T) {
	words := []string{"design", "design-review", "patch", "run-1/context.md", "a", "design", ""}
	for _, tt := range []struct {
		word string
		want []string
	}{
		{"desing", []string{"design"}},
		{"Design", []string{"design", "design-review"}},
		{"context.md", []string{"run-1/context.md"}},
		{"b", []string{"a"}},
		{"verification", nil},
		{"", []string{"a"}},
	} {
		if got := nearest.Of(tt.word, words, 3); !slices.Equal(got, tt.want) {
			t.Errorf("Of(%q) = %q, want %q", tt.word, got, tt.want)
		}
	}
	if got := nearest.Of("design", words, 1); len(got) != 1 {
		t.Errorf("Of with a limit of 1 = %q", got)
	}
}

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"list", "lsit", 2}, {"show", "shaw", 1}, {"gc", "mcp", 2}} {
		if got := nearest.Distance(tt.a, tt.b); got != tt.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}
