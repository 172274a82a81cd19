// Command handoff records what agents hand to each other, and finds it again.
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
	"syscall"
	"time"
)

func main() { os.Exit(mainCode()) }

// mainCode runs the command line of this process and returns its exit code.
func mainCode() (code int) {
	defer func() {
		if bug := recover(); bug != nil {
			fmt.Fprintf(os.Stderr, "handoff: bug: %v\n%s", bug, debug.Stack())
			code = exitBug
		}
	}()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(os.Stderr, "handoff: the current directory is gone")
		return exitUnavailable
	}
	a := &app{
		in: os.Stdin, out: os.Stdout, err: os.Stderr,
		terminal: isTerminal(os.Stdout), width: terminalWidth(os.Stdout), watched: isTerminal(os.Stderr), dir: dir, getenv: os.Getenv,
		now: time.Now, rand: rand.Reader, self: self(),
	}
	return a.run(ctx, os.Args[1:])
}

// self returns where this program lies.
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
