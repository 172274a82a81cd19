package program

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/spf13/cobra"
)

// interrupted are command lines of every command that does something. Before a line,
// "|" says that it waits for standard input, and "~" that it waits until it is ended.
// PIPE is a named pipe without a writer.
var interrupted = map[string][]string{
	"init":   {"init --dry-run", "init --undo --dry-run"},
	"doctor": {"doctor"}, "version": {"version"},
	"publish": {"| publish - --channel design", "publish PIPE --channel design",
		"publish a.md --channel design", "publish a.md --channel design --claim fine --evidence file:PIPE"},
	"write": {"| write context.md --run r1", "write context.md PIPE --run r1",
		"write context.md a.md --run r1"},
	"label":    {"label design:latest chosen"},
	"withdraw": {"withdraw design:latest"},
	"review":   {"review", "| review design:latest --comment -m -"},
	"apply":    {"apply design:latest --check"},
	"accept":   {"accept design:latest"},
	"compare":  {"compare design:latest -p"}, "diff": {"diff design:latest"},
	"wait":         {"~ wait --channel none --timeout 1h"},
	"watch":        {"~ watch"},
	"list":         {"list"},
	"read":         {"read design:latest", "read design:latest --to PIPE"},
	"show":         {"show design:latest --lineage"},
	"search":       {"search text"},
	"why":          {"why a.md"},
	"verify":       {"verify design:latest"},
	"run":          {"~ run -- sleep 60"},
	"attest":       {"~ attest -- sleep 60"},
	"session open": {"session open --agent b --workflow w"},
	"session add": {"session add --session SESSION out.md --type document",
		"session add --session SESSION PIPE --type document"},
	"session set":           {"session set --session SESSION --tag x --link ENDED"},
	"export tar":            {"export tar ENDED -o out.tar", "export tar ENDED -o PIPE"},
	"import":                {"import PIPE", "import docs/agent-outputs/ENDED"},
	"session close":         {"session close --session SESSION --status completed"},
	"session find":          {"session find"},
	"session latest-output": {"session latest-output a . document"},
	"session graph":         {"session graph SESSION"},
	"session archive":       {"session archive ENDED"},
	"session delete":        {"session delete ENDED"},
	"config explain":        {"config explain session_folder"},
	"config set":            {"config set share_threads true"},
	"config trust":          {"config trust"},
	"export pr":             {"| export pr"},
	"export git-ai":         {"export git-ai HEAD"},
	"export otlp":           {"export otlp SESSION"},
	"pipeline list":         {"pipeline list"},
	"pipeline init":         {"pipeline init"},
	"pipeline put":          {"| pipeline put 42 plan -", "pipeline put 42 plan PIPE"},
	"pipeline adopt":        {"pipeline adopt 42"},
	"pipeline get":          {"pipeline get 42 plan"},
	"pipeline schema":       {"pipeline schema plan"},
	"pipeline validate":     {"| pipeline validate - --stage plan", "pipeline validate PIPE --stage plan"},
	"pipeline gate":         {"pipeline gate 42"},
	"pipeline next":         {"pipeline next 42"},
	"pipeline start":        {"pipeline start 42 plan"},
	"pipeline archive":      {"pipeline archive 42 --force"},
	"pipeline unarchive":    {"pipeline unarchive 42"},
	"thread": {"thread", "| thread codex --data @-", "~ thread codex --data @PIPE",
		"~ thread codex --data text"},
	"continue":    {"continue", "continue agents://codex/11111111-2222-4333-8444-555555555555"},
	"thread keep": {"thread keep agents://codex/11111111-2222-4333-8444-555555555555"},
	"status":      {"status"}, "news": {"news"},
	"cost":       {"cost"},
	"work start": {"work start w --harness h"},
	"work end":   {"work end w --harness h"},
	"work list":  {"work list"},
	"serve":      {"~ serve --listen 127.0.0.1:0 --no-token"},
	"mcp":        {"| mcp"},
	"hook":       {"| hook claude", "| hook statusline"},
	"demo":       {"demo"},
	"check":      {"check"},
	"gc":         {"gc"},
	"log status": {"log status"},
	"log send":   {"log send"},
	"log drop":   {"log drop design:latest"},
	"log copy":   {"log copy file: file:copy"},
}

// TestInterrupted sends a signal to every command, while what it may wait for does not
// come: standard input, the other end of a named pipe, a lock, and git. Each ends.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	w := newWaiting(t)
	eachCommand(func(path []string, command *cobra.Command) {
		name := strings.Join(path, " ")
		if command.Runnable() && (len(interrupted[name]) == 0) && !command.HasSubCommands() {
			t.Errorf("handoff %s has no line in this test", name)
		}
	})
	n := 0
	for _, name := range slices.Sorted(maps.Keys(interrupted)) {
		for _, line := range interrupted[name] {
			states := []string{"", "locked", "no answer"}
			if os.Getenv("HANDOFF_LONG") == "" { // one of them
				i := n % len(states)
				if line[1] == ' ' || strings.Contains(line, "PIPE") {
					i = 0
				}
				states = states[i : i+1]
			}
			for _, state := range states {
				n++
				sig := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM}[n%2]
				t.Run(name+"/"+state, func(t *testing.T) {
					t.Parallel()
					w.end(t, line, state, sig)
				})
			}
		}
	}
}

// A waiting is a workspace in which commands wait.
type waiting struct {
	dir            string
	session, ended string
	slots          chan struct{} // commands at the same time
}

func newWaiting(t *testing.T) *waiting {
	w := &waiting{dir: t.TempDir(), session: "11111111-2222-4333-8444-555555555555",
		ended: "22222222-2222-4333-8444-555555555555",
		slots: make(chan struct{}, 8*runtime.GOMAXPROCS(0))}
	for name, text := range map[string]string{"a.md": "text",
		"plan.json": `{"affected_files":["a"],"steps":[{"order":1,"file":"a"}],"acceptance_mapping":{"a":"a"}}`,
		"docs/agent-outputs/" + w.session + "/out.md": "out", "bin/codex": "#!/bin/sh\nexec sleep 60\n",
		"bin/ssh": "#!/bin/sh\n: >\"$0.asked\"\nexec sleep 60\n"} {
		file := filepath.Join(w.dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := writeProgram(file, text); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range []string{"init -q .", "publish a.md --channel design",
		"session open --agent a --workflow w --id " + w.session,
		"session open --agent a --workflow w --id " + w.ended, "session close --session " + w.ended + " --status completed",
		"pipeline put 42 plan plan.json"} {
		c := w.command(w.dir, strings.Fields(line)...)
		if line == "init -q ." {
			c = exec.Command("git", "-C", w.dir, "init", "-q")
		}
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
	}
	return w
}

func (w *waiting) command(dir string, args ...string) *exec.Cmd {
	c := exec.Command("handoff", args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "HOME="+filepath.Join(dir, "home"), "XDG_CACHE_HOME=", "XDG_CONFIG_HOME=",
		"XDG_STATE_HOME=",
		"HANDOFF_CODEX_BIN="+filepath.Join(dir, "bin", "codex"), "GIT_SSH="+filepath.Join(dir, "bin", "ssh"),
		"GIT_SSH_VARIANT=simple")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return c
}

// end runs a command line in a copy of the workspace, sends a signal if it has not
// ended after a moment, and waits for its end.
func (w *waiting) end(t *testing.T, line, state string, sig syscall.Signal) {
	w.slots <- struct{}{}
	defer func() { <-w.slots }()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(w.dir)); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	var waits byte
	if line[1] == ' ' {
		waits, line = line[0], line[2:]
	}
	c := w.command(dir,
		strings.Fields(strings.NewReplacer("PIPE", "pipe", "SESSION", w.session, "ENDED", w.ended).Replace(line))...)
	switch state {
	case "locked":
		lockAll(t, dir)
	case "no answer":
		timeout := "1h"
		if strings.Contains(line, "attest") { // the end of its command is recorded until the timeout
			timeout = "1s"
		}
		c.Env = append(c.Env, "HANDOFF_LOG=git+ssh://host/x.git?timeout="+timeout)
	}
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	const moment, most = 400 * time.Millisecond, 30 * time.Second
	select {
	case <-ended:
		if waits != 0 && state == "" {
			t.Errorf("handoff %s has ended, want that it waits", line)
		}
		return
	case <-time.After(moment):
	}
	signalled := time.Now()
	if err := c.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(most):
		t.Fatalf("handoff %s (%s) does not end after %s", line, state, sig)
	}
	t.Logf("handoff %s (%s): %s after %s, %s", line, state, time.Since(signalled).Round(time.Millisecond), sig,
		c.ProcessState)
	// Codex is ended by SIGTERM, and its exit code is handoff's. What does not wait may
	// have ended by itself, with any code, when the signal came.
	status := c.ProcessState.Sys().(syscall.WaitStatus)
	if code := status.ExitStatus(); waits != 0 && !slices.Contains([]int{0, 128 + int(sig), 143}, code) &&
		status.Signal() != sig {
		t.Errorf("handoff %s (%s): exit code %d, want %d", line, state, code, 128+int(sig))
	}
}

// lockAll takes every lock in a workspace: of its files and of its directories.
func lockAll(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() == ".git" || !d.IsDir() && !strings.Contains(d.Name(), "lock") {
			if d.Name() == ".git" {
				return fs.SkipDir
			}
			return err
		}
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		t.Cleanup(func() { f.Close() })
		return durable.Lock(t.Context(), f, syscall.LOCK_EX, 0)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestHookInterrupted passes events to hooks whose input stays open, and ends one whose
// log does not answer: an event that was passed is recorded, whatever its size.
func TestHookInterrupted(t *testing.T) {
	t.Parallel()
	w := newWaiting(t)
	for prompt, text := range map[string]string{"small": "go", "large": strings.Repeat("go on ", 2<<20), "queued": "go"} {
		c := w.command(w.dir, "hook", "claude")
		if prompt == "queued" {
			c.Env = append(c.Env, "HANDOFF_LOG=git+ssh://host/x.git?timeout=2s")
		}
		in, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		event := `{"hook_event_name":"UserPromptSubmit","session_id":"s1","prompt_id":"` + prompt + `","cwd":"` + w.dir +
			`","prompt":"` + text + `"}`
		if _, err := in.Write([]byte(event)); err != nil {
			t.Fatal(err)
		}
		if prompt == "queued" {
			(&stage{T: t}).until("it asks the log", func() bool {
				_, err := os.Stat(filepath.Join(w.dir, "bin", "ssh.asked"))
				return err == nil
			})
			c.Process.Signal(syscall.SIGTERM)
		}
		if err := c.Wait(); err != nil {
			t.Errorf("%s: %v", prompt, err)
		}
	}
	list := w.command(w.dir, "work", "list")
	out, err := list.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "small") || !strings.Contains(string(out), "large") {
		t.Errorf("work list: %v\n%s", err, out)
	}
	queued, err := filepath.Glob(filepath.Join(w.dir, ".handoff", "queue", "*", "records-1", "log", "*", "*.json"))
	if err != nil || len(queued) == 0 {
		t.Errorf("no record is queued: %v", err)
	}
}

// TestServeInterrupted ends a server in good order while a client has not sent all of its
// request.
func TestServeInterrupted(t *testing.T) {
	t.Parallel()
	w := newWaiting(t)
	c := w.command(w.dir, "serve", "--listen", "127.0.0.1:0", "--no-token")
	out, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Stdout = c.Stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Process.Kill()
	address := ""
	for lines := bufio.NewScanner(out); address == "" && lines.Scan(); {
		address = regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(lines.Text())
	}
	client, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	fmt.Fprintf(client, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, "+
		"text/event-stream\r\nContent-Length: 100\r\n\r\n{", address)
	time.Sleep(200 * time.Millisecond) // until the request is being answered
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, out)
	if err := c.Wait(); err != nil {
		t.Errorf("the server ends with %v", err)
	}
}
