package cli

import (
	"slices"
	"testing"
)

func TestShortIDs(t *testing.T) {
	const a, b = "art_01M7Y6B75VSBNVKM7PPFB4PAQ4", "art_01M7Y5YD0VMW597QW2NCXJQSFJ"
	const like = "art_01M7Y6B75VSBNVXXXPPFB4PAQ4" // has the last nine characters of a
	for _, tt := range []struct{ ids, want []string }{
		{[]string{a, b, a}, []string{"PFB4PAQ4", "NCXJQSFJ", "PFB4PAQ4"}},
		{[]string{a, like, b}, []string{"7PPFB4PAQ4", "XPPFB4PAQ4", "W2NCXJQSFJ"}},
		{[]string{"", "x", "art_short"}, []string{"", "x", "art_short"}},
		{[]string{"0199c1de-b4db-4aaa-a0cb-93e7a1ecb742", "5e1c1338-b4db-4aaa-a0cb-93e7a1ecb742"},
			[]string{"0199c1de", "5e1c1338"}},
		{[]string{"5e1c1338-b4db-4aaa-a0cb-93e7a1ecb742", "5e1c1338-b5db-4aaa-a0cb-93e7a1ecb742", "run-1"},
			[]string{"5e1c1338-b4", "5e1c1338-b5", "run-1"}},
		{nil, []string{}},
	} {
		if got := shortIDs(tt.ids); !slices.Equal(got, tt.want) {
			t.Errorf("shortIDs(%q) = %q, want %q", tt.ids, got, tt.want)
		}
	}
}
