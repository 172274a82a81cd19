package doctor_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/doctor"
	"github.com/agent-handoff/handoff/cmd/internal/setup"
	"github.com/agent-handoff/handoff/engines/gitlog"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
	"github.com/agent-handoff/handoff/workspace"
)

// A place is a machine on which everything works until a situation breaks it.
type place struct {
	*testing.T
	home, repo, bin string
	self            string
	env             map[string]string
	now             time.Time
}

func newPlace(t *testing.T) *place {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &place{T: t, home: filepath.Join(dir, "home"), repo: filepath.Join(dir, "repo"), bin: filepath.Join(dir, "bin"),
		env: map[string]string{}, now: time.Now()}
	for _, d := range []string{p.home, p.repo, p.bin} {
		p.check(os.Mkdir(d, 0o755))
	}
	this, err := os.Executable()
	p.check(err)
	p.self = filepath.Join(p.bin, "handoff")
	for _, name := range []string{"handoff", "agent-handoff"} {
		p.check(os.Symlink(this, filepath.Join(p.bin, name)))
	}
	for _, name := range []string{"git", "claude", "codex"} {
		p.program(name)
	}
	p.env["HOME"], p.env["PATH"] = p.home, p.bin
	p.write(filepath.Join(p.home, ".claude.json"), `{"projects": {"`+p.repo+`": {"hasTrustDialogAccepted": true}}}`)
	p.write(filepath.Join(p.home, ".codex/config.toml"), "[projects.\""+p.repo+"\"]\ntrust_level = \"trusted\"\n")
	p.setUp(setup.User)
	p.git("init", "-q")
	p.publish()
	return p
}

func (p *place) check(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func (p *place) write(file, text string) {
	p.Helper()
	p.check(os.MkdirAll(filepath.Dir(file), 0o755))
	p.check(os.WriteFile(file, []byte(text), 0o644))
}

func (p *place) program(name string) {
	p.write(filepath.Join(p.bin, name), "#!/bin/sh\n")
	p.check(os.Chmod(filepath.Join(p.bin, name), 0o755))
}

func (p *place) git(args ...string) {
	p.Helper()
	c := exec.Command("git", args...)
	c.Dir, c.Env = p.repo, []string{"HOME=" + p.home, "PATH=" + os.Getenv("PATH")}
	if out, err := c.CombinedOutput(); err != nil {
		p.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func (p *place) getenv(name string) string { return p.env[name] }

func (p *place) options() workspace.Options {
	return workspace.Options{Getenv: p.getenv, Now: func() time.Time { return p.now },
		Backends: gitlog.Backends, Threads: thread.NewSet(all.Drivers(), p.getenv, p.home)}
}

func (p *place) target(scope setup.Scope) setup.Target {
	return setup.Target{Scope: scope, Home: p.env["HOME"], Getenv: p.getenv, Root: p.repo,
		Binary: filepath.Join(p.bin, "agent-handoff")}
}

func (p *place) state() string { return filepath.Join(p.home, ".local/state/agent-handoff") }

func (p *place) setUp(scope setup.Scope) {
	p.Helper()
	j, err := setup.OpenJournal(p.state())
	p.check(err)
	programs, err := setup.Plan(p.target(scope), j, []string{"claude", "codex"})
	p.check(err)
	for _, program := range programs {
		p.check(program.Err)
		_, err := setup.Apply(j, program.Edits)
		p.check(err)
	}
}

// publish records an artifact in the log of the environment.
func (p *place) publish() {
	p.Helper()
	w, err := workspace.Open(p.repo, p.options())
	p.check(err)
	defer w.Close()
	_, err = w.Publish(context.Background(), handoff.Draft{Channel: "design", Title: "Design",
		Body: strings.NewReader("a")})
	p.check(err)
}

func (p *place) examine() []doctor.Finding {
	lookPath := func(program string) string {
		for _, dir := range filepath.SplitList(p.env["PATH"]) {
			if _, err := os.Stat(filepath.Join(dir, program)); err == nil {
				return filepath.Join(dir, program)
			}
		}
		return ""
	}
	return doctor.Examine(context.Background(), doctor.Machine{Self: p.self, Dir: p.repo, Getenv: p.getenv,
		LookPath: lookPath, Target: p.target(setup.User), State: p.state(), Options: p.options()})
}

// situations break a place, each in one way.
var situations = []struct {
	name     string
	damage   func(*place)
	severity doctor.Severity
	want     string // in the text of a finding
}{
	{"no git", func(p *place) { os.Remove(filepath.Join(p.bin, "git")) }, doctor.Problem, "git is not on PATH"},
	{"another handoff first", func(p *place) {
		other := filepath.Join(p.home, "other")
		p.write(filepath.Join(other, "handoff"), "#!/bin/sh\n")
		p.env["PATH"] = other + ":" + p.bin
	}, doctor.Warning, "is another program named handoff"},
	{"no agent-handoff", func(p *place) { os.Remove(filepath.Join(p.bin, "agent-handoff")); p.env["PATH"] = p.bin },
		doctor.Warning, "agent-handoff is not on PATH"},
	{"another agent-handoff", func(p *place) {
		os.Remove(filepath.Join(p.bin, "agent-handoff"))
		p.program("agent-handoff")
	}, doctor.Problem, "is another program named agent-handoff"},
	{"HOME is not set", func(p *place) { delete(p.env, "HOME") }, doctor.Problem, "HOME is not set"},
	{"state is a file", func(p *place) { p.env["XDG_STATE_HOME"] = p.self }, doctor.Problem, "not remembered"},
	{"cache is a file", func(p *place) { p.env["XDG_CACHE_HOME"] = p.self }, doctor.Problem, "reads all transcripts"},
	{"settings directory is a file", func(p *place) { p.env["XDG_CONFIG_HOME"] = p.self }, doctor.Problem,
		"settings can't be changed"},
	{"journal is damaged", func(p *place) { p.write(filepath.Join(p.state(), "init.json"), "{") }, doctor.Problem,
		"init.json"},
	{"entry removed", func(p *place) { p.write(filepath.Join(p.home, ".claude/settings.json"), "{}\n") }, doctor.Problem,
		"claude has no entry of this handoff in"},
	{"program moved", func(p *place) {
		moved := p.home + "/bin"
		p.check(os.Rename(p.bin, moved))
		p.bin, p.self, p.env["PATH"] = moved, filepath.Join(moved, "handoff"), moved
	}, doctor.Problem, "has no entry of this handoff"},
	{"TOML is not valid", func(p *place) { p.write(filepath.Join(p.home, ".codex/config.toml"), "= 1\n") }, doctor.Problem,
		"config.toml"},
	{"JSON is not valid", func(p *place) { p.write(filepath.Join(p.home, ".claude.json"), "{]") }, doctor.Problem,
		".claude.json"},
	{"skill changed", func(p *place) {
		p.write(filepath.Join(p.home, ".claude/skills/agent-handoff/SKILL.md"), "mine\n")
	}, doctor.Warning, "SKILL.md"},
	{"project entry removed", func(p *place) {
		p.setUp(setup.Project)
		p.check(os.Remove(filepath.Join(p.repo, ".mcp.json")))
	}, doctor.Problem, ".mcp.json"},
	{"not set up", func(p *place) {
		p.check(os.RemoveAll(p.state()))
		p.check(os.RemoveAll(filepath.Join(p.home, ".claude")))
		p.check(os.RemoveAll(filepath.Join(p.home, ".agents")))
		p.check(os.RemoveAll(filepath.Join(p.home, ".codex")))
		p.check(os.Remove(filepath.Join(p.home, ".claude.json")))
	}, doctor.Warning, "set up in no agent program"},
	{"not trusted", func(p *place) {
		name := filepath.Join(p.home, ".claude.json")
		text, err := os.ReadFile(name)
		p.check(err)
		p.write(name, strings.Replace(string(text), "true", "false", 1))
	}, doctor.Warning, "claude does not trust this directory"},
	{"hook failed", func(p *place) { setup.NoteHook(p.state(), "claude", p.now, fmt.Errorf("no space left")) },
		doctor.Problem, "no space left"},
	{"records of types that are not known", func(p *place) {
		p.write(filepath.Join(p.home, ".codex/sessions/2026/09/20/rollout-2026-09-20T09-00-00-"+
			"019c871c-b1f9-7f60-9c4f-000000000001.jsonl"), `{"timestamp":"2026-09-20T09:00:00Z","type":"session_meta","payload":`+
			`{"id":"019c871c-b1f9-7f60-9c4f-000000000001"}}`+"\n"+`{"type":"dream","payload":{}}`+"\n")
	}, doctor.Warning, "codex: the newest threads have 1 record of types that this version does not know (dream)"},
	{"threads that can't be read", func(p *place) {
		p.write(filepath.Join(p.home, ".local/share/opencode/opencode.db"), "no database")
	}, doctor.Warning, "opencode.db"},
	{"settings of the user are not valid", func(p *place) {
		p.write(filepath.Join(p.home, ".config/agent-handoff/config.yaml"), "defaults: [")
	}, doctor.Problem, "config.yaml"},
	{"setting of the repository", func(p *place) { p.write(p.repo+"/handoff.yaml", "keep_threads: true\n") },
		doctor.Warning, "keep_threads in"},
	{"foreign directory", func(p *place) {
		p.check(os.RemoveAll(filepath.Join(p.repo, ".handoff")))
		p.write(filepath.Join(p.repo, ".handoff/notes.txt"), "mine")
	}, doctor.Problem, ".handoff"},
	{"later format", func(p *place) {
		name := filepath.Join(p.repo, ".handoff/HANDOFF")
		text, err := os.ReadFile(name)
		p.check(err)
		p.check(os.Chmod(name, 0o644))
		p.write(name, strings.Replace(string(text), "1", "9", 1))
	}, doctor.Problem, "format 9"},
	{"log that was not accepted", func(p *place) { p.write(filepath.Join(p.repo, "handoff.yaml"), "log: git:origin\n") },
		doctor.Problem, "git:origin"},
	{"unknown kind of log", func(p *place) { p.env["HANDOFF_LOG"] = "gti:origin" }, doctor.Problem, "gti"},
	{"remote that does not exist", func(p *place) { p.env["HANDOFF_LOG"] = "git:orgin" }, doctor.Problem, "orgin"},
	{"queued records", func(p *place) {
		remote := filepath.Join(p.home, "log.git")
		p.git("init", "-q", "--bare", remote)
		p.env["HANDOFF_LOG"] = "git:" + remote
		p.publish()
		p.check(os.Rename(remote, remote+".off"))
		p.publish()
	}, doctor.Warning, "are on this machine only"},
	{"a record is missing", func(p *place) {
		p.publish()
		p.publish()
		p.check(os.Remove(filepath.Join(p.repo, ".handoff/log/00000000/000000000003.json")))
	}, doctor.Problem, "record 3"},
	{"clock", func(p *place) { p.now = p.now.Add(-48 * time.Hour) }, doctor.Warning, "48h0m0s in the future"},
	{"session of another workspace", func(p *place) { p.env["HANDOFF_SESSION"] = "s-1" }, doctor.Warning,
		"a session that this workspace does not have"},
}

func TestSituations(t *testing.T) {
	if len(situations) < 25 {
		t.Errorf("%d situations, want 25", len(situations))
	}
	for _, s := range situations {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			for _, f := range p.examine() {
				t.Errorf("before: %+v", f)
			}
			s.damage(p)
			found := p.examine()
			for _, f := range found {
				if f.Severity == s.severity && strings.Contains(f.Text, s.want) {
					return
				}
			}
			t.Errorf("no %s with %q in %+v", s.severity, s.want, found)
		})
	}
}

// TestReleases installs the programs of two releases. One is built, without version
// control; the other has another version in its stamp, so that Go records the same in both.
func TestReleases(t *testing.T) {
	p := newPlace(t)
	other, later := filepath.Join(p.home, "other"), filepath.Join(p.home, "later")
	p.check(os.Mkdir(other, 0o755))
	for _, name := range []string{"handoff", "agent-handoff"} {
		p.check(os.Remove(filepath.Join(p.bin, name)))
	}
	const stamp = "github.com/agent-handoff/handoff/cmd/internal/stamp.stamp"
	c := exec.Command("go", "build", "-buildvcs=false", "-o", p.self,
		"-ldflags=-s -w -X '"+stamp+"=agent-handoff release: v0.1.0;'", "../../agent-handoff")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := exec.Command(p.self, "--version").Output(); !strings.Contains(string(out), " v0.1.0 ") {
		t.Errorf("--version: got %s, %v", out, err)
	}
	text, err := os.ReadFile(p.self)
	p.check(err)
	p.check(os.WriteFile(later, bytes.ReplaceAll(text, []byte("release: v0.1.0;"), []byte("release: v0.2.0;")), 0o755))
	p.check(os.WriteFile(filepath.Join(p.bin, "agent-handoff"), text, 0o755))
	for _, name := range []string{"handoff", "agent-handoff"} {
		p.check(os.WriteFile(filepath.Join(other, name), text, 0o755))
	}
	p.env["PATH"] = other + ":" + p.bin
	for _, f := range p.examine() {
		t.Errorf("the same release: %+v", f)
	}
	for _, name := range []string{"handoff", "agent-handoff"} {
		file := filepath.Join(other, name)
		p.check(os.Rename(file, file+"~"))
		p.check(os.Link(later, file))
		found := p.examine()
		want := file + " is another version (v0.2.0) than this program (v0.1.0)"
		if len(found) != 1 || found[0].Severity != doctor.Warning || !strings.Contains(found[0].Text, want) {
			t.Errorf("got %+v, want a warning with %q", found, want)
		}
		p.check(os.Rename(file+"~", file))
	}
}

// TestForeignFileStays checks that a file with the name of a temporary one, which a
// repository can bring, is not removed.
func TestForeignFileStays(t *testing.T) {
	p := newPlace(t)
	name := filepath.Join(p.repo, ".handoff", fmt.Sprintf(".handoff-doctor-%d", os.Getpid()))
	p.write(name, "mine")
	p.examine()
	if text, err := os.ReadFile(name); err != nil || string(text) != "mine" {
		t.Errorf("the file has %q, %v, want it unchanged", text, err)
	}
}
