package program

import (
	"os"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/spf13/cobra"
)

// TestFormerCommands checks that every command and flag of the version before
// commands were regrouped is still parsed. testdata/commands.txt has them, made from
// the commands reference of commit 401d2ea.
func TestFormerCommands(t *testing.T) {
	text, err := os.ReadFile("testdata/commands.txt")
	if err != nil {
		t.Fatal(err)
	}
	root := &cobra.Command{Use: "handoff"}
	for _, command := range commands {
		root.AddCommand(command.New(&cli.App{}))
	}
	lines := 0
	for line := range strings.Lines(string(text)) {
		name, flags, _ := strings.Cut(strings.TrimSpace(line), ":")
		lines++
		if name == "help" || strings.HasPrefix(name, "completion") {
			continue // of the root
		}
		c, rest, err := root.Find(strings.Fields(name))
		if err != nil || len(rest) > 0 {
			t.Errorf("handoff %s is no command: %v", name, err)
			continue
		}
		for _, flag := range strings.Fields(flags) {
			if c.Flag(flag) == nil {
				t.Errorf("handoff %s has no flag --%s", name, flag)
			}
		}
	}
	if lines < 80 {
		t.Errorf("tried %d commands, want 80", lines)
	}
}
