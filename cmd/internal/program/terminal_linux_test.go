package program

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/session"
	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

func init() {
	programs["fullscreen"] = fullScreen
	programs["jobshell"] = jobShell
}

// fullScreen is a program that takes the terminal over, as editors and agents
// do, and reports what happens to it.
func fullScreen() int {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGWINCH, syscall.SIGUSR1)
	state, err := term.MakeRaw(0)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Printf("\x1b[?1049h\x1b[2Jterminals %t %t %t%s\r\n", term.IsTerminal(0), term.IsTerminal(1), term.IsTerminal(2),
		screen())
	keys := make(chan byte)
	go func() {
		for b := make([]byte, 1); ; {
			if n, _ := os.Stdin.Read(b); n == 0 {
				return
			}
			keys <- b[0]
		}
	}()
	count := map[os.Signal]int{}
	for {
		select {
		case s := <-signals:
			count[s]++
			fmt.Printf("signal %s%s\r\n", s, screen())
		case key := <-keys:
			fmt.Printf("key %q\r\n", key)
			switch key {
			case 'c': // as it was, for a moment: what is typed means signals again
				term.Restore(0, state)
				fmt.Print("cooked\n")
			case 'z':
				unix.Kill(os.Getpid(), unix.SIGTSTP)
			case 'q':
				term.Restore(0, state)
				fmt.Printf("\x1b[?1049linterrupts %d, resizes %d\n", count[syscall.SIGINT], count[syscall.SIGWINCH])
				return 3
			}
		}
	}
}

func screen() string {
	width, height, err := term.GetSize(1)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf(" %dx%d", width, height)
}

// jobShell does for one job what a shell does at a terminal: it runs the
// command in a group of its own in the foreground, and continues it once when
// it has stopped.
func jobShell() int {
	job := exec.Command(os.Args[1], os.Args[2:]...)
	job.Stdin, job.Stdout, job.Stderr = os.Stdin, os.Stdout, os.Stderr
	job.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Foreground: true, Ctty: 0}
	if err := job.Start(); err != nil {
		fmt.Println(err)
		return 1
	}
	signal.Ignore(syscall.SIGTTOU) // which is what taking the terminal back would send
	for {
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(job.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil {
			continue
		}
		if !status.Stopped() {
			return status.ExitStatus()
		}
		unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, unix.Getpgrp())
		fmt.Print("the job stopped\n")
		unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, job.Process.Pid)
		syscall.Kill(-job.Process.Pid, syscall.SIGCONT)
	}
}

// A terminal is a pseudo-terminal with a command in it.
type terminal struct {
	*testing.T
	master, slave *os.File
	fd            int // of the master; File.Fd would make it block, and a blocked read keep it open
	cmd           *exec.Cmd
	before        unix.Termios // before the program was started, which changes it

	mu   sync.Mutex
	seen bytes.Buffer
	at   int // what was expected so far ends here
}

func newTerminal(t *testing.T, dir string, args ...string) *terminal {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Skipf("there are no pseudo-terminals: %v", err)
	}
	x := &terminal{T: t, master: os.NewFile(uintptr(fd), "ptmx"), fd: fd}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		x.slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	x.resize(80, 24)
	x.before = x.termios()
	x.cmd = exec.Command(args[0], args[1:]...)
	x.cmd.Dir, x.cmd.Env = dir, append(os.Environ(), "HANDOFF_WORKSPACE="+dir)
	x.cmd.Stdin, x.cmd.Stdout, x.cmd.Stderr = x.slave, x.slave, x.slave
	x.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := x.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		for b := make([]byte, 4096); ; {
			n, err := x.master.Read(b)
			x.mu.Lock()
			x.seen.Write(b[:n])
			x.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() { x.cmd.Process.Kill(); x.slave.Close(); x.master.Close() })
	return x
}

func (x *terminal) resize(width, height uint16) {
	if err := unix.IoctlSetWinsize(x.fd, unix.TIOCSWINSZ, &unix.Winsize{Col: width, Row: height}); err != nil {
		x.Fatal(err)
	}
}

func (x *terminal) typed(keys string) {
	if _, err := x.master.WriteString(keys); err != nil {
		x.Fatal(err)
	}
}

// expect waits until a text was printed, after what was expected before.
func (x *terminal) expect(text string) {
	x.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(2 * time.Millisecond) {
		x.mu.Lock()
		i := bytes.Index(x.seen.Bytes()[x.at:], []byte(text))
		if i >= 0 {
			x.at += i + len(text)
		}
		x.mu.Unlock()
		if i >= 0 {
			return
		}
		if time.Now().After(deadline) {
			x.Fatalf("not within a minute: %q\n%s", text, x.all())
		}
	}
}

func (x *terminal) all() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.seen.String()
}

func (x *terminal) termios() unix.Termios {
	t, err := unix.IoctlGetTermios(int(x.slave.Fd()), unix.TCGETS)
	if err != nil {
		x.Fatal(err)
	}
	return *t
}

// settled sends a signal to what was started, and waits until the program on
// the screen has seen it, twice: whatever was on its way to it before, by way
// of handoff too, has then arrived.
func (x *terminal) settled() {
	x.Helper()
	for range 2 {
		x.cmd.Process.Signal(syscall.SIGUSR1)
		x.expect("signal user defined signal 1")
	}
}

func (x *terminal) ended(code int) {
	x.Helper()
	x.cmd.Wait()
	if got := x.cmd.ProcessState.ExitCode(); got != code {
		x.Errorf("%v exits %d, want %d\n%s", x.cmd.Args, got, code, x.all())
	}
}

// TestRunFullScreen has the same thread with a full-screen program twice,
// by itself and through handoff: all that is seen of it must be the same.
func TestRunFullScreen(t *testing.T) {
	dir := t.TempDir()
	seen := map[bool]string{}
	for _, through := range []bool{false, true} {
		args := []string{"fullscreen"}
		if through {
			args = []string{"handoff", "run", "--", "fullscreen"}
		}
		x := newTerminal(t, dir, args...)
		x.expect("terminals true true true 80x24")
		if raw := x.termios(); raw.Lflag&unix.ICANON != 0 || raw == x.before {
			t.Errorf("through handoff %t: the terminal is not raw", through)
		}
		x.typed("h")
		x.expect(`key 'h'`)
		x.typed("\x03") // means nothing while it is raw
		x.expect(`key '\x03'`)
		x.resize(100, 30)
		x.expect("signal window changed 100x30")
		x.settled()
		x.typed("c")
		x.expect("cooked")
		if x.termios() != x.before {
			t.Errorf("through handoff %t: the terminal is not as it was", through)
		}
		x.typed("\x03")
		x.expect("signal interrupt")
		x.settled()
		x.typed("q\n")
		x.expect("interrupts 1, resizes 1")
		if through {
			x.expect("  cancelled: interrupt  ")
		}
		x.ended(3)
		if x.termios() != x.before {
			t.Errorf("through handoff %t: the terminal is left otherwise than it was", through)
		}
		seen[through] = x.all()
	}
	before, after, ok := strings.Cut(seen[true], seen[false])
	if !ok || !strings.HasPrefix(before, "task:start  fullscreen  session=") ||
		!strings.HasSuffix(before, "created workspace "+dir+"\r\n") || strings.Count(before, "\n") != 2 {
		t.Errorf("through handoff:\n%q\nwithout:\n%q", seen[true], seen[false])
	}
	if !strings.HasPrefix(after, "task:error  fullscreen  ") || !strings.Contains(after, "  cancelled: interrupt  ") {
		t.Errorf("the end is not reported: %q", after)
	}
}

// TestRunStops stops a job by its key, and by itself: the shell sees it, and
// continues it.
func TestRunStops(t *testing.T) {
	for _, tt := range []struct{ child, ready, stop string }{
		{"cat", "", "\x1a"},
		{"fullscreen", "terminals", "z"},
	} {
		x := newTerminal(t, t.TempDir(), "jobshell", "handoff", "run", "--", tt.child)
		if x.expect(tt.ready); tt.ready == "" {
			x.typed("hello\n")
			x.expect("hello\r\n") // the terminal's echo
			x.expect("hello\r\n") // and cat's
		}
		x.typed(tt.stop)
		x.expect("the job stopped")
		if tt.child == "cat" {
			x.typed("again\n")
			x.expect("again\r\n")
			x.expect("again\r\n")
			x.typed("\x04")
			x.ended(0)
			continue
		}
		x.typed("h")
		x.expect(`key 'h'`)
		x.typed("q")
		x.ended(3)
	}
}

// TestRunHangUp takes the terminal away.
func TestRunHangUp(t *testing.T) {
	hangUps := make(chan os.Signal, 1) // else they are ignored under nohup, also by what the test starts
	signal.Notify(hangUps, syscall.SIGHUP)
	defer signal.Stop(hangUps)
	dir := t.TempDir()
	x := newTerminal(t, dir, "handoff", "run", "--", "fullscreen")
	x.expect("terminals")
	x.slave.Close()
	x.master.Close()
	x.ended(128 + int(syscall.SIGHUP))
	if s := onlySession(t, dir); s.Status != session.Cancelled || s.Reason != "hangup" {
		t.Errorf("the session is %s (%s), want cancelled (hangup)", s.Status, s.Reason)
	}
}
