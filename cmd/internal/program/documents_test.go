package program

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// pages are the documents whose commands are those of this build. docs/commands.md is the
// help itself; records of decisions and CHANGELOG.md name what is gone, too.
var pages = []string{"README.md", "CONTRIBUTING.md", "SECURITY.md", "llms.txt", "action.yml", "docs/*.md",
	"clients/*.md", "clients/*/*.md", "plugins/*/*.md", "plugins/*/*/*.md", "plugins/*/*/*/*.md",
	"cmd/internal/setup/files/*.md"}

var (
	codeBlock  = regexp.MustCompile("(?ms)^ *```[a-z]*\n(.*?)^ *```")
	codeSpan   = regexp.MustCompile("`([^`\n]+)`")
	typedLine  = regexp.MustCompile(`(?m)(?:^|[\s("'$])(?:agent-)?handoff ([a-z](?:'[^'\n]*'|"[^"\n]*"|[^'"|;)<>&#\n])*)`)
	inQuotes   = regexp.MustCompile(`"(handoff [^"]*)"`)
	prose      = regexp.MustCompile(`handoff\s+([a-z]+(?:\s+[a-z-]+)?)`)
	flagInText = regexp.MustCompile(`(?:^|[\s(])(--[a-z][a-z-]*)`)
	oneWord    = regexp.MustCompile(`^[a-z]+$`)
	flagName   = regexp.MustCompile(`^--[a-z][a-z-]*`)
)

// verbs are the words of the help after handoff, the program, that are no commands.
var verbs = []string{"itself", "in", "is", "and", "or", "was", "renders"}

// Commands and flags of other programs that documents name without their program.
var (
	foreignCommands = []string{"run TEXT --format json"} // opencode
	foreignFlags    = []string{"--session-id", "--resume", "--fork-session", "--prefix"}
)

// TestDocumentCommands checks that the commands and flags in documents and in the text of the
// help exist.
func TestDocumentCommands(t *testing.T) {
	checked, anyFlag := 0, map[string]bool{"--workspace": true, "--help": true, "--version": true}
	eachCommand(func(_ []string, c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) { anyFlag["--"+f.Name] = true })
	})
	for _, pattern := range pages {
		files, err := filepath.Glob(filepath.Join("../../..", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if filepath.Base(file) == "commands.md" {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, code := range codeOf(string(text)) {
				checked += checkTyped(t, file, code)
				if name := flagName.FindString(code); name != "" && !anyFlag[name] && !slices.Contains(foreignFlags, name) {
					t.Errorf("%s: %q: no command has this flag", file, code)
				}
			}
		}
	}
	eachCommand(func(path []string, c *cobra.Command) {
		where := "help of " + strings.Join(path, " ")
		for _, m := range flagInText.FindAllStringSubmatch(c.Long, -1) {
			if checked++; !anyFlag[m[1]] && !slices.Contains(foreignFlags, m[1]) {
				t.Errorf("%s: no command has the flag %s", where, m[1])
			}
		}
		for _, m := range inQuotes.FindAllStringSubmatch(c.Long, -1) {
			checked += checkTyped(t, where, strings.ReplaceAll(m[1], "\n", " "))
		}
		for _, m := range prose.FindAllStringSubmatch(inQuotes.ReplaceAllString(c.Long, ""), -1) {
			if !slices.Contains(verbs, strings.Fields(m[1])[0]) {
				checked += checkTyped(t, where, "handoff "+m[1])
			}
		}
	})
	if checked < 200 {
		t.Errorf("found %d commands and flags, which can't be all", checked)
	}
}

// codeOf returns the blocks and spans of code in a page.
func codeOf(text string) (list []string) {
	for _, block := range codeBlock.FindAllStringSubmatch(text, -1) {
		list = append(list, strings.ReplaceAll(block[1], "\\\n", " "))
	}
	for _, span := range codeSpan.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1) {
		first, _, more := strings.Cut(span[1], " ")
		named := slices.ContainsFunc(commands, func(c cli.Command) bool { return slices.Contains(c.Names, first) })
		if more && named && !slices.Contains(foreignCommands, span[1]) {
			span[1] = "handoff " + span[1]
		}
		list = append(list, span[1])
	}
	return list
}

// checkTyped checks the commands and flags in a text, and returns how many it found.
func checkTyped(t *testing.T, where, text string) (found int) {
	t.Helper()
	for _, m := range typedLine.FindAllStringSubmatch(text, -1) {
		root := commandTree()
		words := shellWords(m[1])
		if words[0] == "help" {
			continue
		}
		found++
		c, rest, err := root.Find(words)
		if err != nil || c == root || isUnknownIn(c, rest) {
			t.Errorf("%s: %q: no such command", where, m[0])
			continue
		}
		for _, word := range rest {
			if word == "--" {
				break
			}
			if name := flagName.FindString(word); name != "" && c.Flag(name[2:]) == nil {
				t.Errorf("%s: %q: handoff %s has no flag %s", where, m[0], commandName(c), name)
			}
		}
	}
	return found
}

// commandTree returns the program with all commands.
func commandTree() *cobra.Command {
	root := &cobra.Command{Use: "handoff"}
	root.PersistentFlags().String("workspace", "", "")
	for _, c := range commands {
		root.AddCommand(c.New(&cli.App{}))
	}
	for _, c := range root.Commands() {
		c.InitDefaultHelpFlag()
	}
	return root
}

// isUnknownIn reports whether the words after a group of commands name none of them.
func isUnknownIn(c *cobra.Command, words []string) bool {
	return c.HasSubCommands() && c.Name() != "thread" && len(words) > 0 && oneWord.MatchString(words[0])
}
