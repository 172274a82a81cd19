package sessions

import (
	"github.com/agent-handoff/handoff/cmd/internal/report"
	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/trace"
	"github.com/agent-handoff/handoff/workspace/runs"
	"github.com/agent-handoff/handoff/workspace/sessions"

	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/agent-handoff/handoff/workspace/work"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

func runCommand(a *cli.App) *cobra.Command {
	var f openFlags
	c := &cobra.Command{
		Use:   "run [flags] -- CMD…",
		Short: "Run a command in a new session",
		Long: `Run opens a session, runs a command in it, and closes it with the command's exit
status. Inside a session it opens a run of that session.

The command inherits standard input, output and the terminal, and environment
variables that attribute its publishes to the session; HANDOFF_VAR_NAME has each
variable of the workflow. Signals are forwarded, except SIGINT and SIGQUIT in
the foreground of a terminal, which sends ^C to the command itself. On standard
error, run prints task:start, each publish of the session as it happens (on a
terminal, at the end), and task:done or task:error.

The thread of an agent program is linked to the session: claude is started
with an ID for it (--session-id); of other programs it is the only thread
that started in this directory during the run. The last line then has its
tokens and cost.

With --json, standard output is a receipt when the command has ended: session,
status, exit code and artifacts. The command's output goes to standard error.

The exit code is that of the command; 128+n if signal n ended it; 127 if the
command does not exist and 126 if it can't be executed; 125 if handoff itself
failed, including when it could not record the end; and 1 if the command
succeeded but an output named by --expect is missing.`,
		Example: `  handoff run --agent alex --expect plan.md -- claude -p 'Write plan.md'
  handoff run --agent alex --workflow intake-app -- ./intake.sh`,
	}
	f.add(c)
	a.AllowSecretFlag(c)
	a.JSONFlag(c, "print the receipt as JSON at the end; the command's standard output goes to standard error",
		cli.Prints(work.RunReport{}))
	requireProgram(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		path, err := program(c, args[0])
		if err != nil {
			return err
		}
		o, err := f.resolve(a)
		if err != nil {
			return coded(cli.ExitNotStarted, err)
		}
		o.DefaultName = filepath.Base(args[0])
		r := run{App: a, options: o, path: path, args: args, events: events{App: a}}
		return r.do(c.Context())
	}
	return c
}

// coded gives an error an exit code, unless it has one.
func coded(code int, err error) error {
	var has cli.Coded
	if err == nil || errors.As(err, &has) {
		return err
	}
	return cli.Coded{Code: code, Err: err}
}

// A run is one execution of handoff run.
type run struct {
	*cli.App
	options session.OpenOptions
	path    string // the program
	args    []string

	opened  session.Opened
	program trace.Program
	started time.Time
	events  events
	held    []string // warnings to print when the command has ended
}

func (r *run) do(caller context.Context) error {
	signals, stop := listen()
	defer stop()
	ctx := context.WithoutCancel(caller) // a signal ends the command; the end must still be recorded
	if err := r.Writing(func(w *workspace.Workspace) error { return r.open(ctx, w) }); err != nil {
		return coded(cli.ExitNotStarted, err)
	}
	c, err := r.start(ctx, asked(caller, signals))
	if err != nil {
		return err
	}
	r.note(ctx, c)
	ended := c.wait(signals).exit() // with the workspace closed: it may take days
	r.events.stop()
	r.Warnings(r.held)
	return r.end(ctx, ended)
}

// end closes the session and prints its receipt. An error does not change the
// exit code of a command that failed.
func (r *run) end(ctx context.Context, ended session.Exit) error {
	status, reason := ended.Status()
	receipt := r.receipt(status, reason)
	receipt.ExitCode = ended.Code
	err := r.Writing(func(w *workspace.Workspace) (err error) {
		set := thread.NewSet(all.Drivers(), r.Getenv, r.Getenv("HOME"))
		warnings, linking := w.Runs().EndProgram(ctx, set, r.opened, r.program, r.started, status != session.Completed)
		receipt.Receipt, err = w.Runs().End(ctx, r.opened.ID, ended)
		if err == nil {
			var reading error
			receipt, reading = w.Work(set).Report(ctx, receipt.Receipt)
			linking = errors.Join(linking, reading)
		}
		if linking != nil {
			warnings = append(warnings, linking.Error())
		}
		receipt.Warnings = append(receipt.Warnings, warnings...)
		r.Warnings(receipt.Warnings)
		r.events.end(ctx, w, receipt, err)
		report.KeepThreads(r.App, ctx, w, r.opened.ID)
		return nil
	})
	if err != nil {
		r.events.end(ctx, nil, receipt, err)
	}
	code := ended.Code
	switch {
	case code == 0 && !receipt.Recorded:
		code = cli.ExitNotStarted
	case code == 0 && !receipt.Delivered():
		code = cli.ExitNo
	}
	if r.AsJSON {
		if err := r.JSON(receipt); err != nil {
			return err
		}
	}
	return exit(code)
}

// receipt returns the receipt of a run of which nothing else is known.
func (r *run) receipt(status, reason string) (receipt work.RunReport) {
	receipt.ID, receipt.Agent, receipt.Status, receipt.Reason = r.opened.ID, r.opened.Env["HANDOFF_AGENT"], status, reason
	receipt.Artifacts = []handoff.Artifact{}
	return receipt
}

func exit(code int) error {
	if code == 0 {
		return nil
	}
	return cli.ExitCode(code)
}

// open opens the session, or a run if the caller is in a session.
func (r *run) open(ctx context.Context, w *workspace.Workspace) (err error) {
	if r.program, err = w.Runs().Program(r.args); err != nil {
		return err
	}
	r.opened, err = w.Runs().Start(ctx, r.options)
	r.Warnings(r.opened.Warnings)
	if err != nil {
		return err
	}
	r.started = r.Now()
	r.events.start(ctx, r.opened)
	return nil
}

// asked returns the signal that asked handoff to end before the command was
// started, 0 for none.
func asked(caller context.Context, signals <-chan os.Signal) syscall.Signal {
	var e ending
	var ended cli.Ended // by a signal that came before listen
	if errors.As(context.Cause(caller), &ended) {
		e.asked = syscall.Signal(ended)
	}
	e.hear(signals)
	return e.asked
}

// start starts the command, unless handoff was asked to end.
func (r *run) start(ctx context.Context, asked syscall.Signal) (child, error) {
	end := func(status, reason string) {
		receipt := r.receipt(status, reason)
		err := r.Writing(func(w *workspace.Workspace) error {
			done, err := w.Sessions().Close(ctx, r.opened.ID, status, reason)
			r.Warnings(done.Warnings)
			receipt.Recorded = err == nil
			return err
		})
		r.events.stop()
		r.events.end(ctx, nil, receipt, err)
	}
	if asked != 0 {
		end(session.Cancelled, asked.String())
		return child{}, cli.ExitCode(cli.ExitSignalled + int(asked))
	}
	stdout := uintptr(1)
	if r.AsJSON {
		stdout = 2 // standard output has the receipt
	}
	r.Hold()
	c, err := start(r.path, "", r.program.Args, environment(r.opened.Env), stdout, 2)
	if err != nil {
		end(session.Failed, err.Error())
		return c, coded(cli.ExitNotRunnable, handoff.E("run", r.args[0], handoff.Unsupported, err,
			handoff.Advice("check that the file is a program for this system")))
	}
	return c, nil
}

// environment returns the environment of the command: that of handoff with the
// variables of the session, and without those of a session further out. A name
// occurs once, because programs differ in which of several they take.
func environment(own map[string]string) []string {
	env := slices.DeleteFunc(new(exec.Cmd).Environ(), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		_, replaced := own[name]
		return replaced || strings.HasPrefix(name, sessions.VariablePrefix)
	})
	for _, name := range textfmt.SortedKeys(own) {
		env = append(env, name+"="+own[name])
	}
	return env
}

// note records the process of the command, and its thread. Its terminal may be in use by the
// command, so warnings are held back.
func (r *run) note(ctx context.Context, c child) {
	r.program.Process = runs.ProcessOf(c.process.Pid)
	err := r.Reading(func(w *workspace.Workspace) (err error) {
		r.held, err = w.Runs().RecordChild(ctx, r.opened.ID, c.process.Pid)
		return errors.Join(err, w.Runs().StartProgram(ctx, r.opened, r.program))
	})
	if err != nil {
		r.held = append(r.held, err.Error())
	}
}
