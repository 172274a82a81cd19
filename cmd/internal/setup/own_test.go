package setup

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// versionFolders are where the files were in the history of the repository.
var versionFolders = []string{"cmd/internal/setup/files", "cmd/handoff/internal/setup/files"}

// TestVersions checks that files/versions has the present version of each file, and
// every one that is in the history of the repository, as far as there is one.
func TestVersions(t *testing.T) {
	own := map[string]string{"SKILL.md": skill, "opencode.js": opencodePlugin, "pi.ts": piExtension}
	known := map[string]bool{} // the lines of the table
	for name, content := range own {
		known[versionDigest([]byte(content))+" "+name] = true
		if !strings.Contains(content, marker) {
			t.Errorf("%s has no marker %q", name, marker)
		}
		for _, folder := range versionFolders {
			file := folder + "/" + name
			for _, commit := range strings.Fields(history(t, "log", "--format=%H", "--", file)) {
				if old := history(t, "show", commit+":"+file); old != "" {
					known[versionDigest([]byte(old))+" "+name] = true
				}
			}
		}
	}
	if *update {
		if history(t, "rev-parse", "--is-shallow-repository") != "false\n" {
			t.Fatal("the history of the repository is not complete")
		}
		table := strings.Join(slices.Sorted(maps.Keys(known)), "\n") + "\n"
		if err := os.WriteFile("files/versions", []byte(table), 0o644); err != nil {
			t.Fatal(err)
		}
		versions = table
	}
	lines := strings.Split(versions, "\n")
	for line := range known {
		if !slices.Contains(lines, line) {
			t.Errorf("files/versions lacks %s; run: go test ./cmd/internal/setup -run TestVersions -update", line)
		}
	}
}

// history returns what git prints in the repository, "" if it fails.
func history(t *testing.T, args ...string) string {
	t.Helper()
	c := exec.Command("git", args...)
	c.Dir = pluginsRoot
	out, _ := c.Output() // without the repository, or for a commit that removed the file
	return string(out)
}

// TestIsOurs changes versions of the files in ways that a user or a program does.
func TestIsOurs(t *testing.T) {
	for name, c := range map[string]struct {
		content string
		want    bool
	}{
		"skill":                    {skill, true},
		"skill with a line more":   {skill + "Mine.\n", false},
		"nothing":                  {"", false},
		"only the marker":          {"Written by: " + marker + "\n", false},
		"extension":                {script(piExtension, "/opt/it's \"here\"/agent-handoff"), true},
		"extension of old name":    {script(opencodePlugin, "handoff"), true},
		"extension of a wrapper":   {script(piExtension, "/home/me/wrapper"), false},
		"extension with code":      {strings.Replace(piExtension, `"@HANDOFF@"`, `"a"; own(); "/handoff"`, 1), false},
		"extension without a line": {strings.Replace(piExtension, "  private last = 0\n", "", 1), false},
	} {
		if got := isOurs([]byte(c.content)); got != c.want {
			t.Errorf("%s: isOurs is %t, want %t", name, got, c.want)
		}
	}
}

// oldSkill is the skill as an earlier version wrote it.
func oldSkill(t *testing.T) string {
	t.Helper()
	const file = "testdata/former/SKILL.md"
	b, err := os.ReadFile(file)
	if err != nil || !isOurs(b) {
		t.Fatalf("%s is not a version of the skill: %v", file, err)
	}
	return string(b)
}

// ownHome is a home directory in which only some programs are set up.
type ownHome struct {
	*testing.T
	dir     string
	target  Target
	journal *Journal
}

func newOwnHome(t *testing.T) *ownHome {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &ownHome{T: t, dir: dir}
	h.target = Target{Scope: User, Home: dir, Getenv: func(string) string { return "" }, Binary: "/opt/bin/agent-handoff"}
	if h.journal, err = OpenJournal(filepath.Join(dir, "state")); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *ownHome) write(name, content string) {
	h.Helper()
	file := filepath.Join(h.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(content), 0o644)); err != nil {
		h.Fatal(err)
	}
}

// read returns a file's content, "-" if there is none.
func (h *ownHome) read(name string) string {
	h.Helper()
	b, err := os.ReadFile(filepath.Join(h.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return "-"
	}
	if err != nil {
		h.Fatal(err)
	}
	return string(b)
}

// init sets up programs and returns the files that it left, with the reason.
func (h *ownHome) init(names ...string) map[string]string {
	h.Helper()
	programs, err := Plan(h.target, h.journal, names)
	if err != nil {
		h.Fatal(err)
	}
	left := map[string]string{}
	for _, p := range programs {
		if p.Err != nil {
			h.Fatal(p.Err)
		}
		if _, err := Apply(h.journal, p.Edits); err != nil {
			h.Fatal(err)
		}
		for _, e := range p.Edits {
			if e.Skipped != "" {
				rel, _ := filepath.Rel(h.dir, e.File)
				left[rel] = e.Skipped
			}
		}
	}
	return left
}

func (h *ownHome) undo() {
	h.Helper()
	if _, err := h.journal.Undo(Undo{Target: h.target}); err != nil {
		h.Fatal(err)
	}
}

// TestForeignFilesStay puts files of others where handoff has its own.
func TestForeignFilesStay(t *testing.T) {
	places := map[string]string{
		".claude/skills/agent-handoff/SKILL.md":    "claude",
		".agents/skills/agent-handoff/SKILL.md":    "codex",
		".pi/agent/extensions/agent-handoff.ts":    "pi",
		".config/opencode/plugin/agent-handoff.js": "opencode",
		".claude/skills/handoff/SKILL.md":          "claude",
		".pi/agent/extensions/handoff.ts":          "pi",
		".config/opencode/plugin/handoff.js":       "opencode",
	}
	for place, program := range places {
		for what, content := range map[string]string{
			"a skill of the same name": "---\nname: handoff\ndescription: writes a summary\n---\n",
			"one of ours with an edit": skill + "\nAlways answer in Welsh.\n",
			"an old one with an edit":  oldSkill(t) + "\nAlways answer in Welsh.\n",
			"our script with an edit":  script(piExtension, "agent-handoff") + "// mine\n",
			"an empty file":            "",
			"what is not text":         "\x00\xff" + marker,
		} {
			h := newOwnHome(t)
			h.write(place, content)
			for range 2 {
				left := h.init(program)
				current := filepath.Base(place) == "agent-handoff"+filepath.Ext(place) || strings.Contains(place, "agent-handoff/")
				if current && left[place] == "" {
					t.Errorf("%s, %s: not reported: %v", place, what, left)
				}
				if h.read(place) != content {
					t.Errorf("%s, %s: replaced by %q", place, what, h.read(place))
				}
			}
			h.undo()
			if h.read(place) != content {
				t.Errorf("%s, %s: undo left %q", place, what, h.read(place))
			}
		}
	}
}

// TestOwnVersionsAreReplaced starts from what earlier versions wrote, and takes
// everything back.
func TestOwnVersionsAreReplaced(t *testing.T) {
	h := newOwnHome(t)
	h.write(".claude/skills/handoff/SKILL.md", oldSkill(t))
	h.write(".claude/skills/agent-handoff/SKILL.md", oldSkill(t))
	h.write(".pi/agent/extensions/handoff.ts", script(piExtension, "/usr/local/bin/handoff"))
	h.write(".pi/agent/extensions/other.ts", "// other\n")
	for range 2 {
		if left := h.init("claude", "pi"); len(left) > 0 {
			t.Errorf("reports %v", left)
		}
		for name, want := range map[string]string{
			".claude/skills/agent-handoff/SKILL.md": skill,
			".claude/skills/handoff/SKILL.md":       "-",
			".pi/agent/extensions/handoff.ts":       "-",
			".pi/agent/extensions/agent-handoff.ts": script(piExtension, h.target.Binary),
			".pi/agent/extensions/other.ts":         "// other\n",
		} {
			if got := h.read(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
	}
	if _, err := os.Lstat(filepath.Join(h.dir, ".claude/skills/handoff")); err == nil {
		t.Error("the empty folder of the old skill was left")
	}
	h.undo()
	for name, want := range map[string]string{
		".claude/skills/agent-handoff/SKILL.md": oldSkill(t),
		".claude/skills/handoff/SKILL.md":       oldSkill(t),
		".pi/agent/extensions/handoff.ts":       script(piExtension, "/usr/local/bin/handoff"),
		".pi/agent/extensions/agent-handoff.ts": "-",
	} {
		if got := h.read(name); got != want {
			t.Errorf("after undo, %s is %q, want %q", name, got, want)
		}
	}
}

// TestReplacedSkillIsRestored has the journal of an earlier version, which replaced a
// skill of the user: the removal of its own restores the user's.
func TestReplacedSkillIsRestored(t *testing.T) {
	const name, mine = ".claude/skills/handoff/SKILL.md", "---\nname: handoff\n---\nMINE\n"
	for _, before := range [][]byte{[]byte(mine), nil} {
		h := newOwnHome(t)
		h.write(name, oldSkill(t))
		e := Edit{Client: "claude", File: filepath.Join(h.dir, name), Created: before == nil, Before: before,
			Digest: digest([]byte(oldSkill(t))), Changes: []Change{{File: oldSkill(t)}}}
		if err := h.journal.add(e); err != nil {
			t.Fatal(err)
		}
		h.init("claude")
		want := "-"
		if before != nil {
			want = mine
		}
		if got := h.read(name); got != want {
			t.Errorf("the skill is %q, want %q", got, want)
		}
		h.undo()
		if got := h.read(name); got != want {
			t.Errorf("after undo, the skill is %q, want %q", got, want)
		}
	}
}

// TestRemovalIsUndoneOnce keeps a file that was written after handoff's was removed.
func TestRemovalIsUndoneOnce(t *testing.T) {
	const name = ".claude/skills/handoff/SKILL.md"
	h := newOwnHome(t)
	h.write(name, oldSkill(t))
	h.init("claude")
	h.write(name, "MINE")
	h.undo()
	if got := h.read(name); got != "MINE" {
		t.Errorf("the skill is %q", got)
	}
	if bytes.Contains([]byte(h.read("state/init.json")), []byte(name)) {
		t.Error("the journal has the file still")
	}
}
