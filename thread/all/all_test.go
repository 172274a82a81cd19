package all_test

import (
	"os"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/thread/all"
)

// TestDirectories checks that docs/threads.md has the variable and the first
// directory of each provider.
func TestDirectories(t *testing.T) {
	page, err := os.ReadFile("../../docs/threads.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "## Directories\n")
	table, _, _ = strings.Cut(table, "\n## ")
	for _, d := range all.Drivers() {
		_, row, found := strings.Cut(table, "\n| "+d.Name+" |")
		row, _, _ = strings.Cut(row, "\n")
		root := d.Roots(func(string) string { return "" }, "~")[0]
		if !found || !strings.Contains(row, "`"+d.Env+"`") || !strings.Contains(row, "`"+root+"`") {
			t.Errorf("docs/threads.md describes the directories of %s as %q, want %s and %s", d.Name, row, d.Env, root)
		}
	}
}
