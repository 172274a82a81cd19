package program

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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

// TestClientCommands checks that the commands and flags in the tests with other programs exist:
// these run only where the programs are installed.
func TestClientCommands(t *testing.T) {
	checked := 0
	for _, pattern := range []string{"*.go", "*/*.go"} {
		files, err := filepath.Glob(filepath.Join("../../../e2e", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CallExpr:
					checked += checkWords(t, file, n.Args)
				case *ast.CompositeLit:
					checked += checkWords(t, file, n.Elts)
				case *ast.BasicLit:
					if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
						checked += checkTyped(t, file, text)
					}
				}
				return true
			})
		}
	}
	if checked < 60 {
		t.Errorf("found %d commands, which can't be all", checked)
	}
}

// checkWords checks a command whose words are expressions, the first one the literal "handoff"
// or, after an environment or a directory, the literal name of a command with a flag. Words that
// are no literals stand for any text.
func checkWords(t *testing.T, where string, list []ast.Expr) int {
	t.Helper()
	words := []string{}
	for _, e := range list {
		lit, ok := e.(*ast.BasicLit)
		switch {
		case ok && lit.Kind == token.STRING:
			text, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			words = append(words, text)
		case len(words) > 0:
			words = append(words, "X")
		}
	}
	if i := slices.Index(words, "handoff"); i >= 0 {
		words = words[i+1:]
	} else if len(words) > 0 && words[0] == "" {
		words = words[1:]
	}
	named := len(words) > 0 &&
		slices.ContainsFunc(commands, func(c cli.Command) bool { return slices.Contains(c.Names, words[0]) })
	if !named || !slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "--") }) {
		return 0
	}
	for i, word := range words {
		if !oneWord.MatchString(word) && flagName.FindString(word) == "" {
			words[i] = "X"
		}
	}
	return checkTyped(t, where, "handoff "+strings.Join(words, " "))
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
