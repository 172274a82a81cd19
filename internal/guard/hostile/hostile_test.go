// Package hostile runs the program in workspaces that a cloned repository could
// bring. No command may change or print a file outside the workspace, hang, or
// use much memory.
package hostile

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/testdir"
)

// canary is the content of every file outside the workspace.
const canary = "CANARY-outside-of-the-workspace"

// The bounds of one command.
const (
	maxTime   = 10 * time.Second // of the processor
	hangs     = time.Minute
	maxMemory = 256 << 20 // resident bytes
)

// commands are all kinds of commands, reading ones first. ID is an artifact's.
var commands = [][]string{
	{"list"}, {"list", "--all", "--limit", "0", "--json"}, {"list", "--channels"}, {"show", "ID"},
	{"show", "ID", "--lineage"},
	{"show", "ID", "--history"}, {"read", "ID"}, {"read", "context.md", "--latest"}, {"read", "42/plan.json"},
	{"search", "policy"}, {"why", "a.md"}, {"why", "ID"}, {"why", "HEAD"}, {"verify", "ID"},
	{"thread", "--everywhere"}, {"thread", "codex/019c871c-b1f9-7f60-9c4f-87ed09f13592"},
	{"watch", "--after", "0", "--timeout", "30ms"}, {"wait", "--channel", "nothing", "--timeout", "30ms"},
	{"show", sess}, {"show", sess, "--files"},
	{"session", "find"}, {"session", "graph", sess}, {"session", "latest-output", "alex"}, {"show", "42"},
	{"pipeline", "next", "42"},
	{"pipeline", "get", "42", "plan"}, {"pipeline", "gate", "42", "plan"},
	{"show", "42", "--state"}, {"pipeline", "validate", ".pipeline/lessons.yaml"},
	{"config", "explain", "output_folder"}, {"config", "explain"},
	{"check"}, {"gc"}, {"__complete", "show", ""},
	{"publish", "a.md", "--channel", "design"}, {"publish", "-", "--channel", "design"},
	{"write", "context.md", "a.md", "--run", "r1"},
	{"label", "ID", "chosen"}, {"withdraw", "ID"}, {"attest", "--", "true"}, {"session", "set", "--session", sess,
		"--user-summary", "x"}, {"import", "docs/agent-outputs/" + sess},
	{"run", "--", "true"}, {"session", "close", "--session", sess, "--status", "completed"},
	{"pipeline", "put", "42", "plan", "plan.json"},
	{"pipeline", "archive", "42"},
	{"gc", "--collect"}, {"check", "--repair"}, {"list"},
}

const sess = "a3f2c9d1-4b5e-4789-81ab-cdef12345678"

// A place has a workspace that the program made, and what must stay as it is.
type place struct {
	t       testing.TB
	dir     string // of everything
	ws      string // the workspace
	outside string
	home    string
	program string
	id      string // of an artifact
}

func (p place) runtime(name string) string {
	return filepath.Join(p.ws, ".handoff", filepath.FromSlash(name))
}

func TestHostileWorkspaces(t *testing.T) {
	program := build(t)
	original := newPlace(t, program)
	list := cases(original)
	slices.SortFunc(list, func(a, b hostile) int { return strings.Compare(a.name, b.name) }) // some are of maps
	if len(list) < 60 {
		t.Fatalf("the corpus has %d workspaces, want at least 60", len(list))
	}
	t.Logf("%d workspaces, %d commands", len(list), len(commands))
	long := os.Getenv("HANDOFF_LONG") != ""
	for i, c := range list {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := original.copy(t)
			c.change(p)
			before := digest(t, p.outside, p.home)
			if i%8 == 0 || long { // the viewer shows every eighth workspace
				p.view()
			}
			for j, args := range commands {
				if (i+j)%36 == 0 || long { // each command runs in some workspaces, and in each workspace some commands
					p.run(args)
				}
			}
			if after := digest(t, p.outside, p.home); after != before {
				t.Errorf("files outside the workspace changed:\n%s", firstDifference(before, after))
			}
		})
	}
}

// TestOriginalWorkspace checks that the commands do what they are for where
// nothing is hostile: else the corpus would prove nothing.
func TestOriginalWorkspace(t *testing.T) {
	p := newPlace(t, build(t))
	failed := 0
	for _, args := range commands {
		if code, _ := p.run(args); code != 0 {
			failed++
			t.Logf("%q exits %d", args, code)
		}
	}
	if failed > len(commands)/4 {
		t.Errorf("%d of %d commands fail in an ordinary workspace", failed, len(commands))
	}
}

// built is the program, which all tests share, and its directory.
var built struct {
	sync.Once
	dir string
	out []byte
	err error
}

func TestMain(m *testing.M) {
	code := testdir.Run(m.Run)
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

// build builds the program once, for the first test that needs it.
func build(t *testing.T) string {
	t.Helper()
	built.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "handoff-test-"); built.err == nil {
			built.out, built.err = exec.Command("go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", built.dir,
				"../../../cmd/handoff").CombinedOutput()
		}
	})
	if built.err != nil {
		t.Fatalf("go build: %v: %s", built.err, built.out)
	}
	return filepath.Join(built.dir, "handoff")
}

// newPlace makes the ordinary workspace that every case changes.
func newPlace(t *testing.T, program string) place {
	t.Helper()
	p := at(t, t.TempDir())
	p.program = program
	for _, dir := range []string{p.ws + "/.git", p.home, p.outside + "/dir", p.outside + "/log/00000000"} {
		must(t, os.MkdirAll(dir, 0o755))
	}
	for _, name := range []string{"victim.txt", "dir/in.txt", "dir/x.yaml", "log/00000000/000000000001.json"} {
		p.write(filepath.Join(p.outside, name), canary+"\n")
	}
	p.write(filepath.Join(p.ws, "a.md"), "# Retry policy\n")
	p.write(filepath.Join(p.ws, "plan.json"),
		`{"affected_files":["a.go"],"steps":[{"order":1,"file":"a.go"}],"acceptance_mapping":{"AC1":"a_test.go"}}`)
	p.write(filepath.Join(p.ws, ".pipeline/lessons.yaml"), "- {pattern: first, mitigation: second}\n")
	for _, args := range [][]string{
		{"publish", "a.md", "--channel", "design", "--title", "Retry policy"},
		{"write", "context.md", "a.md", "--run", "r1"},
		{"session", "open", "--agent", "alex", "--workflow", "intake", "--id", sess},
		{"publish", "-", "--channel", "analysis"},
		{"pipeline", "put", "42", "plan", "plan.json"},
		{"list"},
	} {
		code, out := p.run(args)
		if code != 0 {
			t.Fatalf("%q exits %d: %s", args, code, out)
		}
		if args[0] == "publish" && p.id == "" {
			p.id = strings.TrimSpace(strings.Split(out, "\n")[0])
		}
	}
	p.sqlite(filepath.Join(p.outside, "victim.db"))
	return p
}

func at(t testing.TB, dir string) place {
	return place{t: t, dir: dir, ws: filepath.Join(dir, "ws"), outside: filepath.Join(dir, "outside"),
		home: filepath.Join(dir, "home")}
}

// copy copies everything to a new directory.
func (p place) copy(t *testing.T) place {
	t.Helper()
	to := at(t, t.TempDir())
	to.program, to.id = p.program, p.id
	if out, err := exec.Command("cp", "-a", p.dir+"/.", to.dir).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v: %s", err, out)
	}
	return to
}

// run runs a command line in the workspace, checks its bounds and its output,
// and returns its exit code and output.
func (p place) run(args []string) (int, string) {
	p.t.Helper()
	line := make([]string, len(args))
	for i, arg := range args {
		if line[i] = arg; arg == "ID" && p.id != "" {
			line[i] = p.id
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), hangs)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.program, line...)
	cmd.Dir, cmd.Env = p.ws, []string{"HOME=" + p.home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + p.dir}
	cmd.Stdin = strings.NewReader("from standard input\n")
	var out, all head
	cmd.Stdout, cmd.Stderr = &out, &all
	err := cmd.Run()
	all.Write(out.kept)
	if ctx.Err() != nil {
		p.t.Errorf("%q did not end in %s", args, hangs)
	}
	if used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(); used > maxTime {
		p.t.Errorf("%q used %s of processor time", args, used)
	}
	if bytes.Contains(all.kept, []byte(canary)) {
		p.t.Errorf("%q prints a file outside the workspace: %.300q", args, all.kept)
	}
	if bytes.Contains(all.kept, []byte("goroutine ")) {
		p.t.Errorf("%q panics: %.600s", args, all.kept)
	}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok && usage.Maxrss<<10 > maxMemory {
		p.t.Errorf("%q used %d MiB", args, usage.Maxrss>>10)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatalf("%q: %v", args, err)
	}
	return cmd.ProcessState.ExitCode(), string(out.kept)
}

func (p place) write(name, content string) {
	p.t.Helper()
	must(p.t, os.MkdirAll(filepath.Dir(name), 0o755))
	must(p.t, os.RemoveAll(name))
	must(p.t, os.WriteFile(name, []byte(content), 0o644))
}

// digest describes every file of directories, with its time of change.
func digest(t testing.TB, dirs ...string) string {
	t.Helper()
	var b strings.Builder
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && (d.Name() == ".cache" || strings.HasSuffix(name, "/.local/state/agent-handoff/logs")) {
				return filepath.SkipDir // the user's own index, and what this machine remembers of logs
			}
			if strings.HasSuffix(name, "/.local/state/agent-handoff") ||
				strings.HasSuffix(name, "/agent-handoff/opened") || strings.HasSuffix(name, "/agent-handoff/directories") {
				return nil // what is remembered of workspaces and directories
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			sum := sha256.New()
			if info.Mode().IsRegular() {
				f, err := os.Open(name)
				if err != nil {
					return err
				}
				_, err = io.Copy(sum, f) // of any size: this process must not grow, as in head
				if err := errors.Join(err, f.Close()); err != nil {
					return err
				}
			}
			rel, err := filepath.Rel(filepath.Dir(dir), name)
			if err == nil && !d.IsDir() {
				fmt.Fprintf(&b, "%s %v %d %d %x\n", rel, info.Mode(), info.Size(), info.ModTime().UnixNano(), sum.Sum(nil))
			} else if err == nil {
				fmt.Fprintf(&b, "%s %v\n", rel, info.Mode())
			}
			return err
		})
		must(t, err)
	}
	return b.String()
}

func firstDifference(before, after string) string {
	old := strings.Split(before, "\n")
	known := map[string]bool{}
	for _, line := range old {
		known[line] = true
	}
	for line := range strings.Lines(after) {
		if line = strings.TrimSuffix(line, "\n"); !known[line] {
			return "now: " + line
		}
		delete(known, line)
	}
	for line := range known {
		return "gone: " + line
	}
	return ""
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A head keeps the beginning of what is written to it. A command may print a file
// of any size, and the system counts the memory of this process as its own.
type head struct{ kept []byte }

func (h *head) Write(b []byte) (int, error) {
	const most = 4 << 20
	h.kept = append(h.kept, b[:min(most-len(h.kept), len(b))]...)
	return len(b), nil
}
