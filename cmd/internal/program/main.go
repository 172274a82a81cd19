// Package program is the command line of handoff: what every command of cmd/handoff
// and cmd/agent-handoff parses, calls and prints.
package program

import (
	"github.com/agent-handoff/handoff/workspace/runs"

	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/cmd/internal/setup"
	"github.com/agent-handoff/handoff/internal/tool/heap"
	"github.com/agent-handoff/handoff/internal/tool/userdir"
	"github.com/agent-handoff/handoff/storage"
	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// Main runs the command line of this process and returns its exit code. The engines are the
// logs that this program can open beside those that every program can.
func Main(engines ...storage.Backend) (code int) { return mainTo(os.Stdout, engines) }

// mainTo is Main with another place for answers.
func mainTo(output io.Writer, engines []storage.Backend) (code int) {
	cli.SetName(os.Args[0])
	defer func() {
		if bug := recover(); bug != nil {
			fmt.Fprintf(os.Stderr, "%s: internal error: %v\n%s", cli.Name(), bug, debug.Stack())
			code = cli.ExitBug
		}
	}()
	if slices.Equal(os.Args[1:], []string{"--version"}) { // signals, the terminal and the directory are not needed
		a := &cli.App{Out: os.Stdout, Err: os.Stderr, Version: version()}
		return a.Run(context.Background(), nil, os.Args[1:])
	}
	ctx, hold := untilSignal(context.Background())
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(os.Stderr, cli.Name()+": the current directory does not exist")
		return cli.ExitUnavailable
	}
	a := &cli.App{
		In: until(ctx, standardInput()), Out: output, Err: os.Stderr,
		Terminal: isTerminal(os.Stdout), Width: terminalWidth(os.Stdout), Watched: isTerminal(os.Stderr),
		Typed: isTerminal(os.Stdin),
		Dir:   dir, Getenv: os.Getenv, Now: time.Now, Rand: rand.Reader, Self: self(), Hold: hold, Backends: engines,
	}
	heap.Grow(os.Getenv, 200)
	return Run(ctx, a, os.Args[1:])
}

// Run runs one command line and returns its exit code. What it takes from outside is in a:
// streams, directory, environment, clock, randomness and engines. It changes nothing of the process
// that it runs in, which can run several at once.
func Run(ctx context.Context, a *cli.App, args []string) int {
	a.Version = version()
	a.Backends = withEngines(a.Backends)
	a.Getenv = withSessions(a.Getenv)
	return a.Run(ctx, commands, withoutDashes(args))
}

// noted are the variables for the IDs of sessions, with the programs that do not set them for the processes
// that they start: a hook notes the session.
var noted = [][2]string{{"CLINE_SESSION_ID", "cline"}, {"DROID_SESSION_ID", "droid"},
	{"GEMINI_SESSION_ID", "gemini-cli"}, {"KIMI_SESSION_ID", "kimi"}}

// withSessions returns an environment with the sessions that hooks have noted.
func withSessions(getenv func(string) string) func(string) string {
	return func(name string) string {
		value := getenv(name)
		for _, n := range noted {
			if n[0] == name && value == "" {
				return setup.SessionOf(userdir.State(getenv), n[1],
					func() handoff.Process { return runs.HarnessProcess(n[1], getenv) })
			}
		}
		return value
	}
}

// patience is how long a command may take to end after a signal. What it waits for may
// not end with a context: a named pipe, or a file of another machine.
const patience = 800 * time.Millisecond

// untilSignal returns a context that a signal cancels, with the signal as its cause. A
// second signal, or patience, ends the process, unless hold was called.
func untilSignal(parent context.Context) (ctx context.Context, hold func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	if list := endings(); len(list) > 0 {
		signal.Notify(signals, list...)
	}
	held := make(chan struct{})
	go func() {
		first := (<-signals).(syscall.Signal)
		cancel(cli.Ended(first))
		select {
		case <-held:
			return
		case <-signals:
		case <-time.After(patience):
		}
		os.Exit(cli.ExitSignalled + int(first))
	}()
	return ctx, sync.OnceFunc(func() { close(held) })
}

// endings are the signals that end a command early. A signal that was ignored
// when handoff started stays ignored, also by the processes that handoff starts.
func endings() []os.Signal {
	return slices.DeleteFunc([]os.Signal{os.Interrupt, syscall.SIGTERM}, signal.Ignored)
}

// self returns the path of this program.
func self() string {
	if found, err := exec.LookPath(os.Args[0]); err == nil {
		if found, err = filepath.Abs(found); err == nil {
			return found
		}
	}
	found, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return found
}

// standardInput returns standard input. If it was closed, the Go runtime opened
// the null device for reading and writing in its place.
func standardInput() io.Reader {
	null, err := os.Stat(os.DevNull)
	if err != nil {
		return os.Stdin
	}
	info, err := os.Stdin.Stat()
	if err != nil || !os.SameFile(info, null) {
		return os.Stdin
	}
	if mode, err := unix.FcntlInt(os.Stdin.Fd(), unix.F_GETFL, 0); err != nil || mode&unix.O_ACCMODE != unix.O_RDWR {
		return os.Stdin
	}
	return closedInput{}
}

// until returns a reader that ends with a context: a read of a pipe or a terminal does
// not. It reads nothing before it is read.
func until(ctx context.Context, in io.Reader) io.Reader {
	return readerFunc(sync.OnceValue(func() io.Reader {
		r, w := io.Pipe()
		context.AfterFunc(ctx, func() { w.CloseWithError(ctx.Err()) })
		go func() {
			_, err := io.Copy(w, in)
			w.CloseWithError(err)
		}()
		return r
	}))
}

// A readerFunc returns the reader that it reads.
type readerFunc func() io.Reader

func (f readerFunc) Read(p []byte) (int, error) { return f().Read(p) }

// closedInput is a standard input that was closed.
type closedInput struct{}

func (closedInput) Read([]byte) (int, error) {
	return 0, handoff.E("read content", "", handoff.Invalid, errors.New("standard input is closed"),
		handoff.Advice("connect standard input to the content, or name a file"))
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

func terminalWidth(f *os.File) int {
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
		return width
	}
	return 80
}
