package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
)

func readme(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestReadme types what the README says, each section in a shell of its own,
// and holds that handoff answers as it says. Every id is another one; … stands
// for anything.
func TestReadme(t *testing.T) {
	for section, least := range map[string]int{"A first session": 5, "Sessions and pipelines": 2} {
		t.Run(section, func(t *testing.T) { typeSection(t, section, least) })
	}
}

// typeSection types a section that has at least so many blocks of commands.
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
		t.Fatalf("README.md has %d blocks of commands, want all", len(want))
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
			t.Errorf("README.md shows\n%s\nand handoff answers\n%s", shown, got[i])
		}
	}
}

// TestNamed holds that a command is called by the names that it gives itself.
func TestNamed(t *testing.T) {
	for _, command := range commands {
		c := command.New(&cli.App{})
		if got, want := command.Names(), append([]string{c.Name()}, c.Aliases...); !slices.Equal(got, want) {
			t.Errorf("handoff %s is called by %q, want %q", c.Name(), got, want)
		}
	}
}

// TestReadmeCommands holds that the README's table has every command.
func TestReadmeCommands(t *testing.T) {
	_, table, _ := strings.Cut(readme(t), "## Commands\n")
	table, _, _ = strings.Cut(table, "\n## ")
	for _, command := range commands {
		name := command.New(&cli.App{}).Name()
		if !regexp.MustCompile("`" + name + `[ \x60]`).MatchString(table) {
			t.Errorf("README.md's table of commands has no %s", name)
		}
	}
}
