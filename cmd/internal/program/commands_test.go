package program

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestCommandsDocument checks that docs/commands.md is the help of every
// command. With -update it is written.
func TestCommandsDocument(t *testing.T) {
	const file = "../../../docs/commands.md"
	c := newConsole(t)
	var b strings.Builder
	fmt.Fprintf(&b, "# Commands\n\nThis page is generated from the help of the program: go test ./cmd/internal/program "+
		"-run TestCommandsDocument -update\n")
	section := func(title string, args ...string) {
		fmt.Fprintf(&b, "\n## %s\n\n```text\n%s```\n", title, c.ok(args...))
	}
	section("All commands", "help", "all")
	eachCommand(func(path []string, _ *cobra.Command) {
		section("handoff "+strings.Join(path, " "), append(slices.Clone(path), "--help")...)
	})
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != b.String() {
		t.Errorf("%s differs from the help; run: go test ./cmd/internal/program -run TestCommandsDocument -update", file)
	}
}
