// Package cli has what every command needs: the streams, the workspace, the
// caller's identity, and the printing of answers, errors and help.
package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/storage"
	"github.com/spf13/cobra"
)

// An App is the command line and everything that it takes from outside.
type App struct {
	In       io.Reader
	Out, Err io.Writer
	Terminal bool // Out is a terminal
	Width    int  // columns of the terminal
	Watched  bool // Err is a terminal
	Typed    bool // In is a terminal
	Dir      string
	Getenv   func(string) string
	Now      func() time.Time
	Rand     io.Reader
	Self     string // path of this program
	Version  string // of this program
	AsJSON   bool   // --json was given
	Backends []storage.Backend

	// Hold is called by a command that sees to its end after a signal itself. Otherwise the
	// process is ended soon after it.
	Hold func()

	AllowSecret bool // --allow-secret was given

	args      []string
	workspace string   // --workspace
	streaming bool     // the answer is a stream of JSON objects
	fields    []string // --fields
	selecting bool     // --fields was given
	published string   // the ID of the artifact that the command published
	sent      *counter // what Out is written to
	completed bool     // a command that records has done so

	answers map[*cobra.Command][]Answer // what the commands print with --json

	commandNames []string       // of all commands
	commandLine  *regexp.Regexp // finds commands in a text
}

// A Command is one command of the command line. It is constructed when it is
// called: to construct all commands takes longer than many answers.
type Command struct {
	New   func(*App) *cobra.Command
	Names []string // its name and aliases
}

// NewCommand returns the command with a name and its aliases.
func NewCommand(new func(*App) *cobra.Command, names ...string) Command {
	return Command{new, names}
}

// The help lists commands in the order in which they are registered.
func init() { cobra.EnableCommandSorting = false }

// Run runs one command line, made of commands, and returns its exit code.
func (a *App) Run(ctx context.Context, commands []Command, args []string) int {
	sent := &counter{Writer: a.Out}
	out := bufio.NewWriter(sent)
	a.Out, a.sent, a.args = out, sent, args
	if a.Hold == nil {
		a.Hold = func() {}
	}
	for _, c := range commands {
		a.commandNames = append(a.commandNames, c.Names...)
	}
	if slices.Equal(args, []string{"--version"}) { // without cobra, which takes 1 ms to set up
		fmt.Fprintf(out, "%s version %s\n", Name(), a.Version)
		return a.exit(out.Flush(), true)
	}
	if len(args) == 0 { // what a person wants to know who only knows the name
		args = []string{"news", "--keep-unread"}
	}
	root := a.root(commands, args)
	root.SetArgs(args)
	c, err := root.ExecuteContextC(ctx)
	err = interrupted(ctx, err)
	if flushed := out.Flush(); flushed != nil && (err == nil || errors.Is(err, ErrNo) || errors.Is(err, flushed)) {
		err = a.unprinted(flushed)
	}
	code := a.exit(usageError(c, err), sent.n > 0)
	_ = out.Flush() // an error, whose exit code is its report
	return code
}

// interrupted returns the signal that ended a command instead of the error that it ended
// with, unless the command has chosen its exit code.
func interrupted(ctx context.Context, err error) error {
	var ended Ended
	var code ExitCode
	var coded Coded
	chosen := errors.As(err, &code) || errors.As(err, &coded)
	if err != nil && ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.As(context.Cause(ctx), &ended) &&
		!chosen) {
		return context.Cause(ctx)
	}
	return err
}

// unprinted is the error about an answer that could not be printed. A caller that
// runs a command again that has recorded something would record it twice.
func (a *App) unprinted(err error) error {
	switch {
	case a.published != "":
		return handoff.E("", "", handoff.Unavailable,
			fmt.Errorf("published as %s, but the answer could not be printed: %w", a.published, err),
			handoff.Suggest("show the artifact", handoff.ActionShow, a.published))
	case a.completed:
		return handoff.E("", "", handoff.Unavailable,
			fmt.Errorf("the command was completed, but the answer could not be printed: %w", err),
			handoff.Advice("do not repeat it: "+CommandLine(handoff.ActionListAll)+" and "+CommandLine(handoff.ActionSessions)+
				" show what was recorded"))
	}
	return err
}

// Published prints the artifact that a command published, as JSON or as text.
func (a *App) Published(p handoff.Published, text string) error {
	a.published = p.ID
	if p.Queued {
		fmt.Fprintf(a.Err, "queued %s: it is stored when the log can be reached\n", p.ID)
	}
	if a.AsJSON {
		return a.JSON(p)
	}
	_, err := fmt.Fprintln(a.Out, text)
	return err
}

// A counter counts the bytes that are written to a writer, until it fails.
type counter struct {
	io.Writer
	n   int
	err error
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.n += n
	c.err = cmp.Or(c.err, err)
	return n, err
}

// called returns the command that a command line begins with, otherwise all.
func called(commands []Command, args []string) []Command {
	for i, c := range commands {
		if len(args) > 0 && slices.Contains(c.Names, args[0]) {
			return commands[i : i+1]
		}
	}
	return commands
}

func (a *App) root(commands []Command, args []string) *cobra.Command {
	root := &cobra.Command{
		Use:           Name(),
		Short:         "Give the outputs of agents short references",
		Example:       rootExample,
		Version:       a.Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE:          Group,
	}
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error { return a.checkOutput(c) }
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.PersistentFlags().StringVar(&a.workspace, "workspace", "", "use the workspace in this `directory`")
	root.SetFlagErrorFunc(a.flagError)
	for _, command := range called(commands, args) {
		root.AddCommand(command.New(a))
	}
	a.addHelp(root)
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Use, c.Short = "completion COMMAND", "Print a completion script for a shell"
			c.Long = "Completion prints a script with which a shell completes the commands, flags,\nrefs and channels of " +
				"handoff. The help of each shell's command shows how to\nload it."
			c.Example = "  source <(handoff completion bash)"
			c.Args, c.RunE = cobra.ArbitraryArgs, Group
		}
	}
	rejectRepeats(root)
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		unquoteUsages(root)
	}
	return root
}
