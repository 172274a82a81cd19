package setup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestVersions checks that files/versions has the present version of each file. With
// -update it is added.
func TestVersions(t *testing.T) {
	own := map[string]string{"SKILL.md": skill, "opencode.js": opencodePlugin, "pi.ts": piExtension, "cline.sh": clineHook}
	lines := strings.Split(strings.TrimSpace(versions), "\n")
	for name, content := range own {
		line := versionDigest([]byte(content)) + " " + name
		if !slices.Contains(lines, line) && !*update {
			t.Errorf("files/versions lacks %s; run: go test ./cmd/internal/setup -run TestVersions -update", line)
		}
		lines = append(lines, line)
		if !strings.Contains(content, marker) {
			t.Errorf("%s has no marker %q", name, marker)
		}
	}
	if *update {
		slices.Sort(lines)
		versions = strings.Join(slices.Compact(lines), "\n") + "\n"
		if err := os.WriteFile("files/versions", []byte(versions), 0o644); err != nil {
			t.Fatal(err)
		}
	}
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
		"script":                   {shellScript(clineHook, "/opt/it's here/agent-handoff"), true},
		"script of a plain path":   {shellScript(clineHook, "/opt/agent-handoff"), true},
		"script with code":         {shellScript(clineHook, "x; /opt/agent-handoff") + "own\n", false},
		"script with a command":    {strings.Replace(clineHook, `"@HANDOFF@"`, "x own /handoff", 1), false},
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

// oldSkill makes a text a released version of the skill for a test, and returns it.
func oldSkill(t *testing.T) string {
	t.Helper()
	old := strings.Replace(skill, "\n---\n", "\n---\nOld.\n", 1)
	before := versions
	t.Cleanup(func() { versions = before })
	versions += versionDigest([]byte(old)) + " SKILL.md\n"
	return old
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
				if left[place] == "" {
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

// TestOwnVersionsAreReplaced starts from what another version wrote, and takes
// everything back.
func TestOwnVersionsAreReplaced(t *testing.T) {
	const name, other = ".claude/skills/agent-handoff/SKILL.md", ".pi/agent/extensions/other.ts"
	h := newOwnHome(t)
	old := oldSkill(t)
	h.write(name, old)
	h.write(other, "// other\n")
	for range 2 {
		if left := h.init("claude", "pi"); len(left) > 0 {
			t.Errorf("reports %v", left)
		}
		for name, want := range map[string]string{name: skill, other: "// other\n",
			".pi/agent/extensions/agent-handoff.ts": script(piExtension, h.target.Binary)} {
			if got := h.read(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
	}
	h.undo()
	for name, want := range map[string]string{name: old, ".pi/agent/extensions/agent-handoff.ts": "-"} {
		if got := h.read(name); got != want {
			t.Errorf("after undo, %s is %q, want %q", name, got, want)
		}
	}
}
