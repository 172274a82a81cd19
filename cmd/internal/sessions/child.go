package sessions

import (
	"github.com/agent-handoff/handoff/session"

	"errors"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"golang.org/x/sys/unix"
)

// forwarded are the signals that are sent on to the child.
var forwarded = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1,
	syscall.SIGUSR2, syscall.SIGWINCH}

// listen starts to receive the signals that are forwarded. A signal that was
// ignored when handoff started stays ignored, also by the child.
func listen() (signals chan os.Signal, stop func()) {
	signals = make(chan os.Signal, 16)
	for _, s := range forwarded {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	return signals, func() { signal.Stop(signals) }
}

// lookUp returns the path of a program, or the exit code for one that can't be
// executed.
func lookUp(name string) (string, int, error) {
	path, err := exec.LookPath(name)
	switch {
	case err == nil, errors.Is(err, exec.ErrDot): // found where PATH says, which is the user's choice
		return path, 0, nil
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return "", cli.ExitNotFound, errors.New("no such command")
	}
	var wrong *exec.Error
	if errors.As(err, &wrong) {
		err = wrong.Err
	}
	return "", cli.ExitNotRunnable, err
}

// A child is a process in handoff's process group. The one of handoff run uses
// handoff's descriptors directly: handoff does not copy its input or output.
type child struct{ process *os.Process }

// start starts a program in a directory, "" for handoff's own.
func start(path, dir string, args, env []string, stdout, stderr uintptr) (child, error) {
	// The first use of os.FindProcess starts a process that shares handoff's memory. If the
	// terminal stopped it, handoff could not stop until it continues, so that the shell
	// would wait. This is before the program, whose user may stop it at any time.
	if _, err := os.FindProcess(os.Getpid()); err != nil {
		return child{}, err
	}
	pid, _, err := syscall.StartProcess(path, args,
		&syscall.ProcAttr{Dir: dir, Env: env, Files: []uintptr{0, stdout, stderr}})
	if err != nil {
		return child{}, err
	}
	process, err := os.FindProcess(pid)
	return child{process}, err
}

// An ending is how a child ended.
type ending struct {
	status syscall.WaitStatus
	asked  syscall.Signal // the last signal that asked handoff to end, 0 for none
}

// wait returns how the child ended. Until then it forwards signals, except those
// that the terminal sent to the process group.
func (c child) wait(signals <-chan os.Signal) ending {
	var e ending
	ended := make(chan syscall.WaitStatus)
	go func() { ended <- c.reap() }()
	for {
		select {
		case e.status = <-ended:
			e.hear(signals)
			return e
		case s := <-signals:
			e.heard(s)
			typed := s == syscall.SIGINT || s == syscall.SIGQUIT || s == syscall.SIGWINCH
			if !typed || !inForeground() {
				_ = c.process.Signal(s) // it may have ended already
			}
		}
	}
}

// hear receives the signals that were not forwarded.
func (e *ending) hear(signals <-chan os.Signal) {
	for len(signals) > 0 {
		e.heard(<-signals)
	}
}

// heard stores a signal that asks handoff to end.
func (e *ending) heard(s os.Signal) {
	if asks := []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}; slices.Contains(asks, s) {
		e.asked = s.(syscall.Signal)
	}
}

// reap waits for the child's end. If the child stops in the foreground, handoff
// stops too, so that the shell takes the terminal back.
func (c child) reap() syscall.WaitStatus {
	for {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(c.process.Pid, &status, syscall.WUNTRACED, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err == nil && status.Stopped():
			var again syscall.WaitStatus
			n, _ := syscall.Wait4(c.process.Pid, &again, syscall.WNOHANG|unix.WCONTINUED, nil)
			switch {
			case n == 0 && inForeground():
				_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
			case n > 0 && !again.Continued():
				return again
			}
		default:
			return status
		}
	}
}

// inForeground reports whether handoff's process group, which includes the
// child, is the foreground group of the terminal.
func inForeground() bool {
	tty, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	defer unix.Close(tty)
	group, err := unix.IoctlGetInt(tty, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// exit returns how the command ended, for its session.
func (e ending) exit() session.Exit {
	x := session.Exit{Code: e.status.ExitStatus(), Asked: e.asked}
	if e.status.Signaled() {
		x.Code, x.Signal = cli.ExitSignalled+int(e.status.Signal()), e.status.Signal()
	}
	return x
}
