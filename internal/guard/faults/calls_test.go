//go:build linux && amd64

package faults

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/agent-handoff/handoff/workspace"
)

// A scenario is a command that records one fact.
type scenario struct {
	name  string
	fresh bool // in a new workspace
	args  []string
	fact  string // the type of its fact
}

var scenarios = []scenario{
	{"publish", false, []string{"publish", "a.md", "--channel", "design"}, "artifact.published"},
	{"first publish", true, []string{"publish", "a.md", "--channel", "design"}, "artifact.published"},
	{"publish content", false, []string{"publish", "-", "--channel", "design", "--json"}, "artifact.published"},
	{"write", false, []string{"write", "context.md", "a.md", "--run", "r1"}, "artifact.published"},
	{"first write", true, []string{"write", "context.md", "a.md", "--run", "r1"}, "artifact.published"},
	{"withdraw", false, []string{"withdraw", "context.md"}, "artifact.withdrawn"},
	{"session open", false, []string{"session", "open", "--agent", "alex", "--workflow", "intake"}, "session.opened"},
	{"session add", false, []string{"session", "add", "docs/agent-outputs/" + session + "/spec.md", "--type", "document",
		"--session", session}, "artifact.published"},
	{"session close", false, []string{"session", "close", "--session", session, "--status", "completed"},
		"session.closed"},
	{"pipeline put", false, []string{"pipeline", "put", "42", "plan", "plan.json"}, "artifact.published"},
}

// TestEveryCallFails makes each system call on a file fail once, in each scenario;
// without HANDOFF_LONG only a few of them, and those around the append. A record
// must never be acknowledged and lost, and never be in the log while the command
// does not say so.
func TestEveryCallFails(t *testing.T) {
	b := newBench(t)
	long := os.Getenv("HANDOFF_LONG") != ""
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			calls := b.calls(t, s)
			if len(calls) < 50 {
				t.Fatalf("%q makes %d system calls on files, want more", s.args, len(calls))
			}
			runs, failed := 0, 0
			try := func(c *tracer) {
				runs++
				if b.try(t, s, c) {
					failed++
				}
			}
			for i, at := range calls {
				if long || i == len(calls)/2 || syncsLink(calls[:i+1]) {
					try(&tracer{fail: i + 1})
				}
				if changesNames[at.number] && (long || at.number == syscall.SYS_LINKAT) {
					try(&tracer{fail: i + 1, perform: true}) // as on a network file system that loses the reply
				}
			}
			t.Logf("%d system calls; %d of %d runs failed", len(calls), failed, runs)
		})
	}
}

// syncsLink reports whether the last of some calls makes a link durable.
func syncsLink(calls []call) bool {
	last := len(calls) - 1
	return calls[last].number == syscall.SYS_FSYNC &&
		slices.ContainsFunc(calls[max(0, last-8):last], func(c call) bool { return c.number == syscall.SYS_LINKAT })
}

// changesNames are the system calls whose reply can be lost.
var changesNames = map[uint64]bool{
	syscall.SYS_LINKAT: true, syscall.SYS_RENAMEAT: true, syscall.SYS_MKDIRAT: true, syscall.SYS_UNLINKAT: true,
}

// A bench has the program and the workspaces that scenarios start from.
type bench struct{ program, dir string }

func newBench(t *testing.T) bench {
	t.Helper()
	b := bench{program: build(t), dir: t.TempDir()}
	for _, fresh := range []bool{true, false} {
		ws := b.original(fresh)
		must(t, os.MkdirAll(filepath.Join(ws, ".git"), 0o755))
		must(t, os.WriteFile(filepath.Join(ws, "a.md"), []byte("# Retry policy\n"), 0o644))
		must(t, os.WriteFile(filepath.Join(ws, "plan.json"),
			[]byte(`{"affected_files":["a.go"],"steps":[{"order":1,"file":"a.go"}],"acceptance_mapping":{"AC1":"a_test.go"}}`),
			0o644))
	}
	for _, args := range [][]string{
		{"publish", "plan.json", "--channel", "design"},
		{"write", "context.md", "plan.json", "--run", "r1"},
		{"session", "open", "--agent", "alex", "--workflow", "intake", "--id", session},
		{"pipeline", "init", "42"},
	} {
		cmd := exec.Command(b.program, args...)
		cmd.Dir, cmd.Env = b.original(false), b.env()
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%q: %v: %s", args, err, out)
		}
	}
	must(t, os.WriteFile(filepath.Join(b.original(false), "docs/agent-outputs", session, "spec.md"), []byte("# Spec\n"),
		0o644))
	return b
}

// original is the workspace that scenarios copy.
func (b bench) original(fresh bool) string { return filepath.Join(b.dir, fmt.Sprint("fresh-", fresh)) }

func (b bench) env() []string { return []string{"HOME=" + b.dir, "TMPDIR=" + b.dir} }

// A trial is one run of a scenario in a workspace of its own.
type trial struct {
	ws       string
	code     int
	out, err string
}

func (b bench) run(t *testing.T, s scenario, c *tracer) trial {
	t.Helper()
	r := trial{ws: t.TempDir()}
	if out, err := exec.Command("cp", "-a", b.original(s.fresh)+"/.", r.ws).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v: %s", err, out)
	}
	r.code, r.out, r.err = b.trace(t, r.ws, s, c)
	return r
}

// trace runs the command of a scenario with files as its streams.
func (b bench) trace(t *testing.T, ws string, s scenario, c *tracer) (code int, out, errs string) {
	t.Helper()
	var files []*os.File
	for i := range 3 {
		f, err := os.CreateTemp(t.TempDir(), fmt.Sprint(i))
		must(t, err)
		defer f.Close()
		files = append(files, f)
	}
	_, err := files[0].WriteString("from standard input\n")
	must(t, err)
	_, err = files[0].Seek(0, 0)
	must(t, err)
	code = c.run(t, b.program, &os.ProcAttr{Dir: ws, Env: b.env(), Files: files}, s.args...)
	var texts [2]string
	for i, f := range files[1:] {
		content, err := os.ReadFile(f.Name())
		must(t, err)
		texts[i] = string(content)
	}
	return code, texts[0], texts[1]
}

// calls returns the system calls on files that a scenario makes.
func (b bench) calls(t *testing.T, s scenario) []call {
	t.Helper()
	c := new(tracer)
	if r := b.run(t, s, c); r.code != 0 {
		t.Fatalf("%q without a fault exits %d: %s", s.args, r.code, r.err)
	}
	return c.calls
}

// try runs a scenario with one fault, and reports whether the command failed.
func (b bench) try(t *testing.T, s scenario, c *tracer) (failed bool) {
	t.Helper()
	before := len(records(t, b.original(s.fresh), s.fact))
	r := b.run(t, s, c)
	if c.failed == (call{}) {
		return false // this run made fewer calls
	}
	fail := func(format string, args ...any) {
		t.Errorf("%q with system call %d of %d (%d) failing exits %d: %s\nstderr: %s", s.args, c.fail, len(c.calls),
			c.failed.number, r.code, fmt.Sprintf(format, args...), r.err)
	}
	added := records(t, r.ws, s.fact)[before:]
	switch {
	case strings.Contains(r.err, "goroutine "):
		fail("panic")
	case len(added) > 1:
		fail("recorded %d times", len(added))
	case r.code == 0 && len(added) == 0:
		fail("acknowledged, but nothing is in the log")
	case r.code != 0 && len(added) == 1 && !saysRecorded(r.err):
		fail("%s is in the log, but the error does not say so", added[0].ID)
	case r.code != 0 && len(added) == 0 && saysRecorded(r.err):
		fail("nothing is in the log, but the error says so")
	}
	w, err := workspace.Open(r.ws, workspace.Options{})
	must(t, err)
	defer w.Close()
	report, err := w.Store().Check(context.Background())
	if err != nil || !report.OK() {
		fail("check afterwards: %v, %+v", err, report.Findings)
	}
	return r.code != 0
}

func saysRecorded(text string) bool {
	return strings.Contains(text, "recorded as ") || strings.Contains(text, "published as ") ||
		strings.Contains(text, "the command was completed")
}
