//go:build linux

package natstest

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

var built string // the directory of the program

var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "natstest-")
	if err != nil {
		return "", err
	}
	built = dir
	c := exec.Command("go", "build", "-o", filepath.Join(dir, "handoff"), "./cmd/handoff")
	c.Dir = "../../.."
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return filepath.Join(dir, "handoff"), nil
})

func TestMain(m *testing.M) {
	role, config, _ := strings.Cut(os.Getenv(roleVariable), " ")
	if run := map[string]func(string) error{"node": runNode, "writer": runWriter, "server": runServer}[role]; run != nil {
		if err := run(config); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code := m.Run()
	if built != "" {
		os.RemoveAll(built)
	}
	os.Exit(code)
}

// A user runs the program on machines: directories without a common file.
type user struct {
	dir, log string
	env      []string
}

func (u user) command(t testing.TB, machine string, args ...string) *exec.Cmd {
	t.Helper()
	p, err := program()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), p, args...)
	home := filepath.Join(u.dir, machine)
	c.Dir = filepath.Join(home, "work")
	if err := os.MkdirAll(filepath.Join(c.Dir, ".git"), 0o777); err != nil {
		t.Fatal(err)
	}
	c.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "HANDOFF_LOG=" + u.log}, u.env...)
	return c
}

// run runs a command and returns its output, its exit code and its largest memory
// in bytes.
func (u user) run(t testing.TB, machine string, args ...string) (string, int, int64) {
	t.Helper()
	c := u.command(t, machine, args...)
	var out, stderr strings.Builder
	c.Stdout, c.Stderr = &out, &stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	done, memory := make(chan struct{}), make(chan int64)
	go func() { memory <- watchMemory(c.Process.Pid, done) }()
	err := c.Wait()
	close(done)
	if c.ProcessState == nil {
		t.Fatal(err)
	}
	t.Logf("%s: handoff %q = %d\n%.300s%s", machine, args, c.ProcessState.ExitCode(), out.String(), stderr.String())
	return strings.TrimSpace(out.String()) + stderr.String(), c.ProcessState.ExitCode(), <-memory
}

// watchMemory returns the largest memory that a process had. What the kernel reports
// at its end includes the memory of this process.
func watchMemory(pid int, done <-chan struct{}) (largest int64) {
	for {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err == nil {
			var kilobytes int64
			if _, err := fmt.Sscan(between(string(status), "VmHWM:", "kB"), &kilobytes); err == nil {
				largest = max(largest, kilobytes<<10)
			}
		}
		select {
		case <-done:
			return largest
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (u user) write(t testing.TB, machine, name string, content []byte) {
	t.Helper()
	u.command(t, machine)
	if err := os.WriteFile(filepath.Join(u.dir, machine, "work", name), content, 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestCommands runs the program on two machines.
func TestCommands(t *testing.T) {
	s := start(t, nil)
	p := newProxy(t, address(t, s))
	u := user{dir: t.TempDir(), log: "nats://" + p.address() + "/team"}
	if out, code, _ := u.run(t, "one", "list"); out != "no results\n" || code != 0 {
		t.Errorf("list of an empty log = %q, %d", out, code)
	}
	watch := u.command(t, "two", "watch", "--first", "--timeout", "60s")
	pipe, err := watch.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := watch.Start(); err != nil {
		t.Fatal(err)
	}
	wait := make(chan string, 1)
	go func() {
		out, _, _ := u.run(t, "three", "wait", "--channel", "design", "--timeout", "60s")
		wait <- out
	}()
	time.Sleep(time.Second) // a watch starts with what is new
	u.write(t, "one", "design.md", []byte("the design"))
	out, code, _ := u.run(t, "one", "publish", "design.md", "--channel", "design", "--json")
	id := between(out, `"id": "`, `"`)
	if code != 0 || id == "" || !strings.Contains(out, "1 replica") {
		t.Fatal("publish failed, or did not warn about the replicas")
	}
	if line, err := bufio.NewReader(pipe).ReadString('\n'); err != nil || !strings.Contains(line, id) {
		t.Errorf("watch on another machine printed %q, %v", line, err)
	}
	if err := watch.Wait(); err != nil {
		t.Errorf("watch = %v", err)
	}
	if out := <-wait; !strings.Contains(out, id) {
		t.Errorf("wait on another machine printed %q", out)
	}
	for _, tt := range []struct {
		args string
		want string
	}{
		{"list", "remote:design.md"},
		{"show " + id, "remote:design.md"},
		{"read " + id, "the design"},
		{"check", "1 record"},
		{"log status", "replicas 1"},
		{"log status --json", `"name": "sync_interval"`},
		{"log copy nats://" + p.address() + "/team file:", "1 record"},
		{"log copy nats://" + p.address() + "/team nats://" + p.address() + "/copy", "1 record"},
	} {
		if out, code, _ := u.run(t, "two", strings.Fields(tt.args)...); !strings.Contains(out, tt.want) || code != 0 {
			t.Errorf("%s = %q, %d, want %q", tt.args, out, code, tt.want)
		}
	}
	for _, args := range []string{"gc --remote", "gc --remote --collect", "gc --remote --keep-last 1 --collect"} {
		if _, code, _ := u.run(t, "two", strings.Fields(args)...); code != 7 {
			t.Errorf("%s ends with %d, want 7", args, code)
		}
	}
	u.write(t, "two", "more.md", []byte("more"))
	if out, code, _ := u.run(t, "two", "publish", "more.md", "--channel", "design"); code != 0 ||
		strings.Contains(out, "1 replica") {
		t.Errorf("a second machine publishes: %q, %d, want no warning", out, code)
	}
	if out, code, _ := u.run(t, "two", "demo", "--log", "nats://"+p.address()+"/demo"); code != 0 {
		t.Errorf("demo over NATS = %q, %d", out, code)
	}
	u.command(t, "two")
	config := filepath.Join(u.dir, "two", "work", ".handoff", "config.yaml")
	if err := os.WriteFile(config, []byte("queue: true\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	p.refuse.Store(true)
	p.cut()
	u.write(t, "two", "later.md", []byte("later"))
	if out, code, _ := u.run(t, "two", "publish", "later.md", "--channel", "design", "--json"); code != 0 ||
		!strings.Contains(out, `"queued": true`) {
		t.Errorf("publish without a server = %q, %d, want queued", out, code)
	}
	p.refuse.Store(false)
	u.write(t, "two", "last.md", []byte("last"))
	if _, code, _ := u.run(t, "two", "publish", "last.md", "--channel", "design"); code != 0 {
		t.Error("publish after the server is back failed")
	}
	if out, _, _ := u.run(t, "one", "list"); !strings.Contains(out, "remote:later.md") ||
		!strings.Contains(out, "remote:last.md") {
		t.Errorf("list on another machine = %q, want what was queued", out)
	}
	if err := os.Remove(config); err != nil {
		t.Fatal(err)
	}
	s.Shutdown()
	if _, code, _ := u.run(t, "two", "log", "status"); code != 5 {
		t.Errorf("log status without a server ends with %d, want 5", code)
	}
}

func between(s, start, end string) string {
	_, rest, _ := strings.Cut(s, start)
	found, _, _ := strings.Cut(rest, end)
	return found
}
