package bucketlog_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
)

var built string // the directory of the program

var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "handoff-s3-")
	if err != nil {
		return "", err
	}
	built = dir
	c := exec.Command("go", "build", "-o", filepath.Join(dir, "handoff"), ".")
	c.Dir = "../.."
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return filepath.Join(dir, "handoff"), nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if built != "" {
		os.RemoveAll(built)
	}
	os.Exit(code)
}

// A user runs the program on machines: directories and homes without a common file.
type user struct {
	dir, log string
}

// user returns one whose log is in a store.
func (s *store) user(t testing.TB, settings string) user {
	return user{t.TempDir(), "s3://bucket/team?" + settings + "endpoint=" + s.URL}
}

// home returns the home directory of a machine. The work is in its directory work.
func (u user) home(machine string) string { return filepath.Join(u.dir, machine) }

func (u user) command(t testing.TB, machine string, args ...string) *exec.Cmd {
	t.Helper()
	p, err := program()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), p, args...)
	c.Dir = filepath.Join(u.home(machine), "work")
	if err := os.MkdirAll(filepath.Join(c.Dir, ".git"), 0o777); err != nil {
		t.Fatal(err)
	}
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + u.home(machine), "HANDOFF_LOG=" + u.log,
		"AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=k", "AWS_SECRET_ACCESS_KEY=s"}
	return c
}

// run runs a command and returns its output, its standard error and its exit code.
func (u user) run(t testing.TB, machine string, args ...string) (out, stderr string, code int) {
	t.Helper()
	c := u.command(t, machine, args...)
	var printed, failed strings.Builder
	c.Stdout, c.Stderr = &printed, &failed
	start := time.Now()
	if err := c.Run(); c.ProcessState == nil {
		t.Fatal(err)
	}
	t.Logf("%s: handoff %q = %d in %v\n%s%s", machine, args, c.ProcessState.ExitCode(),
		time.Since(start).Round(10*time.Millisecond), printed.String(), failed.String())
	return strings.TrimSpace(printed.String()), failed.String(), c.ProcessState.ExitCode()
}

func (u user) write(t testing.TB, machine, name, content string) {
	t.Helper()
	file := filepath.Join(u.command(t, machine).Dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestCommands runs the program on two machines.
func TestCommands(t *testing.T) {
	s := newStore(t)
	u := s.user(t, "poll=0s&")
	run := func(machine string, args ...string) (string, int) {
		t.Helper()
		out, _, code := u.run(t, machine, args...)
		return out, code
	}
	if out, code := run("one", "list"); out != "" || code != 0 {
		t.Errorf("list of an empty log = %q, %d", out, code)
	}
	u.write(t, "one", "design.md", "the design")
	id, code := run("one", "publish", "design.md", "--channel", "design")
	if code != 0 {
		t.Fatal("publish failed")
	}
	if out, code := run("two", "read", id); out != "the design" || code != 0 {
		t.Errorf("read on another machine = %q, %d", out, code)
	}
	if out, code := run("two", "check"); !strings.HasPrefix(out, "1 record") || code != 0 {
		t.Errorf("check = %q, %d", out, code)
	}
	s.denied.Store(true)
	if _, code := run("two", "list"); code != 5 {
		t.Errorf("list with wrong credentials ends with %d, want 5", code)
	}
	s.denied.Store(false)
	s.fail.Store(1 << 40)
	if _, code := run("one", "publish", "design.md", "--channel", "design"); code != 5 {
		t.Errorf("publish to a store that fails ends with %d, want 5", code)
	}
	// With a queue, the record and its body are sent when the store is back.
	u.write(t, "one", ".handoff/config.yaml", "queue: true\n")
	u.write(t, "one", "patch.md", "the patch")
	for _, failing := range []int64{0, 1 << 40} { // it knows the log after the first list
		s.fail.Store(failing)
		if out, code := run("one", "list"); !strings.Contains(out, id) || code != 0 {
			t.Errorf("list = %q, %d", out, code)
		}
	}
	patch, code := run("one", "publish", "patch.md", "--channel", "patch")
	if code != 0 {
		t.Errorf("publish with a queue ends with %d", code)
	}
	if out, code := run("one", "read", patch); out != "the patch" || code != 0 {
		t.Errorf("read of what is queued = %q, %d", out, code)
	}
	s.fail.Store(0)
	if out, code := run("one", "log", "send"); out != "sent 1 record" || code != 0 {
		t.Errorf("log send = %q, %d", out, code)
	}
	if out, code := run("two", "read", patch); out != "the patch" || code != 0 {
		t.Errorf("read on another machine = %q, %d", out, code)
	}
}

// TestDemo runs the demo with its agents on machines that share only a bucket.
func TestDemo(t *testing.T) {
	s := newStore(t)
	u := s.user(t, "poll=0s&")
	if out, _, code := u.run(t, "one", "demo", "--log", "s3://bucket/demo?endpoint="+s.URL); code != 0 ||
		!strings.Contains(out, "receipt") {
		t.Errorf("demo over a bucket = %q, %d", out, code)
	}
	if n := s.count(t, "demo/log/"); n < 5 {
		t.Errorf("the log has %d objects", n)
	}
}

// TestSurfaces runs the test of the MCP server, the viewer and kept threads over a
// log in a bucket.
func TestSurfaces(t *testing.T) {
	s := newStore(t)
	p, err := program()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-run", "^TestRemoteSurfaces$", "./cmd/internal/program")
	c.Dir = "../../../.."
	c.Env = append(os.Environ(), "REMOTE_LOG="+s.user(t, "poll=0s&").log, "REMOTE_PROGRAM="+p, "AWS_REGION=us-east-1",
		"AWS_ACCESS_KEY_ID=k", "AWS_SECRET_ACCESS_KEY=s")
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestFaultyStore publishes to a store that fails, does not answer, is slow, or does
// what it is asked and answers with an error. The command ends with exit code 5 and
// names the store, unless the record is stored; a publish that is repeated when the
// store is back is stored once.
func TestFaultyStore(t *testing.T) {
	for _, tt := range []struct {
		name string
		set  func(s *store, on bool)
		text string // in the error
	}{
		{"500", func(s *store, on bool) { s.failAll(http.StatusInternalServerError, on) }, "500"},
		{"503", func(s *store, on bool) { s.failAll(http.StatusServiceUnavailable, on) }, "503"},
		{"429", func(s *store, on bool) { s.failAll(http.StatusTooManyRequests, on) }, "429"},
		{"full", func(s *store, on bool) { s.failAll(http.StatusInsufficientStorage, on) }, "507"},
		{"slow", func(s *store, on bool) { s.slow.Store(map[bool]int64{true: int64(500 * time.Millisecond)}[on]) }, ""},
		{"hanging", func(s *store, on bool) { s.hang.Store(on) }, "no answer within"},
		{"hanging after the record", func(s *store, on bool) { s.hangLater.Store(on); s.hang.Store(false) },
			"no answer within"},
		{"stored and failed", func(s *store, on bool) { s.puts500.Store(on) }, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			timeout := "20s" // for the retries of a request
			if strings.Contains(tt.name, "hanging") {
				timeout = "2s"
			}
			u := s.user(t, "poll=0s&timeout="+timeout+"&")
			u.write(t, "one", "first.md", "the first")
			u.write(t, "one", "second.md", "the second")
			if _, _, code := u.run(t, "one", "publish", "first.md", "--channel", "design"); code != 0 {
				t.Fatal("publish to a store without faults failed")
			}
			before := s.count(t, "team/log/")
			tt.set(s, true)
			out, stderr, code := u.run(t, "one", "publish", "second.md", "--channel", "design", "--key", "k")
			tt.set(s, false)
			if tt.text == "" {
				if code != 0 {
					t.Errorf("publish ends with %d, want 0", code)
				}
			} else if code != 5 || out != "" || !strings.Contains(stderr, "s3://bucket/team") ||
				!strings.Contains(stderr, tt.text) {
				t.Errorf("publish ends with %d, %q, %q, want 5 and the store", code, out, stderr)
			}
			if n := s.count(t, "team/log/"); tt.text != "" && tt.name != "hanging after the record" && n != before {
				t.Errorf("the log has %d objects, want %d", n, before)
			}
			again, _, code := u.run(t, "one", "publish", "second.md", "--channel", "design", "--key", "k")
			if code != 0 || again == "" || out != "" && out != again {
				t.Errorf("publish again = %q, %d, after %q", again, code, out)
			}
			if list, _, code := u.run(t, "two", "list", "--all"); strings.Count(list, "second.md") != 1 || code != 0 {
				t.Errorf("list on another machine = %q, %d, want it once", list, code)
			}
			if out, _, code := u.run(t, "two", "read", again); out != "the second" || code != 0 {
				t.Errorf("read on another machine = %q, %d", out, code)
			}
			if out, _, code := u.run(t, "two", "check"); !strings.HasPrefix(out, "2 records") || code != 0 {
				t.Errorf("check = %q, %d", out, code)
			}
		})
	}
}

// count returns the number of objects under a prefix.
func (s *store) count(t testing.TB, prefix string) int {
	t.Helper()
	list, err := s.backend.ListBucket("bucket", &gofakes3.Prefix{HasPrefix: true, Prefix: prefix},
		gofakes3.ListBucketPage{})
	if err != nil {
		t.Fatal(err)
	}
	return len(list.Contents)
}

// failAll answers every request with an error, or none.
func (s *store) failAll(status int, on bool) {
	s.status.Store(int64(status))
	s.fail.Store(0)
	if on {
		s.fail.Store(1 << 40)
	}
}

// TestSlowBody sends a body to a store that stops to read it.
func TestSlowBody(t *testing.T) {
	s := newStore(t)
	u := s.user(t, "poll=0s&timeout=1s&")
	u.write(t, "one", "small.md", "small")
	if _, _, code := u.run(t, "one", "publish", "small.md", "--channel", "design"); code != 0 {
		t.Fatal("publish to a store without faults failed")
	}
	u.write(t, "one", "large.bin", strings.Repeat("0123456789abcdef", 20<<16))
	s.hangPuts.Store(true)
	if _, stderr, code := u.run(t, "one", "publish", "large.bin", "--channel", "design", "--keep=always"); code != 5 ||
		!strings.Contains(stderr, "s3://bucket/team") {
		t.Errorf("publish ends with %d, %q, want 5 and the store", code, stderr)
	}
	s.hangPuts.Store(false)
	id, _, code := u.run(t, "one", "publish", "large.bin", "--channel", "design", "--keep=always")
	if code != 0 {
		t.Errorf("publish again ends with %d", code)
	}
	if out, _, code := u.run(t, "two", "read", id, "--to", "large.bin"); code != 0 {
		t.Errorf("read on another machine = %q, %d", out, code)
	}
}

// TestNoBucket publishes to a bucket that does not exist: that is no outage, and nothing
// is queued. If this machine has used the bucket before, it is one.
func TestNoBucket(t *testing.T) {
	s := newStore(t)
	u := s.user(t, "poll=0s&")
	u.write(t, "one", "a.md", "text")
	wrong := u
	wrong.log = strings.Replace(u.log, "s3://bucket/", "s3://other/", 1)
	if out, stderr, code := wrong.run(t, "one", "publish", "a.md", "--channel", "design"); code != 3 || out != "" ||
		!strings.Contains(stderr, "the bucket does not exist") {
		t.Errorf("publish to no bucket = %q, %q, %d, want exit code 3", out, stderr, code)
	}
	if out, _, _ := wrong.run(t, "one", "log", "status", "--json"); strings.Contains(out, `"queued": 1`) {
		t.Errorf("log status = %s, want nothing queued", out)
	}
	if _, err := os.Stat(filepath.Join(u.home("one"), "work", ".handoff")); err == nil {
		t.Error("a workspace was created")
	}
	u.write(t, "one", ".handoff/config.yaml", "queue: true\n")
	if _, _, code := wrong.run(t, "one", "publish", "a.md", "--channel", "design"); code != 3 {
		t.Errorf("publish to no bucket with a queue exits %d, want 3", code)
	}
	id, _, code := u.run(t, "one", "publish", "a.md", "--channel", "design")
	if code != 0 {
		t.Fatal("publish failed")
	}
	if err := s.backend.ForceDeleteBucket("bucket"); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := u.run(t, "one", "publish", "a.md", "--channel", "patch"); code != 0 ||
		!strings.Contains(stderr, "queue") {
		t.Errorf("publish to a removed bucket = %q, %d, want that it is queued", stderr, code)
	}
	if out, _, code := u.run(t, "one", "list"); code != 0 || !strings.Contains(out, id) {
		t.Errorf("list = %q, %d, want what was known", out, code)
	}
}
