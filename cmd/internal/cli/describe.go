package cli

import (
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A helpAnswer is the help of commands for programs.
type helpAnswer struct {
	Commands []commandHelp `json:"commands"`
	Flags    []flagHelp    `json:"flags"` // of every command
}

// A commandHelp is the help of one command.
type commandHelp struct {
	Name     string     `json:"name"` // the words that call it
	Aliases  []string   `json:"aliases,omitempty"`
	Group    string     `json:"group,omitempty"`
	Usage    string     `json:"usage"`
	Summary  string     `json:"summary"`
	Text     string     `json:"text,omitempty"`
	Examples string     `json:"examples,omitempty"`
	Flags    []flagHelp `json:"flags"`
}

// A flagHelp is the help of one flag.
type flagHelp struct {
	Name      string `json:"name"`
	Shorthand string `json:"shorthand,omitempty"`
	Value     string `json:"value,omitempty"` // the name of its value; a flag without one takes none
	Default   string `json:"default,omitempty"`
	Repeated  bool   `json:"repeated,omitempty"` // it can be given more than once
	Usage     string `json:"usage"`
}

// printDescriptions prints the help of commands and their subcommands as JSON.
func printDescriptions(_ *App, w io.Writer, commands []*cobra.Command, _ bool) {
	h := helpAnswer{Commands: []commandHelp{}, Flags: flagsHelp(commands[0].Root().PersistentFlags())}
	for _, c := range withSubcommands(commands[0]) {
		if c.HasParent() {
			h.Commands = append(h.Commands, commandHelp{Name: path(c), Aliases: c.Aliases, Group: groupOf(path(c)),
				Usage: c.UseLine(), Summary: c.Short, Text: strings.TrimSpace(c.Long), Examples: c.Example,
				Flags: flagsHelp(c.NonInheritedFlags())})
		}
	}
	printAsJSON(w, h)
}

// groupOf returns the title of the group that help lists a command in, "" for none.
func groupOf(name string) string {
	for _, g := range groups {
		if slices.Contains(g.commands, name) {
			return g.title
		}
	}
	return ""
}

func flagsHelp(flags *pflag.FlagSet) []flagHelp {
	list := []flagHelp{}
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		wrapped := f.Value
		if s, ok := wrapped.(*single); ok {
			wrapped = s.Value
		}
		_, repeated := wrapped.(pflag.SliceValue)
		list = append(list, flagHelp{f.Name, f.Shorthand, value, defaultOf(f), repeated, usage})
	})
	return list
}
