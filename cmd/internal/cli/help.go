package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/clipperhouse/displaywidth"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpWidth is the number of columns that help fits into.
const helpWidth = 80

const rootIntro = `handoff gives each output of an agent a short reference: who made it, from
what, whether it is current, and the bytes as published.
`

const rootExample = `  handoff publish review.md --channel verification --title 'Security review'
  handoff list --channel verification
  handoff read REF`

// addHelp gives the program its help: a short one, one of all commands, and one
// of each command.
func (a *App) addHelp(root *cobra.Command) {
	root.SetHelpFunc(func(c *cobra.Command, _ []string) {
		var text strings.Builder
		printHelp(&text, c)
		io.WriteString(a.Out, a.named(text.String()))
	})
	root.SetHelpCommand(a.helpCommand(root))
	root.InitDefaultHelpCmd()
}

// printHelp prints the help of a command, that of the root in its short form.
func printHelp(w io.Writer, c *cobra.Command) {
	if c.HasParent() {
		printCommandHelp(w, c)
	} else {
		printRootHelp(w, c)
	}
}

func printRootHelp(w io.Writer, root *cobra.Command) {
	fmt.Fprintf(w, "%s\nUsage: %s\n", rootIntro, usageLine(root))
	for _, group := range groups {
		var rows [][2]string
		for _, name := range group.commands {
			if c, _, err := root.Find(strings.Fields(name)); err == nil && slices.Contains(primary, name) {
				rows = append(rows, [2]string{name, c.Short})
			}
		}
		if len(rows) > 0 {
			fmt.Fprintf(w, "\n%s:\n", group.title)
			columns(w, rows)
		}
	}
	fmt.Fprint(w, "\nTo list all commands, run: handoff help all\n")
}

// printAllCommands lists the commands by group, each with its subcommands.
func printAllCommands(w io.Writer, root *cobra.Command) {
	for _, group := range groups {
		var rows [][2]string
		for _, name := range group.commands {
			if c, _, err := root.Find(strings.Fields(name)); err == nil {
				rows = append(rows, [2]string{name, c.Short})
			}
		}
		fmt.Fprintf(w, "%s:\n", group.title)
		columns(w, rows)
		fmt.Fprintln(w)
	}
	for _, line := range textfmt.Wrap("More commands: "+strings.Join(more(root), ", ")+".", helpWidth-1) {
		fmt.Fprintln(w, line)
	}
	printFlags(w, root)
}

func printCommandHelp(w io.Writer, c *cobra.Command) {
	fmt.Fprintf(w, "%s\n\nUsage: %s\n", helpText(c), usageLine(c))
	if c.Example != "" {
		fmt.Fprintf(w, "\nExamples:\n%s\n", strings.TrimRight(c.Example, "\n"))
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\nCommands:\n")
		var rows [][2]string
		for _, sub := range c.Commands() {
			if !sub.Hidden {
				rows = append(rows, [2]string{sub.Name(), sub.Short})
			}
		}
		columns(w, rows)
	}
	printFlags(w, c)
}

// helpText returns what the help says about a command.
func helpText(c *cobra.Command) string {
	if !c.HasParent() {
		return strings.TrimSpace(rootIntro)
	}
	return cmp.Or(strings.TrimSpace(c.Long), c.Short+".")
}

// usageLine returns how a command is called.
func usageLine(c *cobra.Command) string {
	if !c.HasParent() {
		return "handoff COMMAND [flags]"
	}
	return c.UseLine()
}

// flagGroup is the annotation that names the group of a flag in the help.
const flagGroup = "handoff_group"

const (
	outputFlags = "Output flags"
	globalFlags = "Global flags"
)

// GroupFlags shows flags of a command under a title of their own in its help.
func GroupFlags(c *cobra.Command, title string, names ...string) {
	for _, name := range names {
		if err := c.Flags().SetAnnotation(name, flagGroup, []string{title}); err != nil {
			panic(err) // the flag is missing
		}
	}
}

// A titledRows is a part of the help: rows of a name and a text under a title.
type titledRows struct {
	title string
	rows  [][2]string
}

func printFlags(w io.Writer, c *cobra.Command) {
	for _, group := range flagGroups(c) {
		fmt.Fprintf(w, "\n%s:\n", group.title)
		columns(w, group.rows)
	}
}

// flagGroups returns the flags of a command by their titles, in the order of the help.
func flagGroups(c *cobra.Command) (groups []titledRows) {
	add := func(f *pflag.Flag, title string) {
		if f.Hidden {
			return
		}
		if named := f.Annotations[flagGroup]; len(named) > 0 {
			title = named[0]
		}
		switch f.Name {
		case "help":
			title, f.Usage = globalFlags, "show help"
		case "version":
			f.Usage = "show the version"
		}
		i := slices.IndexFunc(groups, func(g titledRows) bool { return g.title == title })
		if i < 0 {
			i, groups = len(groups), append(groups, titledRows{title: title})
		}
		groups[i].rows = append(groups[i].rows, [2]string{flagName(f), flagUsage(f)})
	}
	own := "Flags"
	if !c.HasParent() {
		own = globalFlags
	}
	c.LocalFlags().VisitAll(func(f *pflag.Flag) { add(f, own) })
	c.InheritedFlags().VisitAll(func(f *pflag.Flag) { add(f, globalFlags) })
	order.Sort(groups, func(a, b titledRows) int { return helpRank(a.title) - helpRank(b.title) })
	return groups
}

// helpRank puts a command's own flags first and the global ones last.
func helpRank(title string) int {
	switch title {
	case "Flags":
		return 0
	case outputFlags:
		return 2
	case globalFlags:
		return 3
	}
	return 1
}

// flagName returns a flag as it is typed, with the name of its value.
func flagName(f *pflag.Flag) string {
	value, _ := pflag.UnquoteUsage(f)
	name := "    --" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", --" + f.Name
	}
	switch {
	case value == "":
		return name
	case f.NoOptDefVal != "":
		return name + "[=" + value + "]"
	}
	return name + " " + value
}

func flagUsage(f *pflag.Flag) string {
	_, usage := pflag.UnquoteUsage(f)
	if standard := defaultOf(f); standard != "" {
		usage += " (default " + standard + ")"
	}
	return usage
}

// defaultOf returns the default of a flag, "" for the zero value.
func defaultOf(f *pflag.Flag) string {
	standard := strings.Trim(f.DefValue, "[]")
	if slices.Contains([]string{"0", "0s", "false"}, standard) {
		return ""
	}
	return standard
}

// columns prints rows of a name and a text. The texts are wrapped.
func columns(w io.Writer, rows [][2]string) {
	const longest = 28
	left := 0
	for _, row := range rows {
		if n := displaywidth.String(row[0]); n <= longest {
			left = max(left, n)
		}
	}
	for _, row := range rows {
		if displaywidth.String(row[0]) > left {
			fmt.Fprintf(w, "  %s\n", row[0])
			row[0] = ""
		}
		for i, line := range textfmt.Wrap(row[1], helpWidth-left-2*len(gap)) {
			if i > 0 {
				row[0] = ""
			}
			fmt.Fprintln(w, strings.TrimRight(gap+row[0]+strings.Repeat(" ", left-displaywidth.String(row[0]))+gap+line, " "))
		}
	}
}
