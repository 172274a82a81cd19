package cli

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/spf13/cobra"
)

// A helpForm prints the help of commands. If all is set, they are all commands.
type helpForm struct {
	name  string
	print func(a *App, w io.Writer, commands []*cobra.Command, all bool)
}

// helpForms are the values of help --format, beside text.
var helpForms = []helpForm{{"man", printManual}, {"md", printMarkdown}, {"json", printDescriptions},
	{"schema", printSchema}}

// helpCommand prints the help of one command or of all commands.
func (a *App) helpCommand(root *cobra.Command) *cobra.Command {
	names := []string{"text"}
	for _, form := range helpForms {
		names = append(names, form.name)
	}
	format := names[0]
	c := &cobra.Command{
		Use:   "help [COMMAND | all]",
		Short: "Show help for a command, or list all commands",
		Long: `Help shows what a command does and its flags, or lists all commands.

With --format man it prints a manual page for man -l, and with --format md
Markdown. For all, it then prints the help of every command: manual pages one
after the other, each from a line that starts with .TH.

With --format json it describes commands and flags for programs, and with
--format schema it prints the JSON Schema of what they print with --json: of a
command with its subcommands, or of all commands.`,
		Example: "  handoff help publish\n  handoff help publish --format man | man -l -\n" +
			"  handoff help list --format schema",
	}
	c.Flags().StringVar(&format, "format", format, "print this `format`: "+strings.Join(names, ", "))
	Answers(a, c, PrintsWith("format", helpAnswer{}))
	c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
	c.RunE = func(_ *cobra.Command, args []string) error {
		i := slices.IndexFunc(helpForms, func(f helpForm) bool { return f.name == format })
		if i < 0 && format != names[0] {
			return Invalid("help", "--format", fmt.Sprintf("unknown format %q", format), "use "+strings.Join(names, ", "))
		}
		all := slices.Equal(args, []string{"all"})
		subject, err := root, error(nil)
		if !all {
			subject, err = helpSubject(root, args)
		}
		switch {
		case err != nil:
			return err
		case i < 0 && all:
			printAllCommands(a.Out, root)
			return nil
		case i < 0:
			return subject.Help()
		}
		shown := []*cobra.Command{subject}
		if all {
			shown = withSubcommands(root)
		}
		var text bytes.Buffer
		helpForms[i].print(a, &text, shown, all)
		_, err = io.WriteString(a.Out, a.named(text.String()))
		return err
	}
	return c
}

// helpSubject returns the command that the arguments of help name.
func helpSubject(root *cobra.Command, args []string) (*cobra.Command, error) {
	c, rest, _ := root.Find(args)
	switch {
	case len(rest) > 0 && c.HasAvailableSubCommands():
		return nil, unknownCommand(c, rest[0])
	case len(rest) > 0:
		return nil, unknownCommand(root, strings.Join(args, " "))
	}
	return c, nil
}

// withSubcommands returns a command and those below it that the help names. Those of
// completion are shells.
func withSubcommands(c *cobra.Command) []*cobra.Command {
	list := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		if !sub.Hidden && c.Name() != "completion" {
			list = append(list, withSubcommands(sub)...)
		}
	}
	return list
}

// printMarkdown prints the help of each command as a section.
func printMarkdown(_ *App, w io.Writer, commands []*cobra.Command, all bool) {
	section := func(title string, help func(io.Writer)) {
		fmt.Fprintf(w, "## %s\n\n```text\n", title)
		help(w)
		fmt.Fprint(w, "```\n")
	}
	if all {
		fmt.Fprint(w, "# Commands\n\nThis page is what handoff help all --format md prints.\n\n")
		section("All commands", func(w io.Writer) { printAllCommands(w, commands[0].Root()) })
		defer printOtherNames(w, commands[0].Root())
		commands = commands[1:]
	}
	for i, c := range commands {
		if all || i > 0 {
			fmt.Fprintln(w)
		}
		section(c.CommandPath(), func(w io.Writer) { printHelp(w, c) })
	}
}

// printOtherNames prints the names that help does not list, with their commands.
func printOtherNames(w io.Writer, root *cobra.Command) {
	fmt.Fprint(w, "\n## Other names\n\n| name | command |\n|---|---|\n")
	var walk func(c *cobra.Command, parent string)
	walk = func(c *cobra.Command, parent string) {
		for _, alias := range c.Aliases {
			fmt.Fprintf(w, "| `%s` | `%s` |\n", parent+" "+alias, c.CommandPath())
		}
		for _, sub := range c.Commands() {
			walk(sub, c.CommandPath())
		}
	}
	walk(root, "")
}

// printManual prints a manual page for each command, in the macros of man(7).
func printManual(_ *App, w io.Writer, commands []*cobra.Command, _ bool) {
	for _, c := range commands {
		root := c.Root()
		version, _, _ := strings.Cut(root.Version, " ")
		page := manualName(c)
		fmt.Fprintf(w, ".TH %s 1 \"\" \"%s %s\"\n", roff(strings.ToUpper(page)), shortName, roff(version))
		fmt.Fprintf(w, ".SH NAME\n%s \\- %s\n", roff(page), roff(firstLower(c.Short)))
		fmt.Fprintf(w, ".SH SYNOPSIS\n.B %s\n", roff(usageLine(c)))
		fmt.Fprint(w, ".SH DESCRIPTION\n")
		manualText(w, helpText(c))
		if c == root {
			manualCommands(w, "COMMANDS", withSubcommands(root)[1:])
		} else if c.HasAvailableSubCommands() {
			manualCommands(w, "COMMANDS", withSubcommands(c)[1:])
		}
		for _, group := range flagGroups(c) {
			fmt.Fprintf(w, ".SH %s\n", roff(strings.ToUpper(group.title)))
			for _, row := range group.rows {
				fmt.Fprintf(w, ".TP\n.B %s\n%s\n", roff(strings.TrimSpace(row[0])), roff(row[1]))
			}
		}
		if c.Example != "" {
			fmt.Fprint(w, ".SH EXAMPLES\n")
			manualText(w, c.Example)
		}
		if c == root {
			manualExitCodes(w)
		}
		fmt.Fprint(w, ".SH SEE ALSO\n")
		if c == root {
			fmt.Fprintf(w, "Each command has a page of its own, such as %s.\n", roff("handoff-publish(1)"))
		} else {
			fmt.Fprintf(w, "%s(1)\n", roff(manualName(root)))
		}
	}
}

// manualCommands prints a section with commands and what they do.
func manualCommands(w io.Writer, title string, commands []*cobra.Command) {
	fmt.Fprintf(w, ".SH %s\n", title)
	for _, c := range commands {
		fmt.Fprintf(w, ".TP\n.B %s\n%s\n", roff(manualName(c)+"(1)"), roff(c.Short))
	}
}

// manualExitCodes prints the table of exit codes.
func manualExitCodes(w io.Writer) {
	fmt.Fprint(w, ".SH EXIT STATUS\n.TP\n.B 0\nsuccess\n.TP\n.B 1\nnegative result\n")
	kinds := make([]handoff.Kind, 0, len(exitCodes))
	for kind := range exitCodes {
		kinds = append(kinds, kind)
	}
	order.Sort(kinds, func(a, b handoff.Kind) int { return exitCodes[a] - exitCodes[b] })
	for _, kind := range kinds {
		fmt.Fprintf(w, ".TP\n.B %d\n%s\n", exitCodes[kind], roff(string(kind)))
	}
}

// manualName returns the name of the manual page of a command.
func manualName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// manualText prints paragraphs. Indented lines are printed as they are.
func manualText(w io.Writer, text string) {
	verbatim, start := false, true
	set := func(on bool) {
		if on != verbatim {
			fmt.Fprintln(w, map[bool]string{true: ".nf", false: ".fi"}[on])
		}
		verbatim = on
	}
	for line := range strings.Lines(strings.Trim(text, "\n")) {
		line = strings.TrimRight(line, " \n")
		if line == "" {
			set(false)
			fmt.Fprintln(w, ".PP")
			start = true
			continue
		}
		set(strings.HasPrefix(line, " ") || verbatim && !start)
		fmt.Fprintln(w, roff(line))
		start = false
	}
	set(false)
}

var roffEscapes = strings.NewReplacer(`\`, `\e`, `-`, `\-`, `'`, `\(aq`, "`", "\\(ga", `"`, `\(dq`, `^`, `\(ha`, `~`, `\(ti`)

// roff escapes a line for the input of man: a text that starts with a dot is no request.
func roff(s string) string {
	s = roffEscapes.Replace(s)
	if strings.HasPrefix(s, ".") {
		return `\&` + s
	}
	return s
}

// firstLower returns a phrase in lower case, as a manual page names it.
func firstLower(s string) string { return strings.ToLower(s[:1]) + s[1:] }
