package program

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// eachCommand calls do with every command that is no former name, and the words
// that call it.
func eachCommand(do func(path []string, c *cobra.Command)) {
	var walk func(path []string, c *cobra.Command)
	walk = func(path []string, c *cobra.Command) {
		if c.Hidden {
			return
		}
		path = append(slices.Clone(path), c.Name())
		do(path, c)
		for _, sub := range c.Commands() {
			walk(path, sub)
		}
	}
	for _, command := range commands {
		walk(nil, command.New(&cli.App{}))
	}
}

// TestRootHelp checks that the short help fits on one screen, and that "help all"
// shows at most 50 commands and names all others that are no former names.
func TestRootHelp(t *testing.T) {
	c := newConsole(t)
	help := c.ok("--help")
	if n := strings.Count(help, "\n"); n > 30 {
		t.Errorf("handoff --help has %d lines, want at most 30", n)
	}
	if again := c.ok("help"); again != help {
		t.Errorf("handoff help prints\n%s\nwant what --help prints", again)
	}
	all := c.ok("help", "all")
	for _, text := range []string{help, all, c.ok("help", "--help"), c.ok("completion", "--help")} {
		fits(t, "handoff help", text)
	}
	if former := c.ok("session", "--help"); strings.Contains(former, "rename") {
		t.Errorf("help names a former name:\n%s", former)
	}
	shown := regexp.MustCompile(`(?m)^  ([a-z][a-z -]*?)  `).FindAllStringSubmatch(all, -1)
	if n := len(shown); n > 50 || n < 30 {
		t.Errorf("handoff help all shows %d commands, want at most 50", n)
	}
	eachCommand(func(path []string, _ *cobra.Command) {
		list := all
		if len(path) > 1 {
			list = c.ok(append(path[:len(path)-1:len(path)-1], "--help")...)
		}
		name := path[len(path)-1]
		named := regexp.MustCompile(`\n  ` + name + ` |More commands:[^:]*\b` + name + `[,.]`).MatchString("\n" + list)
		if !named {
			t.Errorf("help does not name %s", strings.Join(path, " "))
		}
	})
}

// macro is a line of a manual page that is no text.
var macro = regexp.MustCompile(`^\.(TH [A-Z\\-]+ 1 "" "[^"]+"|SH [A-Z ]+|B .+|TP|PP|nf|fi)$`)

// TestManual checks that every command has a manual page with its flags, and that no text
// in it is a request to man.
func TestManual(t *testing.T) {
	c := newConsole(t)
	pages := map[string]string{}
	for i, page := range strings.Split(c.ok("help", "all", "--format", "man"), ".TH ") {
		if i > 0 {
			name, _, _ := strings.Cut(page, " ")
			pages[strings.ReplaceAll(name, `\-`, "-")] = ".TH " + page
		}
	}
	eachCommand(func(path []string, command *cobra.Command) {
		name := strings.ToUpper("handoff-" + strings.Join(path, "-"))
		if !strings.Contains(pages[name], "\n.SH DESCRIPTION\n") {
			t.Errorf("%s: no page with a description", name)
		}
		command.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && !strings.Contains(pages[name], `\-\-`+strings.ReplaceAll(f.Name, "-", `\-`)) {
				t.Errorf("%s does not name --%s", name, f.Name)
			}
		})
	})
	for name, page := range pages {
		for line := range strings.Lines(page) {
			line = strings.TrimSuffix(line, "\n")
			if strings.HasPrefix(line, "'") || strings.HasPrefix(line, ".") && !macro.MatchString(line) {
				t.Errorf("%s has the line %q", name, line)
			}
		}
	}
	if !strings.Contains(pages["HANDOFF"], ".SH EXIT STATUS\n") {
		t.Errorf("the page of the program has no exit codes: %s", pages["HANDOFF"])
	}
}

// fits reports lines of a help that are wider than a terminal.
func fits(t *testing.T, name, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
			t.Errorf("%s: a line has %d columns, want at most 80: %s", name, n, line)
		}
	}
}

// valueNames are the nouns that stand for the values of flags.
var valueNames = []string{
	"address", "agent", "branch", "channel", "columns", "commit", "count", "cursor", "date", "day", "directory",
	"duration", "edition", "field=value", "fields", "file", "format", "ID", "issue", "key",
	"key=value", "kind", "kind:value", "level", "line", "name", "number", "path", "pattern", "policy", "position",
	"program", "ref", "regexp", "scope", "sequence", "size", "stage", "status", "tag", "text", "ticket",
	"time", "title", "type", "URI", "UUID", "verdict",
}

// maxFlags is the number of flags that the help of a command may show, with the global ones.
// The filters of list, which are those of every list of artifacts, are 26.
func maxFlags(command string) int {
	if command == "list" {
		return 26
	}
	return 24
}

var shownFlag = regexp.MustCompile(`(?m)^ +(-[a-zA-Z], )?--[a-z]`)

// TestHelp checks the form of the help of every command.
func TestHelp(t *testing.T) {
	c := newConsole(t)
	eachCommand(func(path []string, command *cobra.Command) {
		name := strings.Join(path, " ")
		help := c.ok(append(slices.Clone(path), "--help")...)
		fits(t, name, help)
		if !command.HasSubCommands() && command.Example == "" && !command.Hidden {
			t.Errorf("%s has no example", name)
		}
		if !strings.HasPrefix(strings.ToUpper(command.Short[:1]), command.Short[:1]) ||
			strings.HasSuffix(command.Short, ".") {
			t.Errorf("%s: short help %q is not a phrase that begins with a capital and has no full stop", name, command.Short)
		}
		if n := len(shownFlag.FindAllString(help, -1)); n > maxFlags(name) || n == 0 {
			t.Errorf("%s shows %d flags, want 1 to %d", name, n, maxFlags(name))
		}
		command.LocalFlags().VisitAll(func(f *pflag.Flag) {
			value, usage := pflag.UnquoteUsage(f)
			if f.Hidden || f.Value.Type() == "bool" {
				return
			}
			if usage == "" || !slices.Contains(valueNames, value) {
				t.Errorf("%s --%s: the value is named %q, which is not one of %v", name, f.Name, value, valueNames)
			}
		})
	})
}

// sampleValues has a value for each type of flag.
var sampleValues = map[string]string{"string": "x", "int": "1", "int64": "1", "duration": "1s", "bool": "true"}

// TestRepeatedFlags gives every flag of every command twice. One that is not a
// list must be refused.
func TestRepeatedFlags(t *testing.T) {
	t.Parallel()
	flags := 0
	eachCommand(func(path []string, command *cobra.Command) {
		check := func(f *pflag.Flag) {
			c := newConsole(t)
			sample, single := sampleValues[f.Value.Type()]
			if !single {
				sample = "a=1"
			}
			_, code := c.run("", append(slices.Clone(path), "--"+f.Name+"="+sample, "--"+f.Name+"="+sample)...)
			refused := strings.Contains(c.said.String(), "--"+f.Name+" given twice\n")
			if refused != single || refused && code != 2 && path[0] != "run" && path[0] != "attest" {
				t.Errorf("%s --%s twice (%s): refused %t with exit code %d, want refused %t", strings.Join(path, " "), f.Name,
					f.Value.Type(), refused, code, single)
			}
			flags++
		}
		command.InitDefaultHelpFlag()
		command.LocalFlags().VisitAll(check)
	})
	c := newConsole(t)
	if _, code := c.run("", "list", "--workspace", c.dir, "--workspace", c.dir); code != 2 {
		t.Errorf("list --workspace twice exits %d, want 2", code)
	}
	if flags < 100 {
		t.Errorf("tried %d flags, which can't be all", flags)
	}
}

// TestHintsName checks that the command line of every action names commands and
// flags that exist.
func TestHintsName(t *testing.T) {
	text, err := os.ReadFile("../../../hint.go")
	if err != nil {
		t.Fatal(err)
	}
	root := &cobra.Command{Use: "handoff"}
	for _, command := range commands {
		root.AddCommand(command.New(&cli.App{}))
	}
	actions := 0
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "\tAction") {
			continue
		}
		for _, m := range regexp.MustCompile(`"([^"]+)"`).FindAllStringSubmatch(line, -1) {
			if handoff.Action(m[1]) == handoff.ActionAllowSecret {
				continue // a flag of the command that was refused
			}
			actions++
			typed := cli.CommandLine(handoff.Action(m[1]), "A", "B", "C", "D", "E", "F")
			typed = strings.Replace(typed, "--A", "--agent", 1) // an operand of some is the name of a filter
			c, args, err := root.Find(strings.Fields(typed)[1:])
			if err != nil || c == root || !c.Runnable() {
				t.Errorf("%s: %s names no command", m[1], typed)
				continue
			}
			for _, arg := range args {
				if arg == "--" {
					break
				}
				name := strings.TrimLeft(arg, "-")
				if dashes := len(arg) - len(name); dashes == 2 && c.Flag(name) == nil || dashes == 1 && len(name) == 1 &&
					c.Flags().ShorthandLookup(name) == nil {
					t.Errorf("%s: %s has the unknown flag %s", m[1], typed, arg)
				}
			}
		}
	}
	if actions < 20 {
		t.Errorf("found %d actions in hint.go, which can't be all", actions)
	}
}

var exampleLine = regexp.MustCompile(`handoff ((?:'[^']*'|"[^"]*"|[^'"|;)\n&>])*)`)

// TestExamples parses every command line in the examples of every help: the
// command, its flags and the number of its arguments.
func TestExamples(t *testing.T) {
	t.Parallel()
	lines := 0
	check := func(name, example string) {
		// a command as an argument is a line of its own
		inner := strings.NewReplacer("\\\n", " ", `"$(`, "X ; ", "$(", "X ; ")
		for _, m := range exampleLine.FindAllStringSubmatch(inner.Replace(example), -1) {
			if strings.Contains(example, "='"+m[0]+"'") {
				continue // an alias, whose arguments follow when it is used
			}
			lines++
			args := shellWords(m[1])
			root := &cobra.Command{Use: "handoff"}
			root.PersistentFlags().String("workspace", "", "")
			for _, c := range commands {
				root.AddCommand(c.New(&cli.App{}))
			}
			command, rest, err := root.Find(args)
			if err == nil {
				err = command.ParseFlags(rest)
			}
			if err == nil {
				err = command.ValidateArgs(command.Flags().Args())
			}
			if err == nil {
				err = command.ValidateRequiredFlags()
			}
			if err != nil {
				t.Errorf("%s: the example %q is refused: %v", name, m[0], err)
			}
		}
	}
	eachCommand(func(path []string, command *cobra.Command) { check(strings.Join(path, " "), command.Example) })
	if lines < 40 {
		t.Errorf("found %d command lines in examples, which can't be all", lines)
	}
}

// shellWords splits a command line as a shell does, without its expansions.
func shellWords(line string) (words []string) {
	word, quote, open := "", rune(0), false
	for _, r := range strings.TrimSpace(line) + " " {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word += string(r)
		case r == '\'' || r == '"':
			quote, open = r, true
		case r == ' ':
			if open || word != "" {
				words = append(words, word)
			}
			word, open = "", false
		default:
			word += string(r)
		}
	}
	return words
}
