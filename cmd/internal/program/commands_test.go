package program

import (
	"os"
	"testing"
)

// TestCommandsDocument checks that docs/commands.md is the help of every command, as
// Markdown. With -update it is written.
func TestCommandsDocument(t *testing.T) {
	const file = "../../../docs/commands.md"
	c := newConsole(t)
	page := c.ok("help", "all", "--format", "md")
	if *update {
		if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != page {
		t.Errorf("%s differs from the help; run: go test ./cmd/internal/program -run TestCommandsDocument -update", file)
	}
}
