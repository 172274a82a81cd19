//go:build linux && amd64

package faults

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/workspace"
)

// A move is a command that archives, deletes or restores a session, removes its files, or
// writes or reads all of them.
type move struct {
	name   string
	before []string // the session command that comes before it
	args   []string
	done   func(ws string, s handoff.Session) bool
	files  func(ws string) bool // what is there once the command has succeeded after a fault; nil for anything
}

const outputs = "docs/agent-outputs/"

var moveCommands = []move{
	{"archive", nil, []string{"session", "archive", session},
		func(_ string, s handoff.Session) bool { return s.Archived },
		func(ws string) bool { return strings.Contains(manifest(ws), `"archivedAt"`) }},
	{"unarchive", []string{"archive"}, []string{"session", "archive", "--undo", session},
		func(_ string, s handoff.Session) bool { return !s.Archived }, isPlain},
	{"delete", nil, []string{"session", "delete", session},
		func(_ string, s handoff.Session) bool { return s.Deleted },
		func(ws string) bool { return manifest(ws) == "" }},
	{"restore", []string{"delete"}, []string{"session", "delete", "--undo", session},
		func(_ string, s handoff.Session) bool { return !s.Deleted }, isPlain},
	{"collect", []string{"delete"}, []string{"gc", "--keep-within", "1ns", "--collect"},
		func(ws string, s handoff.Session) bool {
			left, err := os.ReadDir(filepath.Join(ws, outputs))
			return s.Deleted && err == nil && len(left) == 0
		}, nil},
	{"export", nil, []string{"export", "tar", session, "-o", "out.tar"},
		func(ws string, _ handoff.Session) bool {
			_, err := os.Stat(filepath.Join(ws, "out.tar"))
			return err == nil
		}, nil},
	{"import", nil, []string{"import", "in.tar"},
		func(_ string, s handoff.Session) bool { return s.Closed != 0 }, isPlain},
}

// manifest returns the manifest of the session, "" for none.
func manifest(ws string) string {
	text, err := os.ReadFile(filepath.Join(ws, outputs, session, "manifest.json"))
	if err != nil {
		return ""
	}
	return string(text)
}

// isPlain reports whether the session has a manifest that does not say that it is archived.
func isPlain(ws string) bool {
	text := manifest(ws)
	return strings.Contains(text, session) && !strings.Contains(text, `"archivedAt"`)
}

// texts are the contents of the session's artifacts. The second has no kept copy.
var texts = []string{"the plan\n", "notes\n"}

// moves has the program and a workspace with a session for each command.
type moves struct {
	bench
}

// TestMovesInterrupted makes system calls on files fail, and kills the process before
// them, in each command that archives, deletes, restores, removes, exports or imports a session: at every call with
// HANDOFF_LONG, otherwise at some of those that change something. The session must be as
// before or as after, with every artifact readable and nothing that check finds;
// repeating the command completes it.
func TestMovesInterrupted(t *testing.T) {
	m := newMoves(t)
	long := os.Getenv("HANDOFF_LONG") != ""
	for _, c := range moveCommands {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			all := new(tracer)
			if r := m.start(t, c, all); r.code != 0 {
				t.Fatalf("%q without a fault exits %d: %s", c.args, r.code, r.err)
			}
			var points []int
			for i, at := range all.calls {
				if changesNames[at.number] || at.number == syscall.SYS_FSYNC || at.number == renameat2 ||
					at.number == syscall.SYS_WRITE {
					points = append(points, i+1)
				}
			}
			if len(points) < 5 {
				t.Fatalf("%q changes files %d times, want more", c.args, len(points))
			}
			step := max(1, len(points)/2)
			if long {
				points, step = nil, 1
				for i := range all.calls {
					points = append(points, i+1)
				}
			}
			failed, killed := 0, 0
			for i := len(points) - 1; i >= 0; i -= step { // the last ones follow the record that counts
				if m.try(t, c, &tracer{fail: points[i]}) {
					failed++
				}
				if m.try(t, c, &tracer{fail: points[i], kill: true}) {
					killed++
				}
			}
			t.Logf("%d system calls; %d runs failed, %d were killed", len(all.calls), failed, killed)
		})
	}
}

func newMoves(t *testing.T) moves {
	t.Helper()
	m := moves{bench{program: build(t), dir: t.TempDir()}}
	run := func(ws string, args ...string) {
		t.Helper()
		cmd := exec.Command(m.program, args...)
		cmd.Dir, cmd.Env = ws, append(m.env(), "HANDOFF_SESSION="+session)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%q: %v: %s", args, err, out)
		}
	}
	base := m.workspace("base")
	must(t, os.MkdirAll(filepath.Join(base, ".git"), 0o755))
	run(base, "session", "open", "--agent", "alex", "--workflow", "intake", "--id", session)
	for i, name := range []string{"plan.md", "notes.md"} {
		must(t, os.WriteFile(filepath.Join(base, outputs+session, name), []byte(texts[i]), 0o644))
	}
	run(base, "session", "add", "plan.md", "--type", "document", "--session", session)
	run(base, "publish", outputs+session+"/notes.md", "--channel", "notes", "--keep=never")
	run(base, "run", "--agent", "casey", "--workflow", "review", "--", "/bin/true")
	run(base, "session", "close", "--status", "completed", "--session", session)
	run(base, "export", "tar", session, "-o", filepath.Join(m.dir, "in.tar"))
	for _, c := range moveCommands {
		ws := m.workspace(c.name)
		if c.name == "import" {
			must(t, os.MkdirAll(filepath.Join(ws, ".git"), 0o755))
			must(t, os.Link(filepath.Join(m.dir, "in.tar"), filepath.Join(ws, "in.tar")))
			continue
		}
		copyTree(t, base, ws)
		if c.before != nil {
			run(ws, append([]string{"session"}, append(c.before, session)...)...)
		}
		if c.name == "collect" { // which keeps what an active artifact needs
			run(ws, "withdraw", "notes:latest")
		}
	}
	return m
}

func (m moves) workspace(name string) string { return filepath.Join(m.dir, name) }

func copyTree(t *testing.T, from, to string) {
	t.Helper()
	if out, err := exec.Command("cp", "-a", from+"/.", to).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v: %s", err, out)
	}
}

// start runs a command in a copy of its workspace.
func (m moves) start(t *testing.T, c move, tr *tracer) trial {
	t.Helper()
	r := trial{ws: t.TempDir()}
	copyTree(t, m.workspace(c.name), r.ws)
	r.code, r.out, r.err = m.trace(t, r.ws, scenario{args: c.args}, tr)
	return r
}

// try runs a command with one fault, checks what it left, and repeats it. It reports
// whether the command failed.
func (m moves) try(t *testing.T, c move, tr *tracer) (failed bool) {
	t.Helper()
	r := m.start(t, c, tr)
	defer os.RemoveAll(r.ws) // there are many
	if tr.failed == (call{}) {
		return false // this run made fewer calls
	}
	fail := func(format string, args ...any) {
		t.Helper()
		t.Errorf("%s, system call %d of %d (%d), killed: %t, exits %d: "+format+"\nstderr: %s",
			append(append([]any{c.name, tr.fail, len(tr.calls), tr.failed.number, tr.kill, r.code}, args...), r.err)...)
	}
	if strings.Contains(r.err, "goroutine ") {
		fail("panic")
	}
	done, err := m.check(t, c, r.ws)
	if err != nil {
		fail("%v", err)
		return r.code != 0
	}
	if r.code == 0 && !done {
		fail("is acknowledged and not done")
	}
	again := exec.Command(m.program, c.args...)
	again.Dir, again.Env = r.ws, m.env()
	out, err := again.CombinedOutput()
	conflict := err != nil && again.ProcessState.ExitCode() == 4 && done // it exists already
	if err != nil && !conflict {
		fail("repeated: %v: %s", err, out)
	}
	if done, err := m.check(t, c, r.ws); err != nil || !done {
		fail("repeated: done: %t, %v", done, err)
	}
	if c.files != nil && !conflict && !c.files(r.ws) {
		fail("repeated: the manifest is %q", manifest(r.ws))
	}
	return r.code != 0
}

// check reports whether the command of a workspace has taken effect. The error is what is
// neither as before it nor as after it.
func (m moves) check(t *testing.T, c move, ws string) (done bool, err error) {
	t.Helper()
	w, err := workspace.Open(ws, workspace.Options{})
	must(t, err)
	defer w.Close()
	if report, err := w.Store().Check(t.Context()); err != nil || !report.OK() {
		return false, errors.Join(err, errors.New("check finds "+findings(report)))
	}
	s, err := w.Hub().Session(t.Context(), session)
	if err != nil && (!errors.Is(err, handoff.NotFound) || c.name != "import") {
		return false, err
	}
	page, err := w.List(t.Context(), workspace.ListOptions{})
	if err != nil {
		return false, err
	}
	var got []string
	for _, a := range page.Artifacts {
		b, err := w.Read(t.Context(), a.ID, workspace.ReadOptions{})
		if err != nil {
			return false, err
		}
		text, err := io.ReadAll(b)
		b.Close()
		if err != nil {
			return false, err
		}
		got = append(got, string(text))
	}
	slices.Sort(got)
	want := slices.Sorted(slices.Values(texts))
	if s.Opened == 0 {
		want = nil
	}
	if c.name == "collect" {
		want = texts[:1]
	}
	if !slices.Equal(got, want) {
		return false, errors.New("the artifacts are " + strings.Join(got, ", "))
	}
	if n := count(t, ws, "notes.md"); s.Opened != 0 && n != 1 && c.name != "collect" {
		return false, errors.New("the folder has several copies, or none")
	}
	if c.name == "export" && c.done(ws, s) {
		return true, m.importable(t, filepath.Join(ws, "out.tar"))
	}
	return c.done(ws, s), nil
}

// importable returns an error unless an exported file is complete.
func (m moves) importable(t *testing.T, file string) error {
	t.Helper()
	ws := t.TempDir()
	must(t, os.Mkdir(filepath.Join(ws, ".git"), 0o755)) // so that no workspace above it is found
	w, err := workspace.Open(ws, workspace.Options{})
	must(t, err)
	defer w.Close()
	_, err = w.Sessions().Import(t.Context(), file)
	return err
}

func findings(r handoff.Report) string {
	var list []string
	for _, f := range r.Findings {
		list = append(list, f.Name+" "+f.Text)
	}
	return strings.Join(list, "; ")
}

// count returns how many files in the documents of a workspace have a name, except those
// of an import that is not complete.
func count(t *testing.T, ws, name string) (n int) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(ws, "docs"), func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Name() == name {
			n++
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return n
}
