package versitytest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	access, secret = "handoff", "handoff-secret"
	homes          = 2
	processes      = 8 // at the same time in each home
)

// build builds a program of a module in a directory.
func build(t *testing.T, module, what string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "program")
	c := exec.Command("go", "build", "-o", out, what)
	c.Dir = module
	if text, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return out
}

// serve starts a server with one bucket, and returns its address and its directory.
func serve(t *testing.T) (address, data string) {
	t.Helper()
	gateway := build(t, ".", "github.com/versity/versitygw/cmd/versitygw")
	data = t.TempDir()
	if err := os.MkdirAll(filepath.Join(data, "bucket"), 0o755); err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address = free.Addr().String()
	free.Close()
	c := exec.Command(gateway, "--access", access, "--secret", secret, "--port", address, "--quiet", "posix", data)
	var said strings.Builder
	c.Stdout, c.Stderr = &said, &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
	})
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			return address, data
		}
		if time.Now().After(end) {
			t.Fatalf("the server does not answer: %s", &said)
		}
	}
}

// A team runs the program in homes that share only a log.
type team struct{ program, dir, log string }

// run runs a command in a home, and returns its output, its standard error and its exit
// code.
func (m team) run(t *testing.T, home int, args ...string) (out, stderr string, code int) {
	t.Helper()
	c := exec.Command(m.program, args...)
	dir := filepath.Join(m.dir, fmt.Sprint(home))
	c.Dir = filepath.Join(dir, "work")
	if err := os.MkdirAll(filepath.Join(c.Dir, ".git"), 0o777); err != nil {
		t.Error(err)
	}
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "HANDOFF_LOG=" + m.log, "AWS_REGION=us-east-1",
		"AWS_ACCESS_KEY_ID=" + access, "AWS_SECRET_ACCESS_KEY=" + secret}
	c.Stdin = strings.NewReader(strings.Join(args, " "))
	var printed, failed strings.Builder
	c.Stdout, c.Stderr = &printed, &failed
	if err := c.Run(); c.ProcessState == nil {
		t.Error(err)
		return "", err.Error(), -1
	}
	return strings.TrimSpace(printed.String()), failed.String(), c.ProcessState.ExitCode()
}

// TestManyProcesses publishes with many processes of two homes at a time. Each publish
// is acknowledged, no process reports a loss, and both homes find all records.
func TestManyProcesses(t *testing.T) {
	publishes := 200
	if os.Getenv("HANDOFF_LONG") != "" {
		publishes = 1000
	}
	address, _ := serve(t)
	m := team{build(t, "..", "."), t.TempDir(), "s3://bucket/team?endpoint=http://" + address}
	var mu sync.Mutex
	var ids []string
	work := make(chan int)
	var all sync.WaitGroup
	for home := range homes {
		for range processes {
			all.Go(func() {
				for i := range work {
					id, stderr, code := m.run(t, home, "publish", "-", "--channel", "design", "--title", fmt.Sprint("publish ", i))
					if code != 0 || strings.Contains(stderr, "lost") {
						t.Errorf("publish %d in home %d exits %d: %s", i, home, code, stderr)
					}
					mu.Lock()
					ids = append(ids, id)
					mu.Unlock()
				}
			})
		}
	}
	for i := range publishes {
		work <- i
	}
	close(work)
	all.Wait()
	for home := range homes {
		list, stderr, code := m.run(t, home, "list", "--limit", "0")
		if code != 0 || strings.Contains(stderr, "lost") {
			t.Fatalf("list in home %d exits %d: %s", home, code, stderr)
		}
		missing := 0
		for _, id := range ids {
			if id == "" || !strings.Contains(list, id) {
				missing++
			}
		}
		if missing > 0 || len(ids) != publishes {
			t.Errorf("home %d: %d of %d artifacts are missing", home, missing, publishes)
		}
	}
	if out, stderr, code := m.run(t, 0, "check"); code != 0 {
		t.Errorf("check exits %d: %s%s", code, out, stderr)
	}
}

// TestCollect collects with the program in the bucket of a real server: what is young stays, and what is
// older goes, for both homes. Two processes at the same time remove it once.
func TestCollect(t *testing.T) {
	address, data := serve(t)
	m := team{build(t, "..", "."), t.TempDir(), "s3://bucket/team?endpoint=http://" + address}
	var ids []string
	for i := range 3 {
		args := []string{"publish", "-", "--channel", "design", "--title", fmt.Sprint(i)}
		if i > 0 {
			args = append(args, "--replaces", ids[i-1])
		}
		id, stderr, code := m.run(t, 0, args...)
		if code != 0 {
			t.Fatalf("publish exits %d: %s", code, stderr)
		}
		ids = append(ids, id)
	}
	collect := func(home int) (string, int) {
		_, stderr, code := m.run(t, home, "gc", "--remote", "--keep-last", "1", "--collect")
		return stderr, code
	}
	if stderr, code := collect(1); code != 0 || !strings.Contains(stderr, "dropped by keep-last 1: 0 bodies") {
		t.Errorf("young bodies: %d, %s", code, stderr)
	}
	old := time.Now().Add(-25 * time.Hour)
	err := filepath.WalkDir(filepath.Join(data, "bucket", "team", "bodies"), func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return os.Chtimes(name, old, old)
	})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var codes [homes]int
	for home := range homes {
		all.Go(func() { _, codes[home] = collect(home) })
	}
	all.Wait()
	for home, code := range codes {
		if code != 0 && code != 4 {
			t.Errorf("gc in home %d exits %d", home, code)
		}
	}
	for home := range homes {
		if stderr, code := collect(home); code != 0 {
			t.Errorf("gc in home %d exits %d: %s", home, code, stderr)
		}
		for i, want := range []int{5, 5, 0} {
			if _, stderr, code := m.run(t, home, "read", ids[i]); code != want && home == 1 ||
				want == 5 && code == 5 && !strings.Contains(stderr, "dropped on ") {
				t.Errorf("read of revision %d in home %d exits %d, want %d: %s", i+1, home, code, want, stderr)
			}
		}
	}
	if out, stderr, code := m.run(t, 0, "check"); code != 0 {
		t.Errorf("check exits %d: %s%s", code, out, stderr)
	}
}
