package hostile

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// foreigners are directories of the name .handoff that other programs made.
func foreigners() map[string]func(place) {
	files := func(list ...string) func(place) {
		return func(p place) {
			for i := 0; i < len(list); i += 2 {
				p.write(p.runtime(list[i]), list[i+1])
			}
		}
	}
	instead := func(create func(file string) error) func(place) {
		return func(p place) { must(p.t, create(filepath.Join(p.ws, ".handoff"))) }
	}
	const id = "0123456789abcdef0123456789abcdef\n"
	return map[string]func(place){
		"notes":       files("2026-10-01.md", canary, "ideas/one.md", canary),
		"README only": files("README.md", canary),
		"nested clone": files(".git/HEAD", "ref: refs/heads/main\n", ".git/config", "[core]\n", "README.md", canary,
			"skills/x/SKILL.md", canary),
		"dated logs":             files(".gitignore", ".handoff-runtime/\n", "log/2026-01-01.md", canary),
		"a folder for each task": files("0193-fix-retry/HANDOFF.md", canary, "current", "0193-fix-retry\n"),
		"log/ID of another form": files("log/ID", "42\n", "log/00000000/x.log", canary),
		"origin of another form": files("origin", "https://example.org/x.git\n"),
		"ours and another file":  files("log/ID", id, "config.yaml", "keep: always\n", "TODO.md", canary),
		"another marker":         files("HANDOFF", "# Hand-over\n"+canary),
		"another index": func(p place) {
			must(p.t, os.MkdirAll(p.runtime(""), 0o755))
			p.sqlite(p.runtime("index.db"))
		},
		"a pipe": func(p place) {
			files("config.yaml", "")(p)
			must(p.t, syscall.Mkfifo(p.runtime("inbox"), 0o644))
		},
		"a file instead": instead(func(file string) error { return os.WriteFile(file, []byte(canary), 0o644) }),
		"a link instead": instead(func(file string) error { return os.Symlink("../outside/dir", file) }),
		"a pipe instead": instead(func(file string) error { return syscall.Mkfifo(file, 0o644) }),
	}
}

// TestForeignDirectories runs the commands where .handoff belongs to another program.
// None changes it, and most are refused; a few need no workspace.
func TestForeignDirectories(t *testing.T) {
	original := newPlace(t, build(t))
	must(t, os.RemoveAll(original.runtime("")))
	long := os.Getenv("HANDOFF_LONG") != ""
	all := foreigners()
	for i, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := original.copy(t)
			all[name](p)
			before := digest(t, p.outside, p.home, filepath.Join(p.ws, ".handoff"))
			refused, ran := 0, 0
			for j, args := range append([][]string{{"publish", "-", "--channel", "design"}, {"list"}, {"check"},
				{"check", "--repair"}}, commands...) {
				if j >= 4 && (i+j)%9 != 0 && !long {
					continue
				}
				ran++
				code, _ := p.run(args)
				if code != 0 {
					refused++
				} else if j < 4 {
					t.Errorf("%q exits 0", args)
				}
			}
			if after := digest(t, p.outside, p.home, filepath.Join(p.ws, ".handoff")); after != before {
				t.Errorf("files changed:\n%s", firstDifference(before, after))
			}
			if refused <= ran/2 {
				t.Errorf("%d of %d commands were refused, want most", refused, ran)
			}
		})
	}
	if len(all) < 12 {
		t.Errorf("%d foreign directories, want at least 12", len(all))
	}
}
