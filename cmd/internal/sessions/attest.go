package sessions

import (
	"github.com/agent-handoff/handoff/cmd/internal/report"
	"github.com/agent-handoff/handoff/session"

	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

func attestCommand(a *cli.App) *cobra.Command {
	var who cli.Identity
	c := &cobra.Command{
		Use:   "attest [flags] -- CMD…",
		Short: "Run a command and record how it ended, and on which files",
		Long: `Attest runs a command in the current directory and records an attestation: the
arguments, the directory, the exit status, the duration, the commit, and a
digest of the tree, that is of all files that git does not ignore, before and
after the command. Its output is an artifact in the channel verification, which
is always kept. The ID of that is printed on standard error.

A claim with this command as its evidence is verified as long as the tree is
the same, except for the artifact that has the claim. With --commit, it is
verified wherever the same commit is checked out, as in CI.
See docs/evidence.md for what this proves, and what it does not.

Standard output and standard error of the command are those of handoff, through
a pipe. With --json, standard output is the artifact, and the command's output
goes to standard error. Signals are forwarded. Output of processes that the
command leaves running is not awaited.

The exit code is that of the command; 128+n if signal n ended it; 127 if the
command does not exist and 126 if it can't be executed; 125 if handoff itself
failed, including when it could not record the attestation.`,
		Example: "  handoff attest -- go test ./...\n  handoff publish report.md --channel verification \\\n    --claim " +
			"'tests pass' --evidence 'command:go test ./...'",
	}
	a.JSONFlag(c, "print the artifact as JSON at the end; the command's standard output goes to standard error",
		cli.Prints(handoff.Published{}))
	ofCommit := c.Flags().Bool("commit", false,
		"attest the commit: no tracked file may differ from it, and untracked files "+
			"do not count")
	who.Add(c)
	requireProgram(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		path, err := program(c, args[0])
		if err != nil {
			return err
		}
		x := attestation{App: a, path: path, args: args, ofCommit: *ofCommit}
		return x.do(c.Context(), who)
	}
	return c
}

// An attestation is one execution of handoff attest.
type attestation struct {
	*cli.App
	path string // the program
	args []string

	ofCommit bool

	signals <-chan os.Signal
	ended   session.Exit
	failed  error // why it did not run
}

func (x *attestation) do(caller context.Context, who cli.Identity) error {
	signals, stop := listen()
	defer stop()
	x.signals = signals
	// A reader that goes away ends neither the command nor its record.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx := context.WithoutCancel(caller) // a signal ends the command; the end must still be recorded
	return x.code(x.Writing(func(w *workspace.Workspace) error {
		w, err := who.As(x.App, w)
		if err != nil {
			return err
		}
		done, err := w.Claims(nil).Attest(ctx, x.args, x.ofCommit, func(output io.Writer) (session.Exit, error) {
			if n := asked(caller, signals); n != 0 {
				x.failed = cli.ExitCode(cli.ExitSignalled + int(n))
			} else {
				x.Hold()
				x.failed = x.run(output)
			}
			return x.ended, x.failed
		})
		if err = cmp.Or(x.failed, err); err != nil {
			return err
		}
		x.Warnings(done.Warnings)
		report.Publish(x.App, done.Artifact)
		if x.AsJSON {
			return x.JSON(done)
		}
		fmt.Fprintf(x.Err, "attested %s: exit status %d\n", done.ID, x.ended.Code)
		return nil
	}))
}

// code returns the result of the process: an error of handoff does not change the
// exit code of a command that failed.
func (x *attestation) code(err error) error {
	var code cli.ExitCode
	switch {
	case errors.As(err, &code):
		return err
	case err != nil && x.ended.Code != 0:
		return coded(x.ended.Code, err)
	case err != nil:
		return coded(cli.ExitNotStarted, err)
	}
	return exit(x.ended.Code)
}

// grace is how long the output of processes that a command left running is read.
const grace = time.Second

// run runs the command. It copies its output to output, whose errors are ignored, and
// to the streams of handoff.
func (x *attestation) run(output io.Writer) error {
	stdout, stderr := x.Out, io.Writer(&lockedWriter{w: x.Err})
	if x.AsJSON {
		stdout = stderr // standard output has the artifact
	}
	both := &lockedWriter{w: output}
	var copied sync.WaitGroup
	var readers, writers []*os.File
	closeAll := func(files []*os.File) {
		for _, f := range files {
			f.Close()
		}
	}
	defer func() { closeAll(readers) }()
	for _, stream := range []io.Writer{stdout, stderr} {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(writers)
			return err
		}
		readers, writers = append(readers, r), append(writers, w)
		copied.Go(func() { x.copy(r, both, stream) })
	}
	c, err := start(x.path, x.Dir, x.args, new(exec.Cmd).Environ(), writers[0].Fd(), writers[1].Fd())
	closeAll(writers)
	if err != nil {
		return coded(cli.ExitNotRunnable, handoff.E("attest", x.args[0], handoff.Unsupported, err,
			handoff.Advice("check that the file is a program for this system")))
	}
	x.ended = c.wait(x.signals).exit()
	timer := time.AfterFunc(grace, func() { closeAll(readers) })
	defer timer.Stop()
	copied.Wait()
	return nil
}

// copy copies the output of the command until its end. What is not printed, because
// nobody reads it, is recorded.
func (x *attestation) copy(r io.Reader, output, stream io.Writer) {
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		output.Write(buf[:n])
		stream.Write(buf[:n])
		if stream == x.Out {
			x.Flush()
		}
		if err != nil {
			return
		}
	}
}

// A lockedWriter is a writer for several goroutines.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}
