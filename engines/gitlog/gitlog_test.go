package gitlog

import (
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/internal/tool/testdir"
)

func TestMain(m *testing.M) { os.Exit(testdir.Run(m.Run)) }

// git runs git in a directory and returns what it prints.
func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	c := exec.Command("git", args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a",
		"GIT_COMMITTER_EMAIL=a@b", "GIT_CONFIG_GLOBAL=/dev/null")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// server returns an empty bare repository.
func server(t testing.TB) string {
	dir := filepath.Join(t.TempDir(), "server.git")
	git(t, "/", "init", "-q", "--bare", dir)
	return dir
}

// machine returns a log in a repository, as a machine with its own runtime
// directory uses it.
func machine(t testing.TB, url string) *Log {
	t.Helper()
	return openAt(t, url, t.TempDir())
}

func openAt(t testing.TB, url, runtime string) *Log {
	l := Open(Options{Fetch: url, Name: "default", Runtime: runtime, Rand: rand.Reader})
	t.Cleanup(func() { l.Close() })
	return l
}

// sameMachine opens the log on one machine, and machines on another one each time.
func sameMachine(t *testing.T) func() handoff.Log {
	url, dir := server(t), t.TempDir()
	return func() handoff.Log { return openAt(t, url, dir) }
}

func machines(t *testing.T) func() handoff.Log {
	url := server(t)
	return func() handoff.Log { return machine(t, url) }
}

func TestLog(t *testing.T) {
	t.Parallel()
	logtest.Run(t, sameMachine)
}

// TestLogOfMachines takes as long again.
func TestLogOfMachines(t *testing.T) {
	if os.Getenv("HANDOFF_LONG") == "" {
		t.Skip("takes a while; HANDOFF_LONG=1 runs it")
	}
	logtest.Run(t, machines)
}

func TestLogAbilities(t *testing.T) {
	t.Parallel()
	logtest.RunLogAbilities(t, machines)
}

func bodiesOpener(t *testing.T) func() handoff.Bodies {
	url, dir := server(t), t.TempDir()
	return func() handoff.Bodies { return openAt(t, url, dir).Bodies() }
}

func TestBodies(t *testing.T) { logtest.RunBodies(t, bodiesOpener) }

func TestBodyAbilities(t *testing.T) { logtest.RunBodyAbilities(t, bodiesOpener) }
