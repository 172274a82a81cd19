// Package cli is what every command stands on: the streams, the workspace it
// opens, who calls, and how what it found is printed or refused.
package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
)

// An App is the command line and all that it takes from outside.
type App struct {
	In       io.Reader
	Out, Err io.Writer
	Terminal bool // Out is one
	Width    int  // of the terminal
	Watched  bool // Err is a terminal
	Dir      string
	Getenv   func(string) string
	Now      func() time.Time
	Rand     io.Reader
	Self     string // this program, to run it again
	Version  string // of it
	AsJSON   bool   // --json was given

	workspace string // --workspace
}

// A Command is one command of the command line, which is made when it is
// called: to make all takes longer than many an answer.
type Command struct {
	New   func(*App) *cobra.Command
	names []string
}

// Named returns the command that is called by a name and its aliases.
func Named(new func(*App) *cobra.Command, names ...string) Command { return Command{new, names} }

// The groups of commands, in the order of the help.
const (
	HandOver  = "over"
	Find      = "find"
	Sessions  = "sessions"
	Pipelines = "pipelines"
	Care      = "care"
)

// Commands stand in the help in their own order, which tells a story.
func init() { cobra.EnableCommandSorting = false }

// Run runs one command line, made of commands, and returns its exit code.
func (a *App) Run(ctx context.Context, commands []Command, args []string) int {
	out := bufio.NewWriter(a.Out)
	a.Out = out
	if slices.Equal(args, []string{"--version"}) { // without cobra, which takes 1 ms to set up
		fmt.Fprintf(out, "handoff version %s\n", a.Version)
		return a.exit(out.Flush())
	}
	root := a.root(called(commands, args))
	root.SetArgs(args)
	c, err := root.ExecuteContextC(ctx)
	err = refused(c, err)
	if flushed := out.Flush(); err == nil {
		err = flushed
	}
	return a.exit(err)
}

// Names returns the name of a command and its aliases.
func (c Command) Names() []string { return c.names }

// called returns the command that the arguments begin with, else all.
func called(commands []Command, args []string) []Command {
	for i, c := range commands {
		if len(args) > 0 && slices.Contains(c.names, args[0]) {
			return commands[i : i+1]
		}
	}
	return commands
}

func (a *App) root(commands []Command) *cobra.Command {
	root := &cobra.Command{
		Use:   "handoff",
		Short: "handoff records what agents hand to each other, and finds it again",
		Long: `handoff records which files of several agents' work matter, who made them,
from what, and in place of what, so that the next agent finds them by a short
reference. Files stay where they are; only references travel.`,
		Example:       "  handoff publish review.md --channel verification --title 'Security review'\n  handoff list --channel verification\n  handoff demo",
		Version:       a.Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,

		SuggestionsMinimumDistance: 2,
	}
	root.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return c.Help()
		}
		return UnknownCommand(root, args[0])
	}
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.PersistentFlags().StringVar(&a.workspace, "workspace", "", "the workspace's `directory` (default: found from the current one)")
	root.SetFlagErrorFunc(flagError)
	root.AddGroup(&cobra.Group{ID: HandOver, Title: "Hand over:"}, &cobra.Group{ID: Find, Title: "Find:"}, &cobra.Group{ID: Sessions, Title: "Sessions:"},
		&cobra.Group{ID: Pipelines, Title: "Pipelines:"}, &cobra.Group{ID: Care, Title: "Set up and care:"})
	root.SetHelpCommandGroupID(Care)
	root.SetCompletionCommandGroupID(Care)
	for _, command := range commands {
		root.AddCommand(command.New(a))
	}
	strict(root)
	return root
}

// strict makes cobra's own commands refuse words that they don't know, where
// they would print a help and succeed.
func strict(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Args = func(_ *cobra.Command, args []string) error {
				if _, rest, _ := root.Find(args); len(rest) > 0 {
					return UnknownCommand(root, rest[0])
				}
				return nil
			}
		case "completion":
			c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
		}
	}
}
