package program

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/workspace"
)

// TestRunSignals sends signals to handoff alone, where there is no terminal
// that would send them to its child as well.
func TestRunSignals(t *testing.T) {
	const traps = `for s in INT TERM HUP QUIT USR1 USR2 WINCH; do trap "echo $s >>got" $s; done; `
	const wait = `touch ready; until test -e end; do sleep 0.02; done; `
	for _, tt := range []struct {
		name, child string
		signals     []syscall.Signal
		got         string // what the child was sent, each once
		code        int
		status, why string
	}{
		{"interrupted", wait, []syscall.Signal{syscall.SIGINT}, "", 130, session.Cancelled, "interrupt"},
		{"terminated", wait, []syscall.Signal{syscall.SIGTERM}, "", 143, session.Cancelled, "terminated"},
		{"hung up", wait, []syscall.Signal{syscall.SIGHUP}, "", 129, session.Cancelled, "hangup"},
		{"quit", "ulimit -c 0; " + wait, []syscall.Signal{syscall.SIGQUIT}, "", 131, session.Cancelled, "quit"},
		{"user's", wait, []syscall.Signal{syscall.SIGUSR1}, "", 138, session.Failed, "signal 10 (user defined signal 1)"},
		{"each once", traps + wait, []syscall.Signal{syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH, syscall.SIGHUP,
			syscall.SIGINT}, "USR1 USR2 WINCH HUP INT", 0, session.Completed, ""},
		{"an end in good order", "trap 'exit 0' TERM; " + wait, []syscall.Signal{syscall.SIGTERM}, "", 0, session.Cancelled,
			"terminated"},
		{"an interrupt that ends it badly", "trap 'exit 4' INT; " + wait, []syscall.Signal{syscall.SIGINT}, "", 4,
			session.Cancelled, "interrupt"},
		{"its own end", "kill -TERM $$", nil, "", 143, session.Failed, "signal 15 (terminated)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := &stage{T: t, dir: t.TempDir()}
			s.cmd = exec.Command("handoff", "run", "--", "sh", "-c", tt.child)
			s.cmd.Dir, s.cmd.Env = s.dir, append(os.Environ(), "HANDOFF_WORKSPACE="+s.dir)
			s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			if err := s.cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer s.cmd.Process.Kill()
			if len(tt.signals) > 0 {
				s.await("ready")
			}
			for i, sig := range tt.signals {
				if err := s.cmd.Process.Signal(sig); err != nil {
					t.Fatal(err)
				}
				if tt.got != "" {
					s.until(sig.String(), func() bool { return len(strings.Fields(s.await("got"))) > i })
				}
			}
			if tt.got != "" {
				if got := strings.Join(strings.Fields(s.await("got")), " "); got != tt.got {
					t.Errorf("the child was sent %s, want %s", got, tt.got)
				}
				s.touch("end")
			}
			s.ended(tt.code)
			if v := onlySession(t, s.dir); v.Status != tt.status || v.Reason != tt.why {
				t.Errorf("the session is %s (%s), want %s (%s)", v.Status, v.Reason, tt.status, tt.why)
			}
		})
	}
}

// onlySession returns the one session of a workspace.
func onlySession(t *testing.T, dir string) handoff.Session {
	t.Helper()
	w, err := workspace.Open(dir, workspace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	page, err := w.Hub().Sessions(t.Context(), handoff.SessionQuery{})
	if err != nil || len(page.Sessions) != 1 {
		t.Fatalf("%d sessions, %v, want 1", len(page.Sessions), err)
	}
	return page.Sessions[0]
}

// TestRunIgnored checks that what handoff was started to ignore its child
// ignores too, as under nohup.
func TestRunIgnored(t *testing.T) {
	cmd := exec.Command("sh", "-c",
		`trap "" HUP INT; exec handoff run -- sh -c 'kill -HUP $$; kill -INT $$; echo alive >alive'`)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "HANDOFF_WORKSPACE="+cmd.Dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(cmd.Dir, "alive")); err != nil {
		t.Error(err)
	}
}

// TestRunDescriptors checks that the child has the very descriptors that
// handoff was given, beyond the first three too, in the state they were in.
func TestRunDescriptors(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	dir := t.TempDir()
	seen := map[string]string{}
	for _, how := range []string{"", "handoff run -- "} {
		cmd := exec.Command("sh", "-c",
			how+
				`sh -c 'readlink /proc/self/fd/0 /proc/self/fd/1 /proc/self/fd/2 /proc/self/fd/3; grep flags /proc/self/fdinfo/1' >&3 3>&3`)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "HANDOFF_WORKSPACE="+dir)
		out, err := os.Create(filepath.Join(dir, "out"))
		if err != nil {
			t.Fatal(err)
		}
		cmd.ExtraFiles = []*os.File{out}
		cmd.Stdin, cmd.Stderr = r, w
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		out.Close()
		b, err := os.ReadFile(out.Name())
		if err != nil {
			t.Fatal(err)
		}
		seen[how] = string(b)
	}
	w.Close()
	if seen["handoff run -- "] != seen[""] || strings.Count(seen[""], "\n") != 5 {
		t.Errorf("with handoff:\n%s\nwithout:\n%s", seen["handoff run -- "], seen[""])
	}
}

// TestRunInterruptedEarly interrupts handoff while it opens the session, at
// many moments: either there is no session, or it is closed. Half of the
// moments are counted from the session's record, so that there is one however
// slow the machine is.
func TestRunInterruptedEarly(t *testing.T) {
	const rounds = 12
	dir := t.TempDir()
	records := func() int {
		found, err := filepath.Glob(filepath.Join(dir, ".handoff", "log", "*", "*.json"))
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}
	for i := range rounds {
		before := records()
		cmd := exec.Command("handoff", "run", "--", "sleep", "60")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "HANDOFF_WORKSPACE="+dir)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(30 * time.Second); i%2 == 1 && records() == before; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("no session was recorded")
			}
		}
		time.Sleep(time.Duration(i) * 4 * time.Millisecond)
		cmd.Process.Signal(syscall.SIGINT)
		if cmd.Wait(); cmd.ProcessState.Success() {
			t.Error("a command that was interrupted succeeds")
		}
	}
	w, err := workspace.Open(dir, workspace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	page, err := w.Hub().Sessions(t.Context(), handoff.SessionQuery{})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(page.Sessions); n < rounds/2 {
		t.Errorf("%d sessions, want at least %d", n, rounds/2)
	}
	for _, s := range page.Sessions {
		if s.Status != session.Cancelled {
			t.Errorf("session %s is left %s", s.ID, s.Status)
		}
	}
}
