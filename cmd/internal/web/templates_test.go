package web

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// forbidden has what no template contains, and why.
var forbidden = []struct {
	pattern *regexp.Regexp
	why     string
}{
	{regexp.MustCompile(`\}\}\+? ([a-z]+ )?(artifact|attempt|byte|call|comment|link|node|output|problem|record|` +
		`revision|violation)s\b`), "use count, which writes 1 in the singular"},
	{regexp.MustCompile(`<div class="(scroll|lanes)\b[^"]*"( tabindex="0")?>`),
		"without an ID, an update of the page does not keep how far it is scrolled"},
}

// TestTemplates checks the texts and elements of templates.
func TestTemplates(t *testing.T) {
	names, err := filepath.Glob("../*web/templates/*.html")
	if err != nil || len(names) < 20 {
		t.Fatalf("got the templates %q, %v", names, err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range forbidden {
			for _, found := range f.pattern.FindAll(b, -1) {
				t.Errorf("%s: %s: %s", name, found, f.why)
			}
		}
	}
}
