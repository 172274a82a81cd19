package guard

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var groupRow = regexp.MustCompile("(?m)^\\| (`[^|]+`) \\|")

// nouns are the public packages of types that internal packages use and the packages of
// workspace return. They import nothing internal.
var nouns = []string{"storage", "settings", "session", "pipeline", "transcript", "trace"}

// groups returns the folders of each group of docs/design.md, the lowest first. The module
// root is ".".
func groups(t *testing.T) [][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", "design.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n### Groups\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var list [][]string
	for _, row := range groupRow.FindAllStringSubmatch(section, -1) {
		folders := strings.Split(strings.ReplaceAll(row[1], "`", ""), ", ")
		list = append(list, folders)
		if folders[0] == "handoff" {
			folders[0] = "."
		}
	}
	if len(list) == 0 {
		t.Fatal("docs/design.md has no table of groups")
	}
	return list
}

// groupOf returns the place of a package's group in the list, -1 for none.
func groupOf(groups [][]string, pkg string) int {
	best, longest := -1, 0
	for i, folders := range groups {
		for _, g := range folders {
			if (pkg == g || strings.HasPrefix(pkg, g+"/")) && len(g) > longest {
				best, longest = i, len(g)
			}
		}
	}
	return best
}

// TestGroups checks that packages import what the table of groups lets them.
func TestGroups(t *testing.T) {
	list := groups(t)
	used := map[int]bool{}
	for _, s := range sources(t) {
		if group := groupOf(list, s.pkg); group < 0 {
			t.Errorf("%s: package %s is in no group of docs/design.md", s.name, s.pkg)
			continue
		} else if used[group] = true; s.isTest() {
			continue
		}
		for _, spec := range s.file.Imports {
			if err := mayImport(list, s.pkg, strings.Trim(spec.Path.Value, `"`)); err != nil {
				t.Errorf("%s: %v", s.name, err)
			}
		}
	}
	for i, g := range list {
		if !used[i] {
			t.Errorf("docs/design.md lists the group %s, which has no package", g)
		}
	}
	for _, pkg := range testOnly {
		if _, err := os.Stat(filepath.Join(root, pkg)); err != nil {
			t.Errorf("package %s is for tests only and does not exist", pkg)
		}
	}
}

// standardOnly reports whether a package imports nothing of other modules.
func standardOnly(pkg string) bool {
	isTool := strings.HasPrefix(pkg, "internal/tool/") && pkg != "internal/tool/sqlite"
	return isTool || pkg == "." || pkg == "jsonschema"
}

// isProvider reports whether a package reads the transcripts of one program.
func isProvider(pkg string) bool {
	name, found := strings.CutPrefix(pkg, "thread/")
	return found && !strings.Contains(name, "/") && name != "all" && name != "page"
}

func mayImport(groups [][]string, pkg, imported string) error {
	below, inside := strings.CutPrefix(imported, module)
	if !inside {
		if standardOnly(pkg) && strings.Contains(strings.Split(imported, "/")[0], ".") {
			return fmt.Errorf("package %s imports %s; it may only import the standard library", pkg, imported)
		}
		return nil
	}
	if below = strings.TrimPrefix(below, "/"); below == "" {
		below = "."
	}
	from, to := groupOf(groups, pkg), groupOf(groups, below)
	switch {
	case slices.Contains(testOnly, below):
		return fmt.Errorf("package %s imports %s, which is for tests", pkg, below)
	case to < 0 || to > from:
		return fmt.Errorf("package %s imports %s, whose group is not above its own in docs/design.md", pkg, below)
	case slices.Contains(nouns, pkg) && strings.HasPrefix(below, "internal/"):
		return fmt.Errorf("package %s imports %s: a package of types imports nothing internal", pkg, below)
	case isProvider(below) && pkg != "thread/all":
		return fmt.Errorf("package %s imports %s: only thread/all imports the package of one program", pkg, below)
	}
	return nil
}

func TestMayImport(t *testing.T) {
	for _, tt := range []struct {
		pkg, imported string
		ok            bool
	}{
		{".", "context", true},
		{".", "github.com/spf13/cobra", false},
		{".", module + "/internal/log/filelog", false},
		{"internal/log/filelog", module, true},
		{"internal/log/filelog", module + "/internal/log/sqlindex", true}, // Go rejects circles
		{"internal/log/filelog", module + "/internal/session", false},
		{"session", module + "/settings", true},
		{"session", module + "/trace", false},
		{"session", module + "/internal/session/lifecycle", false},
		{"internal/session/lifecycle", module + "/session", true},
		{"internal/tool/sqlite", "zombiezen.com/go/sqlite", true},
		{"internal/tool/git", "example.com/git", false},
		{"internal/tool/git", module, false},
		{"thread/codex", module + "/thread", true},
		{"thread/codex", module + "/thread/claude", false},
		{"workspace", module + "/thread/claude", false},
		{"thread/all", module + "/thread/claude", true},
		{"workspace", module + "/conformance/logtest", false},
		{"workspace", module + "/nowhere", false},
		{"cmd/internal/program", module + "/workspace", true},
		{"engines/gitlog", module + "/cmd/internal/cli", false},
	} {
		if err := mayImport(groups(t), tt.pkg, tt.imported); (err == nil) != tt.ok {
			t.Errorf("mayImport(%s, %s) = %v, want ok %v", tt.pkg, tt.imported, err, tt.ok)
		}
	}
}
