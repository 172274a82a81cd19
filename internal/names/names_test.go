package names

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
)

func TestClean(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"context.md", "context.md"},
		{"./context.md", "context.md"},
		{"plans/x.md", "plans/x.md"},
		{"CONTEXT.md", "CONTEXT.md"},
		{"Prüfung.md", "Prüfung.md"},
		{"..hidden", "..hidden"},
		{strings.Repeat("a", 255), strings.Repeat("a", 255)},
		{"", ""}, {".", ""}, {"./", ""}, {"..", ""},
		{"../run-b/x.md", ""}, {"../../etc", ""}, {"/etc/passwd", ""}, {"a/../../run-a/b.md", ""}, {"../run-a-evil/x.md", ""},
		{"a/./b", ""}, {"a//b", ""}, {"a/", ""}, {`a\b`, ""}, {"con\x00x", ""}, {"a\nb", ""}, {"\xff", ""},
		{strings.Repeat("a", 256), ""}, {strings.Repeat("a/", 600) + "b", ""}, {".handoff-x", ""},
		{".git/config", ""}, {"a/.GIT/x", ""}, {"git~1/config", ""}, {".g\u200cit", ""}, {".git./config", ""},
		{"x/.Handoff/log", ""},
		{".gitignore", ".gitignore"}, {".github/x.yml", ".github/x.yml"},
	} {
		got, err := Clean(tt.in)
		if got != tt.want || (err != nil) != (tt.want == "") || err != nil && !errors.Is(err, handoff.Invalid) {
			t.Errorf("Clean(%q) = %q, %v, want %q", tt.in, got, err, tt.want)
		}
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"context.md", "./a/b", "../x", "a/../../b", "/", `a\..\b`, "a\x00", "././x", ".\u200b./x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		name, err := Clean(s)
		if err != nil {
			return
		}
		if !filepath.IsLocal(filepath.FromSlash(name)) || filepath.ToSlash(filepath.Clean(name)) != name || name == "." {
			t.Errorf("Clean(%q) = %q, want a local path in canonical form", s, name)
		}
		if again, err := Clean(name); again != name || err != nil {
			t.Errorf("Clean(%q) = %q, %v", name, again, err)
		}
	})
}

func FuzzFolder(f *testing.F) {
	for _, s := range []string{"run-1", "", ".", "..", "a/b", "~61", "A", strings.Repeat("x", 300), "con\x00"} {
		f.Add(s, "run-1")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		folder := Folder(a)
		if folder == "" || folder == "." || folder == ".." || strings.ContainsAny(folder, "/\\\x00") ||
			len(folder) > maxSegment {
			t.Errorf("Folder(%q) = %q", a, folder)
		}
		if a != b && folder == Folder(b) {
			t.Errorf("Folder(%q) = Folder(%q) = %q, want different folders", a, b, folder)
		}
	})
}
