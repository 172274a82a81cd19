package web

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// TestContrast checks that the colors of code in a diff can be read on each background that a
// line or a marked word has, and those of the series of a chart, in both themes: WCAG 2.2 wants
// a contrast of 4.5 for AA. A browser's checks do not see these colors.
func TestContrast(t *testing.T) {
	pair := `light-dark\((#\w{6}), (#\w{6})\)`
	find := func(file, pattern string) [][]string {
		b, err := os.ReadFile(filepath.Join("assets", file))
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(pattern+pair).FindAllStringSubmatch(string(b), -1)
		if len(found) == 0 {
			t.Fatalf("%s has no %s", file, pattern)
		}
		return found
	}
	check := func(color, behind []string) {
		for i, theme := range []string{"light", "dark"} {
			a, b := luminance(t, color[2+i]), luminance(t, behind[2+i])
			if got := (max(a, b) + 0.05) / (min(a, b) + 0.05); got < 4.5 {
				t.Errorf("%s, %s on %s: got a contrast of %.2f, want 4.5", theme, color[1], behind[1], got)
			}
		}
	}
	for _, color := range find("cost.css", `(\.c\d) \{ --ink: `) { // of a bar, and behind a letter
		for _, behind := range find("app.css", `(--(?:bg|surface|raised)): `) {
			check(color, behind)
		}
	}
	backgrounds := append(find("app.css", `(--(?:bg|raised)): `),
		find("preview.css", `(\.src\.(?:add|del)|\.(?:add|del) mark) \{ background: `)...)
	if len(backgrounds) != 6 {
		t.Fatalf("got the backgrounds %q, want 6", backgrounds)
	}
	for _, color := range find("preview.css", `::highlight\((.*)\) \{ color: `) {
		for _, behind := range backgrounds {
			check(color, behind)
		}
	}
}

// luminance returns the relative luminance of a color by WCAG 2.2.
func luminance(t *testing.T, color string) (sum float64) {
	t.Helper()
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(color[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		c := float64(n) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}
