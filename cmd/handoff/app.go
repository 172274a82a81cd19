package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/local"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The exit codes: one table for all commands.
const (
	exitNo          = 1 // what was asked says no
	exitInvalid     = 2
	exitNotFound    = 3
	exitConflict    = 4
	exitUnavailable = 5
	exitCorrupt     = 6
	exitUnsupported = 7
	exitBug         = 70
)

var exitCodes = map[handoff.Kind]int{
	handoff.Invalid: exitInvalid, handoff.NotFound: exitNotFound, handoff.Conflict: exitConflict,
	handoff.Unavailable: exitUnavailable, handoff.Corrupt: exitCorrupt, handoff.Unsupported: exitUnsupported,
}

// errNo is the answer no: it has been printed already.
var errNo = errors.New("no")

// An exitCode ends the process with a code of its own. Why has been printed
// already.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

// An app is the command line and all that it takes from outside.
type app struct {
	in       io.Reader
	out, err io.Writer
	terminal bool // out is one
	width    int  // of the terminal
	watched  bool // err is a terminal
	dir      string
	getenv   func(string) string
	now      func() time.Time
	rand     io.Reader
	self     string // this program, to run it again

	workspace string // --workspace
}

// The groups of commands, in the order of the help.
const (
	handOver = "over"
	find     = "find"
	sessions = "sessions"
	care     = "care"
)

// commands are all commands, a file each.
var commands = []func(*app) *cobra.Command{
	publishCommand, writeCommand, withdrawCommand,
	showCommand, listCommand, readCommand, watchCommand, waitCommand, threadCommand,
	sessionCommand,
	demoCommand, checkCommand, gcCommand, configCommand,
}

// run runs one command line and returns its exit code.
func (a *app) run(ctx context.Context, args []string) int {
	out := bufio.NewWriter(a.out)
	a.out = out
	root := a.root()
	root.SetArgs(args)
	c, err := root.ExecuteContextC(ctx)
	err = refused(c, err)
	if flushed := out.Flush(); err == nil {
		err = flushed
	}
	return a.exit(err)
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "handoff",
		Short: "handoff records what agents hand to each other, and finds it again",
		Long: `handoff records which files of several agents' work matter, who made them,
from what, and in place of what, so that the next agent finds them by a short
reference. Files stay where they are; only references travel.`,
		Example:       "  handoff publish review.md --channel verification --title 'Security review'\n  handoff list --channel verification\n  handoff demo",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,

		SuggestionsMinimumDistance: 2,
	}
	root.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return c.Help()
		}
		return unknownCommand(root, args[0])
	}
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.PersistentFlags().StringVar(&a.workspace, "workspace", "", "the workspace's `directory` (default: found from the current one)")
	root.SetFlagErrorFunc(flagError)
	root.AddGroup(&cobra.Group{ID: handOver, Title: "Hand over:"}, &cobra.Group{ID: find, Title: "Find:"}, &cobra.Group{ID: sessions, Title: "Sessions:"},
		&cobra.Group{ID: care, Title: "Set up and care:"})
	root.SetHelpCommandGroupID(care)
	root.SetCompletionCommandGroupID(care)
	for _, command := range commands {
		root.AddCommand(command(a))
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
					return unknownCommand(root, rest[0])
				}
				return nil
			}
		case "completion":
			c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
		}
	}
}

// refused gives the errors of cobra's that have no kind one: they are about
// the caller's words.
func refused(c *cobra.Command, err error) error {
	var e *handoff.Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	for _, words := range []error{c.ValidateArgs(c.Flags().Args()), c.ValidateRequiredFlags(), c.ValidateFlagGroups()} {
		if words != nil && words.Error() == err.Error() {
			return &handoff.Error{Op: c.Name(), Kind: handoff.Invalid, Err: err, Hint: c.CommandPath() + " --help shows how it is used"}
		}
	}
	return err
}

// unknownCommand names what the caller may have meant.
func unknownCommand(root *cobra.Command, name string) error {
	hint := root.CommandPath() + " --help lists the commands"
	if near := root.SuggestionsFor(name); len(near) > 0 {
		hint = "did you mean " + strings.Join(near[:min(len(near), 3)], ", ") + "?"
	}
	return &handoff.Error{Op: name, Kind: handoff.Invalid, Err: errors.New("no such command"), Hint: hint}
}

// flagError is called for flags that can't be parsed.
func flagError(c *cobra.Command, err error) error {
	hint := c.CommandPath() + " --help lists the flags"
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		if near := nearestFlag(c, unknown.GetSpecifiedName()); near != "" {
			hint = "did you mean --" + near + "?"
		}
	}
	return &handoff.Error{Op: c.Name(), Kind: handoff.Invalid, Err: err, Hint: hint}
}

func nearestFlag(c *cobra.Command, name string) string {
	best, least := "", 3
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if d := distance(name, f.Name); d < least || strings.HasPrefix(f.Name, name) && best == "" {
			best, least = f.Name, d
		}
	})
	return best
}

// distance is the number of single characters by which two words differ.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j]+1, row[j+1]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}

// exit prints what went wrong, with its hint on a line of its own, and returns
// its code.
func (a *app) exit(err error) int {
	var code exitCode
	switch {
	case errors.As(err, &code):
		return int(code)
	case err == nil:
		return 0
	case errors.Is(err, errNo):
		return exitNo
	case errors.Is(err, context.Canceled):
		return 130
	}
	fmt.Fprintf(a.err, "handoff: %s\n", oneLine(err.Error()))
	var e *handoff.Error
	if !errors.As(err, &e) {
		return exitBug
	}
	if e.Hint != "" {
		fmt.Fprintf(a.err, "hint: %s\n", oneLine(e.Hint))
	}
	for kind, code := range exitCodes {
		if errors.Is(e.Kind, kind) {
			return code
		}
	}
	return exitBug
}

func (a *app) warn(format string, args ...any) {
	fmt.Fprintf(a.err, "handoff: warning: %s\n", oneLine(fmt.Sprintf(format, args...)))
}

// open opens the workspace of the current directory.
func (a *app) open() (*local.Workspace, error) {
	getenv := a.getenv
	if a.workspace != "" {
		getenv = func(name string) string {
			if name == "HANDOFF_WORKSPACE" {
				return a.workspace
			}
			return a.getenv(name)
		}
	}
	return local.Open(a.dir, local.Options{Getenv: getenv, Now: a.now, Rand: a.rand, Progress: a.progress()})
}

// reading runs do with an open workspace.
func (a *app) reading(do func(*local.Workspace) error) error {
	w, err := a.open()
	if err != nil {
		return err
	}
	defer w.Close()
	return do(w)
}

// writing runs do with an open workspace, and says so if do has made it.
func (a *app) writing(do func(*local.Workspace) error) error {
	return a.reading(func(w *local.Workspace) error {
		_, before := os.Stat(w.Runtime)
		err := do(w)
		if _, after := os.Stat(w.Runtime); before != nil && after == nil {
			fmt.Fprintf(a.err, "created workspace %s\n", w.Root)
		}
		return err
	})
}

// exactly returns an error unless there are n arguments.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == n {
			return nil
		}
		reason := fmt.Errorf("takes %s, not %d arguments", what, len(args))
		if n == 0 {
			reason = fmt.Errorf("takes no arguments, not %q", args[0])
		}
		return &handoff.Error{Op: c.Name(), Kind: handoff.Invalid, Err: reason, Hint: "usage: " + c.UseLine()}
	}
}

// invalid is an error in the caller's words.
func invalid(op, name, reason, hint string) error {
	return &handoff.Error{Op: op, Name: name, Kind: handoff.Invalid, Err: errors.New(reason), Hint: hint}
}
