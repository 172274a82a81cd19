package setup_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/cmd/internal/setup"
)

// files are configuration files as users have them.
var files = map[string]string{
	".claude.json": "{\n  // mine\n  \"numStartups\": 3,\n  \"mcpServers\": {\"other\": " +
		"{\"command\": \"x\"}}\n}\n",
	".claude/settings.json": "{\n\t\"model\": \"opus\",\n\t\"hooks\": {\n\t\t\"Stop\": [ { \"hooks\": [ " +
		"{\"type\":\"command\",\"command\":\"say done\"} ] } ],\n\t},\n}",
	".codex/config.toml":     "# mine\r\nmodel = \"gpt-5\"\r\n\r\n[mcp_servers.other]\r\ncommand = \"x\"",
	".kimi-code/config.toml": "[[hooks]]\nevent = \"Stop\" # mine\ncommand = \"x\"\n",
	".gemini/settings.json":  `{"theme":"dark","mcpServers":{}}`,
	".qwen/settings.json":    "{\r\n        \"$version\": 4,\r\n        \"mcpServers\": { }\r\n}\r\n",
	".config/opencode/opencode.jsonc": "/* a block */ {\n    \"$schema\": \"x\", // why\n    \"mcp\": {\n        // " +
		"none yet\n    }\n}\n",
	".copilot/mcp-config.json": "\n",
	".pi/agent/settings.json":  "{}",
}

type home struct {
	t   testing.TB
	dir string
}

func newHome(t testing.TB) home {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := home{t, dir}
	for name, content := range files {
		h.write(name, content)
	}
	return h
}

func (h home) write(name, content string) {
	h.t.Helper()
	file := filepath.Join(h.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

func (h home) target() setup.Target {
	return setup.Target{Scope: setup.User, Home: h.dir, Getenv: func(string) string {
		return ""
	}, Binary: "/opt/bin dir/handoff", Allow: true, Runtime: "/repo/.handoff"}
}

func (h home) journal() *setup.Journal {
	h.t.Helper()
	j, err := setup.OpenJournal(filepath.Join(h.dir, ".local/state/agent-handoff"))
	if err != nil {
		h.t.Fatal(err)
	}
	return j
}

func (h home) plan(t setup.Target, names ...string) []setup.Program {
	h.t.Helper()
	if len(names) == 0 {
		names = setup.Names()
	}
	programs, err := setup.Plan(t, h.journal(), names)
	if err != nil {
		h.t.Fatal(err)
	}
	return programs
}

// undo takes back what was set up for the user.
func (h home) undo(t setup.Target) []setup.Undone {
	h.t.Helper()
	list, err := h.journal().Undo(setup.Undo{Target: t})
	if err != nil {
		h.t.Fatal(err)
	}
	return list
}

// setUp sets up every program.
func (h home) setUp(t setup.Target) []setup.Edit {
	h.t.Helper()
	var edits []setup.Edit
	for _, p := range h.plan(t) {
		if p.Err != nil {
			h.t.Fatal(p.Err)
		}
		if _, err := setup.Apply(h.journal(), p.Edits); err != nil {
			h.t.Fatal(err)
		}
		edits = append(edits, p.Edits...)
	}
	return edits
}

// snapshot returns every file of a directory, but for the journal.
func snapshot(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || strings.Contains(name, "/.local") {
			return err
		}
		rel, _ := filepath.Rel(dir, name)
		if all[rel] = "a directory"; d.Type().IsRegular() {
			b, err := os.ReadFile(name)
			all[rel] = string(b)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func same(t testing.TB, got, want map[string]string) {
	t.Helper()
	for name, content := range want {
		if got[name] != content {
			t.Errorf("%s is %q, want %q", name, got[name], content)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s was left behind", name)
		}
	}
}

// TestUndo sets up every program, twice, and takes everything back.
func TestUndo(t *testing.T) {
	h := newHome(t)
	before := snapshot(t, h.dir)
	h.setUp(h.target())
	after := snapshot(t, h.dir)
	for _, e := range h.setUp(h.target()) {
		if e.Changed() {
			t.Errorf("the second time changes %s", e.File)
		}
	}
	same(t, snapshot(t, h.dir), after)
	for name, content := range before {
		if content == "a directory" {
			continue
		}
		for _, line := range strings.Split(strings.TrimSpace(content), "\n") {
			if words := strings.Trim(line, " \t\r{}[],"); !strings.Contains(after[name], words) {
				t.Errorf("%s lost %q:\n%s", name, words, after[name])
			}
		}
	}
	h.undo(h.target())
	same(t, snapshot(t, h.dir), before)
	if n := len(h.journal().Edits); n != 0 {
		t.Errorf("the journal has %d edits", n)
	}
}

// TestUndoAfterChange changes the files in between: only handoff's own entries go.
func TestUndoAfterChange(t *testing.T) {
	h := newHome(t)
	h.setUp(h.target())
	for name := range files {
		file := filepath.Join(h.dir, name)
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Replace(string(b), "{", "{ \"added\": 1,", 1)
		if strings.HasSuffix(name, ".toml") {
			text = string(b) + "\r\n[added]\r\nx = 1\r\n"
		}
		if name == ".pi/agent/settings.json" {
			continue // handoff has no entry in it
		}
		h.write(name, text)
	}
	list := h.undo(h.target())
	for name, content := range snapshot(t, h.dir) {
		if content == "a directory" {
			continue
		}
		if strings.Contains(content, "handoff") {
			t.Errorf("%s still has an entry:\n%s", name, content)
		}
		if name != ".pi/agent/settings.json" && !strings.Contains(content, "added") {
			t.Errorf("%s lost what was added:\n%s", name, content)
		}
	}
	said := 0
	for _, u := range list {
		if strings.Contains(u.Reason, "changed since") {
			said++
		}
	}
	if said != len(files)-1 {
		t.Errorf("%d files are reported as changed, want %d: %+v", said, len(files)-1, list)
	}
}

// TestDryRun checks that a plan changes nothing.
func TestDryRun(t *testing.T) {
	h := newHome(t)
	before := snapshot(t, h.dir)
	edits, todo := 0, 0
	for _, p := range h.plan(h.target()) {
		edits, todo = edits+len(p.Edits), todo+len(p.Todo)
	}
	if edits < 10 || todo < len(setup.Names()) {
		t.Fatalf("%d edits, %d lines of what to do", edits, todo)
	}
	same(t, snapshot(t, h.dir), before)
}

// TestLinks changes a user's file where its link leads, and no project's file
// through a link.
func TestLinks(t *testing.T) {
	h := newHome(t)
	dotfiles := filepath.Join(h.dir, "dotfiles.json")
	if err := os.Rename(filepath.Join(h.dir, ".claude.json"), dotfiles); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dotfiles, filepath.Join(h.dir, ".claude.json")); err != nil {
		t.Fatal(err)
	}
	h.setUp(h.target())
	if info, err := os.Lstat(filepath.Join(h.dir, ".claude.json")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link was replaced")
	}
	if b, err := os.ReadFile(dotfiles); err != nil || !strings.Contains(string(b), "handoff") {
		t.Errorf("the target was not changed: %s", b)
	}
	for _, name := range []string{".mcp.json", ".claude"} {
		project := t.TempDir()
		if err := os.Symlink(h.dir, filepath.Join(project, name)); err != nil {
			t.Fatal(err)
		}
		p := h.target()
		p.Scope, p.Root = setup.Project, project
		if h.plan(p, "claude")[0].Err == nil {
			t.Errorf("a project's %s is followed", name)
		}
	}
}

// TestIndependentPrograms has a file that can't be edited: that program is
// reported with what to add, and the others are set up.
func TestIndependentPrograms(t *testing.T) {
	for name, c := range map[string]struct{ content, program, want string }{
		".claude.json":          {"{\n  \"a\": 1\n  \"b\": 2}", "claude", "line 3"},
		".claude/settings.json": {`{"hooks": []}`, "claude", "can't be edited"},
		".gemini/settings.json": {`[1]`, "gemini", "not a JSON object"},
		".qwen/settings.json":   {`{"mcpServers": {"agent-handoff": {"command": "mine"}}}`, "qwen", "of its own"},
		".codex/config.toml":    {"[mcp_servers.agent-handoff]\ncommand = \"mine\"\n", "codex", "of its own"},
	} {
		h := newHome(t)
		h.write(name, c.content)
		for _, p := range h.plan(h.target()) {
			if p.Name != c.program {
				if p.Err != nil {
					t.Errorf("%s with %q: %s is not set up: %v", name, c.content, p.Name, p.Err)
				}
				continue
			}
			if p.Err == nil || !strings.Contains(p.Err.Error(), c.want) || len(p.Edits) > 0 ||
				!strings.Contains(p.Lines, "agent-handoff") {
				t.Errorf("%s with %q: %d edits, %v, lines %q", name, c.content, len(p.Edits), p.Err, p.Lines)
			}
		}
	}
}

// TestProject checks that what is written for a project does nothing where
// handoff is not installed.
func TestProject(t *testing.T) {
	h := newHome(t)
	p := h.target()
	p.Scope, p.Root, p.Runtime = setup.Project, t.TempDir(), ""
	h.setUp(p)
	for name, content := range snapshot(t, p.Root) {
		if strings.Contains(content, p.Binary) {
			t.Errorf("%s has the path of this machine's binary:\n%s", name, content)
		}
	}
	same(t, snapshot(t, h.dir), newHomeSnapshot(t))
}

func newHomeSnapshot(t *testing.T) map[string]string { return snapshot(t, newHome(t).dir) }

// apply sets up one program and checks whether a file is changed by that.
func (h home) apply(t setup.Target, program string, changes bool) {
	h.t.Helper()
	p := h.plan(t, program)[0]
	if p.Err != nil {
		h.t.Fatal(p.Err)
	}
	changed := false
	for _, e := range p.Edits {
		changed = changed || e.Changed()
	}
	if changed != changes {
		h.t.Errorf("changes files: %t, want %t", changed, changes)
	}
	if _, err := setup.Apply(h.journal(), p.Edits); err != nil {
		h.t.Fatal(err)
	}
}

func (h home) read(name string) string {
	h.t.Helper()
	b, err := os.ReadFile(filepath.Join(h.dir, name))
	if err != nil {
		h.t.Fatal(err)
	}
	return string(b)
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
