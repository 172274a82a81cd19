package lifecycle_test

import (
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/session/lifecycle"
	"golang.org/x/sys/unix"
)

// TestHiddenProcess observes a process that this user can't see, because /proc is
// mounted with hidepid: nothing says that it has ended.
func TestHiddenProcess(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can mount /proc")
	}
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := lifecycle.ProcessOf(cmd.Process.Pid)
	var seen handoff.Process
	var live, ended, reused bool
	as := func(do func()) error { // on a thread of its own, which ends with the goroutine
		done := make(chan error)
		go func() {
			runtime.LockOSThread()
			err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS)
			if err == nil {
				err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
			}
			if err == nil {
				err = unix.Mount("proc", "/proc", "proc", 0, "hidepid=2")
			}
			const nobody = 65534
			for _, call := range [][4]uintptr{{unix.SYS_SETGROUPS}, {unix.SYS_SETRESGID, nobody, nobody, nobody},
				{unix.SYS_SETRESUID, nobody, nobody, nobody}} {
				if _, _, no := unix.RawSyscall(call[0], call[1], call[2], call[3]); err == nil && no != 0 {
					err = no
				}
			}
			if err == nil {
				do()
			}
			done <- err
		}()
		return <-done
	}
	err := as(func() { seen, live = lifecycle.ProcessOf(p.PID), lifecycle.ThisObserver().Alive(p) })
	other := p
	other.StartTime = "1"
	reused = lifecycle.ThisObserver().Alive(other)
	cmd.Process.Kill()
	cmd.Wait()
	if err != nil {
		t.Skip(err) // in a container
	}
	if err := as(func() { ended = lifecycle.ThisObserver().Alive(p) }); err != nil {
		t.Fatal(err)
	}
	if seen != (handoff.Process{}) || !live || ended || reused {
		t.Errorf("process %v, alive %t, after its end %t, another with its ID %t; want none, true, false and false", seen,
			live, ended, reused)
	}
}
