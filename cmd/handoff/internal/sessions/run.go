package sessions

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/internal/session"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

func runCommand(a *cli.App) *cobra.Command {
	var f openingFlags
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
		o, files, err := f.resolve(a)
		if err != nil {
			return coded(exitNotStarted, err)
		}
		files.Program = filepath.Base(args[0])
		r := run{App: a, opening: o, files: files, path: path, args: args, expect: expect}
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

// A run is one call of handoff run.
type run struct {
	*cli.App
	opening session.Opening
	files   workspace.SessionFiles
	path    string // of the program
	args    []string
	expect  []string

	producer handoff.Producer
	opened   workspace.OpenedSession
	held     []string // warnings, while the child uses the terminal
}

func (r *run) do(caller context.Context) error {
	signals, stop := listen()
	defer stop()
	ctx := context.WithoutCancel(caller) // a signal ends the child; the session must still be closed
	if err := r.WritingTidy(func(w *workspace.Workspace) error { return r.open(ctx, w) }); err != nil {
		return coded(exitNotStarted, err)
	}
	c, err := r.start(ctx, asked(caller, signals))
	if err != nil {
		return err
	}
	r.note(ctx, c)
	e := c.wait(signals) // with the workspace closed: it may take days
	code := e.code()
	err = r.WritingTidy(func(w *workspace.Workspace) error {
		status, why := e.verdict()
		receipt, err := newReceipt(ctx, w, r)
		r.close(ctx, w, status, why)
		if err != nil {
			return err
		}
		receipt.print(status, why)
		if code == 0 && len(receipt.missing) > 0 {
			code = cli.ExitNo
		}
		return nil
	})
	r.warn(r.held, err) // the exit code is the child's
	return exit(code)
}

func exit(code int) error {
	if code == 0 {
		return nil
	}
	return cli.ExitCode(code)
}

// open opens the session, or a run inside a recorded session.
func (r *run) open(ctx context.Context, w *workspace.Workspace) (err error) {
	if r.producer, err = new(cli.Identity).Resolve(r.App); err != nil {
		return err
	}
	within := cmp.Or(r.Getenv("HANDOFF_RUN"), r.Getenv("HANDOFF_SESSION"))
	if s, err := w.Session(ctx, within); err == nil && s.Opened != 0 {
		r.opening.Parent = within
	} else if within != "" {
		r.Warn("session %s is not recorded here; opened a session of its own", within)
	}
	r.opening.Process = workspace.ThisProcess()
	r.opened, err = w.OpenSession(ctx, r.producer, r.opening, r.files)
	r.warn(r.opened.Warnings, nil)
	return err
}

// asked returns the signal that ended handoff before there was a child, 0 for
// none.
func asked(caller context.Context, signals <-chan os.Signal) syscall.Signal {
	var e ending
	if caller.Err() != nil { // it came before run listened
		e.asked = syscall.SIGINT
	}
	e.hear(signals)
	return e.asked
}

// start starts the child, unless handoff was asked to end.
func (r *run) start(ctx context.Context, asked syscall.Signal) (child, error) {
	instead := func(status, why string) error {
		return r.WritingTidy(func(w *workspace.Workspace) error { r.close(ctx, w, status, why); return nil })
	}
	if asked != 0 {
		r.warn(nil, instead(session.Cancelled, asked.String()))
		return child{}, cli.ExitCode(exitSignalled + int(asked))
	}
	env := new(exec.Cmd).Environ()
	for _, name := range cli.SortedKeys(r.opened.Env) {
		env = append(env, name+"="+r.opened.Env[name])
	}
	c, err := start(r.path, r.args, env)
	if err != nil {
		r.warn(nil, instead(session.Failed, err.Error()))
		return c, coded(exitNotRunable, &handoff.Error{Op: "run", Name: r.args[0], Kind: handoff.Unsupported, Err: err, Hint: handoff.Advice("name an executable program")})
	}
	return c, nil
}

// note records which process the child is.
func (r *run) note(ctx context.Context, c child) {
	p := workspace.ProcessOf(c.process.Pid)
	if p == (handoff.Process{}) {
		return // it has ended, or the system can't identify it
	}
	err := r.Reading(func(w *workspace.Workspace) (err error) {
		r.held, err = w.SessionsAs(r.producer).Note(ctx, handoff.SessionNoted{SessionID: r.opened.ID, Child: p})
		return err
	})
	if err != nil {
		r.held = append(r.held, err.Error())
	}
}

// close closes the session and prints an error as a warning.
func (r *run) close(ctx context.Context, w *workspace.Workspace, status, why string) {
	r.warn(w.SessionsAs(r.producer).Close(ctx, r.opened.ID, status, why, time.Time{}))
}

func (r *run) warn(warnings []string, err error) {
	if err != nil {
		warnings = append(warnings, err.Error())
	}
	for _, text := range warnings {
		r.Warn("%s", text)
	}
}
