package program

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares the output of a command with a golden file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}

// golden compares the output of a command in a console's directory.
func (c *console) golden(name, got string) {
	c.t.Helper()
	golden(c.t, name, strings.ReplaceAll(got, c.dir, "/DIR"))
}

// TestJSON checks the shape of what --json prints, with the clock and the
// randomness of a console.
func TestJSON(t *testing.T) {
	c := newConsole(t)
	c.env["CODEX_THREAD_ID"], c.env["CLAUDE_CODE_SESSION_ID"] = "0199-c", "a-1"
	c.write("design.md", "# Retry policy\n")
	c.write("fix.diff", "-old\n+new\n")
	design := strings.TrimSpace(c.ok("publish", "design.md", "--channel", "design", "--title", "Retry policy", "--tag",
		"retry"))
	c.golden("publish.json", c.ok("publish", "fix.diff", "--channel", "patch", "--from", design, "--agent", "builder",
		"--task", "t1",
		"--model", "openai/gpt-5", "--producer", "turn=7", "--summary", "says token=0123456789ab", "--allow-secret", "--meta",
		"issue=7", "--key", "k", "--json"))
	c.golden("publish_again.json", c.ok("publish", "fix.diff", "--channel", "patch", "--key", "k", "--json"))
	c.ok("publish", "design.md", "--channel", "design", "--title", "Retry policy 2", "--replaces", design)
	c.golden("show.json", c.ok("show", design, "--json"))
	c.golden("list.json", c.ok("list", "--all", "--limit", "2", "--json"))
	c.golden("channels.json", c.ok("list", "--channels", "--json"))
	c.golden("history.json", c.ok("show", design, "--history", "--json"))
	c.golden("lineage.json", c.ok("show", design, "--lineage", "--json"))
	c.golden("check.json", c.ok("check", "--json"))
}

// TestTable checks what a terminal shows, and that NO_COLOR is honoured.
func TestTable(t *testing.T) {
	c := newConsole(t)
	c.write("a.md", "a")
	id := strings.TrimSpace(c.ok("publish", "a.md", "--channel", "design", "--title", "T\x1b[31m", "--agent", "ada"))
	show := func(noColor string) string {
		var out strings.Builder
		a := &cli.App{Out: &out, Err: &out, Terminal: true, Width: 100, Dir: c.dir, Now: consoleNow, Rand: c.random,
			Getenv: func(name string) string { return map[string]string{"NO_COLOR": noColor}[name] }}
		if code := a.Run(t.Context(), commands, []string{"list"}); code != 0 {
			t.Fatalf("list exits %d: %s", code, out.String())
		}
		return out.String()
	}
	for _, word := range []string{"id", "channel", "title", "age", id[len(id)-8:], "design", "ada", "a.md", "now"} {
		if !strings.Contains(show("1"), word) {
			t.Errorf("the table has no %q:\n%s", word, show("1"))
		}
	}
	if got := show("1"); strings.Contains(got, "\x1b") {
		t.Errorf("with NO_COLOR the table has escapes: %q", got)
	}
	if got := show(""); !strings.Contains(got, "\x1b[1m") || strings.Contains(got, "\x1b[31m") {
		t.Errorf("the table has no bold head, or escapes of the title's: %q", got)
	}
}
