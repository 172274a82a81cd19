package program

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
)

// A standIn takes the place of an agent program: a process with its name, which has a
// transcript with an open turn, runs the program's hooks, and waits. What it has is in
// testdata/killed.txtar.
type standIn struct {
	name, thread string
	program      string // the name of the process, if it is another
	pid          string // the variable with the ID of the process, if the program sets one
	config       string // the directory by which init finds the program
}

const standInID = "0c4f3c1e-7b1a-4d59-9d0e-000000000001"

var standIns = []standIn{
	{name: "claude", pid: "CLAUDE_PID", config: ".claude", thread: "claude/@ID"},
	{name: "codex", config: ".codex", thread: "codex/@ID"},
	{name: "gemini", config: ".gemini", thread: "gemini/@ID"},
	{name: "qwen", pid: "QWEN_CODE_LAUNCHER_PID", config: ".qwen", thread: "qwen/@ID"},
	{name: "kilo", pid: "KILO_PID", config: ".config/kilo", thread: "kilo/ses_shop01"},
	{name: "opencode", pid: "OPENCODE_PID", config: ".config/opencode", thread: "opencode/ses_shop01"},
	{name: "pi", config: ".pi/agent", thread: "pi/@ID"},
	{name: "kimi", program: "kimi-code", config: ".kimi-code", thread: "kimi/session_@ID"},
	{name: "droid", config: ".factory", thread: "droid/@ID"},
}

// TestKilledPrograms sets up nine programs, kills each during a turn, and reads the state 60
// seconds later by the clock that the reader is given: nothing is shown as running.
func TestKilledPrograms(t *testing.T) {
	exe, err := os.Executable()
	must(t, err)
	for _, p := range standIns {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			m := &killedMachine{t: t, home: t.TempDir(), dir: t.TempDir()}
			bin := filepath.Join(m.home, "bin")
			must(t, os.MkdirAll(bin, 0o755))
			must(t, os.Symlink(exe, filepath.Join(bin, "agent-handoff")))
			m.env = map[string]string{"HOME": m.home, "PATH": bin + ":" + os.Getenv("PATH")}
			must(t, exec.Command("git", "-C", m.dir, "init", "-q").Run())
			must(t, os.MkdirAll(filepath.Join(m.home, p.config), 0o755))
			m.handoff(0, "init", "--agent", p.name)
			if !m.registered(p) {
				t.Fatal("init registered no hook")
			}
			program := m.start(p)
			m.running(0, p)
			must(t, syscall.Kill(-program.Process.Pid, syscall.SIGKILL))
			_ = program.Wait()
			m.running(time.Minute, p)
		})
	}
}

type killedMachine struct {
	t         *testing.T
	home, dir string
	env       map[string]string
}

// handoff returns what a command prints at a time from now.
func (m *killedMachine) handoff(later time.Duration, args ...string) []byte {
	m.t.Helper()
	var out, errs bytes.Buffer
	a := &cli.App{In: strings.NewReader(""), Out: &out, Err: &errs, Dir: m.dir,
		Getenv: func(name string) string { return m.env[name] },
		Now:    func() time.Time { return time.Now().Add(later) }, Rand: rand.Reader, Backends: backends}
	if code := a.Run(m.t.Context(), commands, args); code != 0 {
		m.t.Fatalf("handoff %s exits %d: %s", strings.Join(args, " "), code, errs.Bytes())
	}
	return out.Bytes()
}

// registered reports whether a file of the program names its hook.
func (m *killedMachine) registered(p standIn) (found bool) {
	must(m.t, filepath.WalkDir(filepath.Join(m.home, p.config), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		script := bytes.Contains(b, []byte(`"hook", "`+p.name+`"`)) || bytes.Contains(b, []byte(`"hook", agent,`))
		found = found || script || bytes.Contains(b, []byte("hook "+p.name))
		return err
	}))
	return found
}

// start starts the stand-in and waits until its hooks have run.
func (m *killedMachine) start(p standIn) *exec.Cmd {
	now := time.Now().UTC()
	fill := strings.NewReplacer("@ID", standInID, "@AT", now.Format("2006-01-02T15:04:05.000Z"), "@DIR", m.dir,
		"@MS", fmt.Sprint(now.UnixMilli())).Replace
	archive, err := txtar.ParseFile("testdata/killed.txtar")
	must(m.t, err)
	script := "#!/bin/sh\n"
	if p.pid != "" {
		script += "export " + p.pid + "=$$\n"
	}
	for _, f := range archive.Files {
		if name, ok := strings.CutPrefix(f.Name, p.name+"/"); ok {
			file := filepath.Join(m.home, fill(name))
			must(m.t, os.MkdirAll(filepath.Dir(file), 0o755))
			must(m.t, os.WriteFile(file, []byte(fill(string(f.Data))), 0o644))
		}
		if f.Name != p.name+".hooks" {
			continue
		}
		for payload := range strings.Lines(fill(string(f.Data))) {
			script += "echo '" + strings.TrimSpace(payload) + "' | agent-handoff hook " + p.name + "\n"
		}
	}
	started := filepath.Join(m.home, "started")
	script += ": >" + started + "\nsleep 600\n"
	file := filepath.Join(m.home, "bin", cmp.Or(p.program, p.name))
	must(m.t, writeProgram(file, script))
	program := exec.Command(file)
	program.Dir, program.Env = m.dir, []string{"HOME=" + m.env["HOME"], "PATH=" + m.env["PATH"]}
	program.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	must(m.t, program.Start())
	m.t.Cleanup(func() { _ = syscall.Kill(-program.Process.Pid, syscall.SIGKILL) })
	for from := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(started); err == nil {
			return program
		}
		if time.Since(from) > time.Minute {
			m.t.Fatal("the hooks did not run")
		}
	}
}

// running checks at a time from now that something is shown as running everywhere, or
// nothing if the time is not now.
func (m *killedMachine) running(later time.Duration, p standIn) {
	m.t.Helper()
	for _, args := range [][]string{{"status", "--json"}, {"work", "list", "--json"}, {"thread", "--json", "--agents"},
		{"thread", strings.ReplaceAll(p.thread, "@ID", standInID), "--json"}, {"news", "--json"}} {
		out := m.handoff(later, args...)
		var v any
		if err := json.Unmarshal(out, &v); err != nil {
			m.t.Fatalf("%s: %v", args, err)
		}
		count := countRunning(v)
		if count == 0 && later == 0 {
			m.t.Errorf("%s shows nothing as running while the program lives", args)
		}
		if count > 0 && later > 0 {
			m.t.Errorf("%s shows %d as running", args, count)
		}
	}
}

// countRunning returns how many values in JSON are the status running.
func countRunning(v any) (n int) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			n += countRunning(e)
		}
	case map[string]any:
		for name, e := range v {
			if name == "status" && e == "running" {
				n++
			}
			n += countRunning(e)
		}
	}
	return n
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
