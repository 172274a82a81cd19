//go:build linux

package natstest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// runServer is the process of a server without a cluster. Its configuration is a port
// and a directory.
func runServer(config string) error {
	port, dir, _ := strings.Cut(config, " ")
	n, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: n, JetStream: true, StoreDir: dir, NoSigs: true,
		NoLog: true, MaxPayload: 2 << 20})
	if err != nil {
		return err
	}
	s.Start()
	s.WaitForShutdown()
	return nil
}

// waitStopped returns when no thread of a process runs any more, some time after the signal.
func waitStopped(t *testing.T, pid int) {
	t.Helper()
	for running := true; running; {
		states, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		if err != nil || len(states) == 0 {
			t.Fatal("the server has no threads: ", err)
		}
		running = slices.ContainsFunc(states, func(file string) bool {
			b, err := os.ReadFile(file)
			return err == nil && !strings.Contains(string(b), ") T ")
		})
	}
}

// TestStoppedServer publishes to a server that does not answer, as one whose machine is
// suspended: to one that was stopped before, and to one that is stopped on the way. The
// command ends with exit code 5 and names the server; a publish that is repeated when
// the server is back is stored once.
func TestStoppedServer(t *testing.T) {
	port := freePort(t)
	p := exec.Command(os.Args[0])
	p.Env = append(os.Environ(), roleVariable+"=server "+fmt.Sprint(port, " ", t.TempDir()))
	p.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Process.Kill()
		p.Wait()
	})
	at := fmt.Sprint("127.0.0.1:", port)
	for i := 0; ; i++ {
		nc, err := nats.Connect("nats://" + at)
		if err == nil {
			nc.Close()
			break
		}
		if i == 100 {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
	}
	signal := func(s syscall.Signal) {
		t.Helper()
		if err := p.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	proxied := newProxy(t, at)
	u := user{dir: t.TempDir(), log: "nats://" + proxied.address() + "/team?timeout=3s"}
	u.write(t, "one", "first.md", []byte("the first"))
	if out, code, _ := u.run(t, "one", "publish", "first.md", "--channel", "design"); code != 0 {
		t.Fatalf("publish = %q, %d", out, code)
	}
	stop := func() {
		signal(syscall.SIGSTOP)
		waitStopped(t, p.Process.Pid)
	}
	for i, prepare := range []func(){stop, func() { proxied.sending.Store(&stop) }} {
		name := fmt.Sprint("later-", i, ".md")
		u.write(t, "one", name, []byte(name))
		prepare()
		out, code, _ := u.run(t, "one", "publish", name, "--channel", "design", "--key", name)
		if code != 5 || !strings.Contains(out, proxied.address()) || !strings.Contains(out, "no answer within 3s") ||
			strings.Contains(out, "art_") {
			t.Errorf("publish to a server that was stopped = %q, %d, want 5 and the server", out, code)
		}
		proxied.sending.Store(nil)
		signal(syscall.SIGCONT)
		if out, code, _ := u.run(t, "one", "publish", name, "--channel", "design", "--key", name); code != 0 {
			t.Errorf("publish again = %q, %d", out, code)
		}
		if out, code, _ := u.run(t, "two", "list", "--all"); code != 0 || strings.Count(out, name) != 1 {
			t.Errorf("list on another machine = %q, %d, want %s once", out, code, name)
		}
	}
	if out, code, _ := u.run(t, "two", "check"); code != 0 || !strings.HasPrefix(out, "3 records") {
		t.Errorf("check = %q, %d", out, code)
	}
}
