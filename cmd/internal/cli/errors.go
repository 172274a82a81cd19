package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"syscall"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The exit codes that follow from no kind of error.
const (
	ExitNo  = 1  // a negative result: a check, gate or validation failed
	ExitBug = 70 // an internal error
)

// ExitUnavailable is the exit code of [handoff.Unavailable].
const ExitUnavailable = 5

// exitCodes is the table of exit codes. README and docs/json.md repeat it.
var exitCodes = map[handoff.Kind]int{
	handoff.Invalid:     2,
	handoff.NotFound:    3,
	handoff.Conflict:    4,
	handoff.Unavailable: ExitUnavailable,
	handoff.Corrupt:     6,
	handoff.Unsupported: 7,
	internalError:       ExitBug,
}

// internalError is the kind that a JSON error has when it has no other.
const internalError handoff.Kind = "internal"

// ErrNo is a negative result, which has already been printed.
var ErrNo = errors.New("no")

// An ExitCode ends the process with a code of its own. The reason has already
// been printed.
type ExitCode int

func (c ExitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

// Ended is the cause of a canceled context: a signal that ends the command.
type Ended syscall.Signal

func (e Ended) Error() string { return syscall.Signal(e).String() }

// The exit codes of a command that never ran a program: env(1).
const (
	ExitNotStarted  = 125
	ExitNotRunnable = 126
	ExitNotFound    = 127
)

// ExitSignalled is added to the number of a signal that ends a command, as a shell
// does.
const ExitSignalled = 128

// A Coded is an error that is printed like any other and ends the process with
// a code of its own.
type Coded struct {
	Code int
	Err  error
}

func (c Coded) Error() string { return c.Err.Error() }
func (c Coded) Unwrap() error { return c.Err }

// A Failure is an error as --json prints it, in an object under "error".
type Failure struct {
	Kind     handoff.Kind `json:"kind"`
	Op       string       `json:"op,omitempty"`
	Name     string       `json:"name,omitempty"`
	Message  string       `json:"message"`
	Details  []string     `json:"details,omitempty"`
	Hint     string       `json:"hint,omitempty"`
	ExitCode int          `json:"exitCode"`
}

// NewFailure returns what is printed of an error.
func NewFailure(err error) Failure {
	f := Failure{Kind: internalError, Message: sentence(err.Error())}
	var e *handoff.Error
	var errno syscall.Errno
	switch {
	case errors.As(err, &e):
		f.Op, f.Name = shorten(e.Op), shorten(withoutUserinfo(e.Name))
		f.Hint = sentence(HintText(e.Hint))
		for _, text := range e.Details {
			f.Details = append(f.Details, sentence(text))
		}
		if _, known := exitCodes[e.Kind]; known {
			f.Kind = e.Kind
		}
	case errors.As(err, &errno): // the system's: a full disk behind standard output
		f.Kind = handoff.Unavailable
	}
	f.ExitCode = exitCodes[f.Kind]
	var coded Coded
	if errors.As(err, &coded) {
		f.ExitCode = coded.Code
	}
	return f
}

// exit prints an error, with each detail and the hint on a line of its own, and returns the
// exit code. With --json it also prints the error as an object, unless an answer
// was printed.
func (a *App) exit(err error, answered bool) int {
	var code ExitCode
	var ended Ended
	switch {
	case errors.As(err, &code):
		return int(code)
	case err == nil:
		return 0
	case errors.Is(err, ErrNo):
		return ExitNo
	case errors.As(err, &ended):
		return ExitSignalled + int(ended)
	case errors.Is(err, context.Canceled):
		return ExitSignalled + int(syscall.SIGINT)
	}
	f := NewFailure(err)
	f.Message, f.Hint = a.named(f.Message), a.named(f.Hint)
	fmt.Fprintf(a.Err, "%s: %s\n", Name(), f.Message)
	for _, text := range f.Details {
		fmt.Fprintf(a.Err, "  %s\n", text)
	}
	if f.Hint != "" {
		fmt.Fprintf(a.Err, "hint: %s\n", f.Hint)
	}
	if a.AsJSON && (a.streaming || !answered) {
		_ = a.JSONLine(map[string]Failure{"error": f}) // the exit code reports the error in any case
	}
	return f.ExitCode
}

// Warn prints what the caller should know but is not stopped by.
func (a *App) Warn(format string, args ...any) {
	fmt.Fprintf(a.Err, "%s: warning: %s\n", Name(), a.named(sentence(fmt.Sprintf(format, args...))))
}

// sentence returns a text of several lines as one line that is not too long and
// has no password in a URL.
func sentence(text string) string {
	return textfmt.OneLine(strings.ReplaceAll(shorten(withoutUserinfo(text)), "\n", " "))
}

var userinfo = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)[^\s/?#"']*@`)
})

// withoutUserinfo returns a text whose URLs have no user name and password: an
// error of a backend may contain its location.
func withoutUserinfo(text string) string { return userinfo().ReplaceAllString(text, "$1") }

// shorten returns a text without its middle if it is much longer than a message
// is: it repeats a long argument.
func shorten(text string) string {
	const longest = 2000
	if len(text) <= longest {
		return text
	}
	end := strings.ToValidUTF8(text[len(text)-longest/2:], "")
	return strings.ToValidUTF8(text[:longest/2], "") + ellipsis + end
}

// Warnings prints several warnings.
func (a *App) Warnings(list []string) {
	for _, text := range list {
		a.Warn("%s", text)
	}
}

// Invalid is an error in what the caller typed.
func Invalid(op, name, reason, hint string) error {
	return handoff.E(op, name, handoff.Invalid, errors.New(reason), handoff.Advice(hint))
}

// usageError gives a kind to cobra's errors about arguments and flags.
func usageError(c *cobra.Command, err error) error {
	var e *handoff.Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	for _, usage := range []error{c.ValidateArgs(c.Flags().Args()), c.ValidateRequiredFlags(), c.ValidateFlagGroups()} {
		if usage != nil && usage.Error() == err.Error() {
			return handoff.E(op(c), "", handoff.Invalid, errors.New(plainUsage(err.Error())), helpHint(c, "see how it is used"))
		}
	}
	return err
}

var flagLists = sync.OnceValue(func() [3]*regexp.Regexp {
	return [3]*regexp.Regexp{
		regexp.MustCompile(`^required flag\(s\) (.*) not set$`),
		regexp.MustCompile(`^at least one of the flags in the group \[(.*)\] is required$`),
		regexp.MustCompile(`^if any flags in the group .* none of the others can be; \[(.*)\] were all set$`),
	}
})

// plainUsage rewords cobra's errors about flags.
func plainUsage(text string) string {
	for i, phrase := range []string{" is required", "requires at least one of ", " are mutually exclusive"} {
		found := flagLists()[i].FindStringSubmatch(text)
		if found == nil {
			continue
		}
		flags := strings.FieldsFunc(found[1], func(r rune) bool { return strings.ContainsRune(`", `, r) })
		for j := range flags {
			flags[j] = "--" + flags[j]
		}
		switch i {
		case 0:
			return strings.Join(flags, ", ") + phrase
		case 1:
			return phrase + strings.Join(flags, ", ")
		default:
			return strings.Join(flags, " and ") + phrase
		}
	}
	return text
}

// helpHint names the help of a command.
func helpHint(c *cobra.Command, purpose string) handoff.Hint {
	return handoff.Advice("to " + purpose + ", run: " + c.CommandPath() + " --help")
}

// valueForms has what a flag takes, by the type of its value.
var valueForms = map[string]string{
	"bool": "write true or false", "int": "write an integer", "int64": "write an integer",
	"duration": "write a duration such as 90s or 5m",
}

// flagError is called for flags that can't be parsed.
func (a *App) flagError(c *cobra.Command, err error) error {
	for _, arg := range a.args { // the flag may come after the one that can't be parsed
		a.AsJSON = a.AsJSON || arg == "--json"
	}
	onlyCommands := c.Use == c.Name() || strings.Contains(c.Use, "COMMAND") // and no other arguments
	if given := c.Flags().Args(); c.HasSubCommands() && onlyCommands && len(given) > 0 {
		return unknownCommand(c, given[0])
	}
	e := handoff.E(op(c), "", handoff.Invalid, err, helpHint(c, "list the flags"))
	var unknown *pflag.NotExistError
	var value *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		if near := nearestFlag(c, unknown.GetSpecifiedName()); near != "" {
			e.Hint = handoff.Advice("did you mean --" + near + "?")
		}
	case errors.Is(err, errRepeated) && errors.As(err, &value):
		e.Err = fmt.Errorf("--%s given twice", value.GetFlag().Name)
		e.Hint = handoff.Advice("pass --" + value.GetFlag().Name + " once")
	case errors.As(err, &value):
		e.Err = fmt.Errorf("--%s: invalid value %q", value.GetFlag().Name, value.GetValue())
		if form := valueForms[value.GetFlag().Value.Type()]; form != "" {
			e.Hint = handoff.Advice(form)
		}
	}
	return e
}
