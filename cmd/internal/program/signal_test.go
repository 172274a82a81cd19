package program

import (
	"bytes"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// TestSignalled ends a command that waits with a signal: the exit code is that
// of a shell.
func TestSignalled(t *testing.T) {
	for _, tt := range []struct {
		signal syscall.Signal
		code   int
	}{{syscall.SIGINT, 130}, {syscall.SIGTERM, 143}} {
		s := &stage{T: t, dir: t.TempDir()}
		var errs bytes.Buffer
		c := exec.Command("handoff", "watch", "--after", "0")
		c.Dir, c.Env = s.dir, append(os.Environ(), "HANDOFF_WORKSPACE="+s.dir)
		c.Stderr = &errs
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		publish := exec.Command("handoff", "publish", "-", "--channel", "design")
		publish.Dir, publish.Env, publish.Stdin = c.Dir, c.Env, bytes.NewReader([]byte("x"))
		if err := publish.Run(); err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Read(make([]byte, 1)); err != nil { // it has printed, so it handles signals
			t.Fatal(err)
		}
		if err := c.Process.Signal(tt.signal); err != nil {
			t.Fatal(err)
		}
		c.Wait()
		if got := c.ProcessState.ExitCode(); got != tt.code || errs.Len() > 0 {
			t.Errorf("after %s: exit code %d, want %d: %s", tt.signal, got, tt.code, errs.String())
		}
	}
}
