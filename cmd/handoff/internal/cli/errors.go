package cli

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/agent-handoff/handoff"
	"github.com/spf13/cobra"
)

// The exit codes: one table for all commands.
const (
	ExitNo          = 1 // what was asked says no
	ExitInvalid     = 2
	ExitNotFound    = 3
	ExitConflict    = 4
	ExitUnavailable = 5
	ExitCorrupt     = 6
	ExitUnsupported = 7
	ExitBug         = 70
)

var exitCodes = map[handoff.Kind]int{
	handoff.Invalid: ExitInvalid, handoff.NotFound: ExitNotFound, handoff.Conflict: ExitConflict,
	handoff.Unavailable: ExitUnavailable, handoff.Corrupt: ExitCorrupt, handoff.Unsupported: ExitUnsupported,
}

// ErrNo is the answer no: it has been printed already.
var ErrNo = errors.New("no")

// An ExitCode ends the process with a code of its own. Why has been printed
// already.
type ExitCode int

func (c ExitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

// A Coded is an error that is printed as any other, and ends the process with a
// code of its own.
type Coded struct {
	Code int
	Err  error
}

func (c Coded) Error() string { return c.Err.Error() }
func (c Coded) Unwrap() error { return c.Err }

// exit prints what went wrong, with its hint on a line of its own, and returns
// its code.
func (a *App) exit(err error) int {
	var code ExitCode
	switch {
	case errors.As(err, &code):
		return int(code)
	case err == nil:
		return 0
	case errors.Is(err, ErrNo):
		return ExitNo
	case errors.Is(err, context.Canceled):
		return 130
	}
	fmt.Fprintf(a.Err, "handoff: %s\n", OneLine(err.Error()))
	var e *handoff.Error
	if errors.As(err, &e) && !e.Hint.IsZero() {
		fmt.Fprintf(a.Err, "hint: %s\n", OneLine(hintText(e.Hint)))
	}
	var coded Coded
	var errno syscall.Errno
	switch {
	case errors.As(err, &coded):
		return coded.Code
	case e == nil && errors.As(err, &errno): // the machine's: a full disk behind standard output
		return ExitUnavailable
	case e == nil:
		return ExitBug
	}
	for kind, code := range exitCodes {
		if errors.Is(e.Kind, kind) {
			return code
		}
	}
	return ExitBug
}

// Warn tells of what the caller should know, but is not stopped by.
func (a *App) Warn(format string, args ...any) {
	fmt.Fprintf(a.Err, "handoff: warning: %s\n", OneLine(fmt.Sprintf(format, args...)))
}

// Invalid is an error in the caller's words.
func Invalid(op, name, reason, hint string) error {
	return &handoff.Error{Op: op, Name: name, Kind: handoff.Invalid, Err: errors.New(reason), Hint: handoff.Advice(hint)}
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
			return &handoff.Error{Op: op(c), Kind: handoff.Invalid, Err: err, Hint: handoff.Advice(c.CommandPath() + " --help shows how it is used")}
		}
	}
	return err
}
