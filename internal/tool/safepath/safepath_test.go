package safepath

import (
	"os/exec"
	"strings"
	"testing"
)

func TestReserved(t *testing.T) {
	for _, tt := range []struct{ element, want string }{
		{".git", ".git"}, {".GIT", ".git"}, {".gIt", ".git"},
		{".git.", ".git"}, {".git ", ".git"}, {".git. . ", ".git"}, {".GiT...", ".git"},
		{"git~1", ".git"}, {"GIT~1", ".git"}, {"git~1.", ".git"}, {"git~1:x", ".git"},
		{".git::$INDEX_ALLOCATION", ".git"}, {".git:stream", ".git"}, {".git ::$index_allocation", ".git"},
		{".g\u200cit", ".git"}, {"\u200d.git", ".git"}, {".git\ufeff", ".git"}, {".G\u206aI\u202eT", ".git"},
		{".g\u00adit", ".git"}, {".gi\ufe0ft", ".git"}, {".git\U000e0041", ".git"}, {".\u034fgit", ".git"},
		{".handoff", ".handoff"}, {".Handoff", ".handoff"}, {".HANDOFF. ", ".handoff"}, {".hando\ufb00", ".handoff"},
		{".HANDO\ufb00", ".handoff"}, {".hand\u200boff", ".handoff"}, {".handoff::$INDEX_ALLOCATION", ".handoff"},
		{"HANDOF~1", ".handoff"}, {"handof~4", ".handoff"}, {"HA3f0c~1", ".handoff"},

		{"", ""}, {".", ""}, {"..", ""}, {"...", ""}, {"git", ""}, {"handoff", ""}, {".gitignore", ""}, {".github", ""},
		{".gitmodules", ""},
		{".git-credentials", ""}, {"x.git", ""}, {".gits", ""}, {".git x", ""}, {".git~1", ""}, {"git~2", ""},
		{"git~11", ""}, {".g1t", ""}, {".gi\u0301t", ""},
		{".handoffs", ""}, {"handoff.yaml", ""}, {".handof", ""}, {"handof~", ""}, {"handof~0", ""}, {"handover~1", ""},
		{"hanoi~1", ""}, {"половина", ""}, {"\xff.git", ""},
	} {
		if got := Reserved(tt.element); got != tt.want {
			t.Errorf("Reserved(%q): got %q, want %q", tt.element, got, tt.want)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, tt := range []struct{ path, want string }{
		{"a/.git/config", "is inside .git"}, {".git", "is inside .git"}, {`a\.git\config`, "is inside .git"},
		{"/x/.handoff/log", "is inside .handoff"},
		{"a/.GIT/config", `has the element ".GIT", which some file systems read as .git`},
		{"a/.g\u200cit/config", `has the element ".g\u200cit", which some file systems read as .git`},
		{"git~1/x", `has the element "git~1", which some file systems read as .git`},
		{"docs/agent-outputs/s1/context.md", ""}, {"a/.gitignore", ""}, {"", ""}, {"a//b", ""}, {"notes~1.md", ""},
	} {
		got := ""
		if err := Check(tt.path); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("Check(%q): got %q, want %q", tt.path, got, tt.want)
		}
	}
}

// TestGit compares the rule with that of git: what git refuses to add to its index
// because of a name is refused here.
func TestGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	git := func(args ...string) error {
		c := exec.Command("git", append([]string{"-c", "core.protectHFS=true", "-c", "core.protectNTFS=true", "-C", dir},
			args...)...)
		c.Stdin = strings.NewReader("")
		return c.Run()
	}
	if err := git("init", "-q"); err != nil {
		t.Fatal(err)
	}
	if err := git("hash-object", "-w", "--stdin"); err != nil {
		t.Fatal(err)
	}
	const empty = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
	refused := 0
	for _, head := range []string{"", "a/"} {
		for _, element := range []string{".git", ".GIT", ".git.", ".git ", ".git . .", "git~1", "GIT~1", "git~1 ",
			".git::$INDEX_ALLOCATION", ".git:x", "git~1:x",
			".\u200cgit", ".g\u200dit", ".gi\u200et", ".git\u200f", ".g\u202aIt", "\u202b.git", ".g\u202ci\u202dt", ".git\u202e",
			".g\u206ait", ".g\u206bit", ".g\u206cit", ".g\u206dit", ".g\u206eit", ".g\u206fit", "\ufeff.git", `x\.git`, `.git\x`,
			".gitignore", ".github", "git~2", ".gits", ".gi", "git", ".git-x", "x.git"} {
			name := head + element + "/x"
			if git("update-index", "--add", "--cacheinfo", "100644,"+empty+","+name) == nil {
				continue
			}
			refused++
			if Check(name) == nil {
				t.Errorf("git refuses %q, Check does not", name)
			}
		}
	}
	if refused < 40 {
		t.Errorf("git refused %d names, want at least 40", refused)
	}
}

func FuzzCheck(f *testing.F) {
	for _, s := range []string{"a/.git/b", ".g\u200cit", "git~1::x", "\xff.git", "handof~1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		refused := Check(path) != nil
		for _, form := range []string{strings.ToUpper(path), path + "/", "x/" + path, path + "/x", path + "."} {
			if refused && isASCII(path) && Check(form) == nil {
				t.Errorf("%q is refused, %q is not", path, form)
			}
		}
	})
}

func isASCII(s string) bool { return !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 }) }
