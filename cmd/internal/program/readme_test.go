package program

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
)

func readme(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestReadme runs the commands of the README, each section in a shell of its own,
// and compares the output. IDs differ from run to run; … matches anything.
func TestReadme(t *testing.T) {
	for section, least := range map[string]int{"A first session": 4, "Sessions and pipelines": 2} {
		t.Run(section, func(t *testing.T) { typeSection(t, section, least) })
	}
}

// TestReadmeLength keeps the README short: somebody reads it to decide whether to
// try handoff.
func TestReadmeLength(t *testing.T) {
	if n := strings.Count(readme(t), "\n"); n > 200 {
		t.Errorf("README.md has %d lines, want at most 200", n)
	}
}

// typeSection runs a section that has at least the given number of blocks of
// commands.
func typeSection(t *testing.T, section string, least int) {
	_, text, _ := strings.Cut(readme(t), "## "+section+"\n")
	text, _, found := strings.Cut(text, "\n## ")
	if !found {
		t.Fatalf("README.md has no section %s", section)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	const mark = "@@@@"
	var script strings.Builder
	var want []string // what each block shows
	for i, block := range strings.Split(text, "```") {
		if i%2 == 0 || !strings.Contains(block, "\n$ ") {
			continue
		}
		shown := ""
		for line := range strings.Lines(strings.TrimPrefix(block, "\n")) {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				script.WriteString(command)
			} else {
				shown += line
			}
		}
		script.WriteString("echo " + mark + "\n")
		want = append(want, shown)
	}
	if len(want) < least {
		t.Fatalf("README.md section %q has %d blocks of commands, want at least %d", section, len(want), least)
	}
	cmd := exec.Command("sh", "-eu", "-c", script.String())
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "HANDOFF_WORKSPACE="+dir)
	var failed strings.Builder
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, failed.String())
	}
	got := strings.Split(string(out), mark+"\n")
	for i, shown := range want {
		pattern := regexp.QuoteMeta(shown)
		pattern = regexp.MustCompile(`art_[0-9A-Z]{26}`).ReplaceAllString(pattern, "art_[0-9A-Z]{26}")
		pattern = strings.ReplaceAll(pattern, "…", ".*")
		if !regexp.MustCompile("^" + pattern + "$").MatchString(got[i]) {
			t.Errorf("README.md shows\n%s\nhandoff prints\n%s", shown, got[i])
		}
	}
}

// TestNamed checks that a command is registered under its own name and aliases.
func TestNamed(t *testing.T) {
	for _, command := range commands {
		c := command.New(&cli.App{})
		if got, want := command.Names, append([]string{c.Name()}, c.Aliases...); !slices.Equal(got, want) {
			t.Errorf("handoff %s is registered as %q, want %q", c.Name(), got, want)
		}
	}
}

// TestReadmeGo checks that the Go example of README.md is the one that is
// compiled in package workspace.
func TestReadmeGo(t *testing.T) {
	_, example, _ := strings.Cut(readme(t), "```go\n")
	example, _, _ = strings.Cut(example, "```")
	compiled, err := os.ReadFile("../../../workspace/readme_test.go")
	if err != nil {
		t.Fatal(err)
	}
	if text := "\t" + strings.ReplaceAll(strings.TrimSpace(example), "\n", "\n\t"); len(text) < 100 ||
		!strings.Contains(string(compiled), text) {
		t.Errorf("README.md has a Go example that workspace/readme_test.go does not:\n%s", example)
	}
}
