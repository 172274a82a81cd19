package sessions

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

func runCommand(a *cli.App) *cobra.Command {
	var f openFlags
	var expect []string
	c := &cobra.Command{
		Use:     "run [flags] -- CMD…",
		Short:   "Run a command in a new session",
		GroupID: cli.Sessions,
		Long: `Run opens a session, runs a command in it, and closes it with the command's exit
status. Inside a session it opens a run of that session.

The command inherits standard input, output and the terminal, and environment
variables that attribute its publishes to the session. Signals are forwarded. At
the end, run prints a summary of the published artifacts on standard error.

The exit code is that of the command; 128+n if signal n ended it; 127 if the
command does not exist and 126 if it can't be executed; 125 if handoff failed;
and 1 if the command succeeded but an output named by --expect is missing.`,
		Example: `  handoff run --agent alex --expect plan.md -- claude -p 'Write plan.md'
  handoff run --agent alex --workflow intake-app -- ./intake.sh`,
	}
	f.add(c)
	c.Flags().StringArrayVar(&expect, "expect", nil, "`name` or file of an output that must exist at the end; may be repeated")
	c.Args = func(c *cobra.Command, args []string) error {
		if c.ArgsLenAtDash() != 0 || len(args) == 0 {
			return coded(exitNotStarted, cli.Invalid("run", "", "missing command after --", "usage: handoff run [flags] -- CMD…"))
		}
		return nil
	}
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return coded(exitNotStarted, c.Root().FlagErrorFunc()(c, err))
	})
	c.RunE = func(c *cobra.Command, args []string) error {
		path, code, err := find(args[0])
		if err != nil {
			return coded(code, &handoff.Error{Op: "run", Name: args[0], Kind: handoff.NotFound, Err: err, Hint: handoff.Advice("name an executable program")})
		}
		o, err := f.resolve(a)
		if err != nil {
			return coded(exitNotStarted, err)
		}
		o.DefaultName = filepath.Base(args[0])
		r := run{App: a, options: o, path: path, args: args, expect: expect}
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
	options workspace.SessionOptions
	path    string // the program
	args    []string
	expect  []string

	opened workspace.OpenedSession
	held   []string // warnings to print when the command has ended
}

func (r *run) do(caller context.Context) error {
	signals, stop := listen()
	defer stop()
	ctx := context.WithoutCancel(caller) // a signal ends the command; the end must still be recorded
	if err := r.Writing(func(w *workspace.Workspace) error { return r.open(ctx, w) }); err != nil {
		return coded(exitNotStarted, err)
	}
	c, err := r.start(ctx, asked(caller, signals))
	if err != nil {
		return err
	}
	r.note(ctx, c)
	e := c.wait(signals) // with the workspace closed: it may take days
	code := e.code()
	err = r.Writing(func(w *workspace.Workspace) error {
		status, reason := e.verdict()
		receipt, err := w.EndRun(ctx, r.opened.ID, status, reason, r.expect)
		r.Warnings(receipt.Warnings)
		if receipt.ID == "" {
			return err
		}
		printReceipt(r.App, receipt)
		if code == 0 && !receipt.Delivered() {
			code = cli.ExitNo
		}
		return err
	})
	r.report(r.held, err) // an error does not change the exit code of the command
	return exit(code)
}

func exit(code int) error {
	if code == 0 {
		return nil
	}
	return cli.ExitCode(code)
}

// open opens the session, or a run if the caller is in a session.
func (r *run) open(ctx context.Context, w *workspace.Workspace) (err error) {
	parent := cmp.Or(r.Getenv("HANDOFF_RUN"), r.Getenv("HANDOFF_SESSION"))
	r.opened, err = w.StartRun(ctx, parent, r.options)
	r.Warnings(r.opened.Warnings)
	return err
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
		r.report(nil, r.Writing(func(w *workspace.Workspace) error {
			done, err := w.CloseSession(ctx, r.opened.ID, status, reason)
			r.Warnings(done.Warnings)
			return err
		}))
	}
	if asked != 0 {
		end(workspace.Cancelled, asked.String())
		return child{}, cli.ExitCode(exitSignalled + int(asked))
	}
	env := new(exec.Cmd).Environ()
	for _, name := range cli.SortedKeys(r.opened.Env) {
		env = append(env, name+"="+r.opened.Env[name])
	}
	c, err := start(r.path, r.args, env)
	if err != nil {
		end(workspace.Failed, err.Error())
		return c, coded(exitNotRunable, &handoff.Error{Op: "run", Name: r.args[0], Kind: handoff.Unsupported, Err: err, Hint: handoff.Advice("check that the file is a program for this system")})
	}
	return c, nil
}

// note records the process of the command. Its terminal may be in use by the
// command, so warnings are held back.
func (r *run) note(ctx context.Context, c child) {
	err := r.Reading(func(w *workspace.Workspace) (err error) {
		r.held, err = w.RecordChild(ctx, r.opened.ID, c.process.Pid)
		return err
	})
	if err != nil {
		r.held = append(r.held, err.Error())
	}
}

// report prints warnings and an error as warnings.
func (r *run) report(warnings []string, err error) {
	r.Warnings(warnings)
	if err != nil {
		r.Warn("%s", err)
	}
}
