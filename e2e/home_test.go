package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/e2e/model"
)

// limit is how long one program may run. It is generous: a loaded machine must not fail a test.
const limit = 8 * time.Minute

// A home is a user's home directory and a repository, for one program.
type home struct {
	t         *testing.T
	dir, work string
	env       []string
}

// newHome returns an isolated home directory and a repository with a commit.
func newHome(t *testing.T) *home {
	t.Helper()
	clients, handoff := os.Getenv("E2E_CLIENTS"), os.Getenv("E2E_HANDOFF")
	if clients == "" || handoff == "" {
		t.Skip("E2E_CLIENTS and E2E_HANDOFF name no programs; .ci/clients sets them")
	}
	dir := t.TempDir()
	if kept := os.Getenv("E2E_KEEP"); kept != "" {
		dir = filepath.Join(kept, t.Name())
	}
	h := &home{t: t, dir: filepath.Join(dir, "home"), work: filepath.Join(dir, "work")}
	path := strings.Join([]string{handoff, clients, "/usr/local/bin:/usr/bin:/bin"}, ":")
	h.env = []string{"HOME=" + h.dir, "USER=dev", "LANG=C.UTF-8", "TERM=xterm", "SHELL=/bin/bash",
		"TMPDIR=" + filepath.Join(dir, "tmp"), "PATH=" + path}
	h.mkdir(filepath.Join(dir, "tmp"))
	h.mkdir(h.dir)
	h.mkdir(h.work)
	// Programs that use a login shell get the path of the system otherwise.
	h.write(filepath.Join(h.dir, ".profile"), "PATH="+path+"\n")
	h.write(filepath.Join(h.work, "README.md"), "Retry twice.\n")
	for _, args := range [][]string{
		{"init", "-q", "-b", "main", "."}, {"add", "-A"},
		{"-c", "user.name=dev", "-c", "user.email=dev@example.com", "commit", "-qm", "first"},
	} {
		h.must(nil, append([]string{"git"}, args...)...)
	}
	return h
}

func (h *home) mkdir(dir string) {
	h.t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		h.t.Fatal(err)
	}
}

func (h *home) write(name, content string) {
	h.t.Helper()
	h.mkdir(filepath.Dir(name))
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

// merge sets members of a JSON file in the home directory.
func (h *home) merge(name string, members map[string]any) {
	h.t.Helper()
	name = filepath.Join(h.dir, name)
	all := map[string]any{}
	if b, err := os.ReadFile(name); err == nil {
		if err := json.Unmarshal(b, &all); err != nil {
			h.t.Fatal(err)
		}
	}
	for k, v := range members {
		all[k] = v
	}
	b, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		h.t.Fatal(err)
	}
	h.write(name, string(b))
}

// run runs a program in the repository and returns what it printed.
func (h *home) run(env []string, args ...string) (string, error) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	path, err := h.find(args[0])
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, path, args[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = h.work, append(append([]string(nil), h.env...), env...), 10*time.Second
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	err = cmd.Run()
	h.t.Logf("%s: %v\n%s%s", strings.Join(args, " "), err, cut(out.String()), cut(problems.String()))
	return out.String(), err
}

// start starts a program in the repository, and returns what kills it with all that it has started.
func (h *home) start(env []string, args ...string) (kill func()) {
	h.t.Helper()
	path, err := h.find(args[0])
	if err != nil {
		h.t.Fatal(err)
	}
	program := exec.Command(path, args[1:]...)
	program.Dir, program.Env = h.work, append(append([]string(nil), h.env...), env...)
	program.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := program.Start(); err != nil {
		h.t.Fatal(err)
	}
	kill = sync.OnceFunc(func() { _ = syscall.Kill(-program.Process.Pid, syscall.SIGKILL); _ = program.Wait() })
	h.t.Cleanup(kill)
	return kill
}

// all runs a program and returns all that it printed.
func (h *home) all(env []string, args ...string) string {
	h.t.Helper()
	return h.must(env, append([]string{"sh", "-c", `exec "$@" 2>&1`, "sh"}, args...)...)
}

// find returns the path of a program in the PATH of the home directory.
func (h *home) find(name string) (string, error) {
	for _, v := range h.env {
		dirs, ok := strings.CutPrefix(v, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(dirs) {
			p := filepath.Join(dir, name)
			if fi, err := os.Stat(p); err == nil && !fi.IsDir() {
				return p, nil
			}
		}
	}
	return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
}

func (h *home) must(env []string, args ...string) string {
	h.t.Helper()
	out, err := h.run(env, args...)
	if err != nil {
		h.t.Fatalf("%s: %v", args[0], err)
	}
	return out
}

// handoff runs a command that prints JSON, and decodes it.
func (h *home) handoff(v any, args ...string) {
	h.t.Helper()
	out := h.must(nil, append([]string{"handoff"}, args...)...)
	if err := json.Unmarshal([]byte(out), v); err != nil {
		h.t.Fatalf("handoff %s: %v", strings.Join(args, " "), err)
	}
}

// serve starts a model server, whose log the test prints if it fails.
func (h *home) serve(script model.Script) *model.Server {
	h.t.Helper()
	var log bytes.Buffer
	s, err := model.Start(script, &log)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		s.Close()
		h.t.Logf("model server:\n%s", log.String())
	})
	return s
}

func cut(s string) string {
	if len(s) > 4000 {
		return s[:4000] + "…\n"
	}
	return s
}

// read returns a file of the home directory.
func (h *home) read(name string) string {
	h.t.Helper()
	b, err := os.ReadFile(filepath.Join(h.dir, name))
	if err != nil {
		h.t.Fatal(err)
	}
	return string(b)
}
