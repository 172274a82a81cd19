package guard

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	layerRow = regexp.MustCompile(`(?m)^\| (\d+) \| (.*?) \|`)
	codeSpan = regexp.MustCompile("`([^`]+)`")
)

// TestDesignLayers checks that the table in docs/design.md lists the layers of
// this package.
func TestDesignLayers(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "design.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n### Layers\n")
	section, _, _ = strings.Cut(section, "\n## ")
	got := map[string]int{}
	for _, row := range layerRow.FindAllStringSubmatch(section, -1) {
		for _, span := range codeSpan.FindAllStringSubmatch(row[2], -1) {
			got[span[1]], _ = strconv.Atoi(row[1])
		}
	}
	want := map[string]int{}
	for pkg, layer := range layers {
		switch pkg {
		case ".":
			pkg = "handoff"
		case "thread/*":
			pkg = "thread/<provider>"
		}
		want[pkg] = layer
	}
	for _, pkg := range slices.Sorted(maps.Keys(want)) {
		if layer, ok := got[pkg]; !ok || layer != want[pkg] {
			t.Errorf("docs/design.md has %s in layer %d (listed: %t), want %d", pkg, layer, ok, want[pkg])
		}
	}
	for pkg, layer := range got {
		if _, ok := want[pkg]; !ok {
			t.Errorf("docs/design.md lists %s in layer %d, which has no layer", pkg, layer)
		}
	}
}
