// Command handoff gives the outputs of agents short references and finds them
// again.
package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"syscall"
	"time"

	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"golang.org/x/term"
)

func main() { os.Exit(mainCode()) }

// mainCode runs the command line of this process and returns its exit code.
func mainCode() (code int) {
	defer func() {
		if bug := recover(); bug != nil {
			fmt.Fprintf(os.Stderr, "handoff: internal error: %v\n%s", bug, debug.Stack())
			code = cli.ExitBug
		}
	}()
	if slices.Equal(os.Args[1:], []string{"--version"}) { // signals, the terminal and the directory are not needed
		a := &cli.App{Out: os.Stdout, Err: os.Stderr, Version: version()}
		return a.Run(context.Background(), nil, os.Args[1:])
	}
	ctx, stop := signal.NotifyContext(context.Background(), endings()...)
	defer stop()
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(os.Stderr, "handoff: the current directory does not exist")
		return cli.ExitUnavailable
	}
	a := &cli.App{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		Terminal: isTerminal(os.Stdout), Width: terminalWidth(os.Stdout), Watched: isTerminal(os.Stderr),
		Dir: dir, Getenv: os.Getenv, Now: time.Now, Rand: rand.Reader, Self: self(), Version: version(), Backends: backends,
	}
	return a.Run(ctx, commands, os.Args[1:])
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

// version returns the versions of this program and of the Go toolchain.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return info.Main.Version + " " + info.GoVersion
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

func terminalWidth(f *os.File) int {
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
		return width
	}
	return 80
}
