package cli

import (
	"errors"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/nearest"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Group is the action of a command that only has subcommands: its help.
func Group(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return c.Help()
	}
	return unknownCommand(c, args[0])
}

// similar are commands for what a person may look for under another name.
var similar = map[string]string{
	"apply": "read",
}

// unknownCommand is the error about a command that does not exist. Its hint
// names similar ones.
func unknownCommand(parent *cobra.Command, name string) error {
	hint := helpHint(parent, "list the commands")
	if parent == parent.Root() {
		hint = handoff.Advice("to list the commands, run: " + parent.Name() + " help all")
	}
	parent.SuggestionsMinimumDistance = 2
	near := slices.DeleteFunc(parent.SuggestionsFor(name), func(c string) bool {
		return !strings.HasPrefix(c, name) && 2*nearest.Distance(c, name) >= len(name) // as different as any two short words
	})
	if known := similar[name]; known != "" && parent == parent.Root() {
		hint = handoff.Advice("the nearest command is: " + parent.Name() + " " + known)
	} else if len(near) > 0 {
		hint = handoff.Advice("did you mean " + strings.Join(near[:min(len(near), 3)], ", ") + "?")
	}
	return handoff.E(strings.TrimSpace(op(parent)+" "+name), "", handoff.Invalid, errors.New("no such command"), hint)
}

// op is the operation that an error about a command's arguments names: the
// command without the program.
func op(c *cobra.Command) string {
	return strings.TrimSpace(strings.TrimPrefix(c.CommandPath(), c.Root().Name()))
}

func nearestFlag(c *cobra.Command, name string) string {
	best, least := "", 3
	c.Flags().VisitAll(func(f *pflag.Flag) {
		d := nearest.Distance(name, f.Name)
		if 2*d < len(name) && d < least || strings.HasPrefix(f.Name, name) && best == "" {
			best, least = f.Name, d
		}
	})
	return best
}
