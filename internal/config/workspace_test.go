package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/config"
)

// tree makes directories, and files where a name ends in =.
func tree(t *testing.T, names ...string) string {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		name, file := strings.CutSuffix(name, "=")
		full := filepath.Join(top, name)
		if file {
			err = errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, nil, 0o644))
		} else {
			err = os.MkdirAll(full, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return top
}

func TestFind(t *testing.T) {
	for _, tt := range []struct {
		name          string
		tree          []string
		dir           string
		env           map[string]string
		root, runtime string // below the top
	}{
		{"the repository's root", []string{"r/.git", "r/a/b"}, "r/a/b", nil, "r", "r/.handoff"},
		{"a linked worktree's root, where .git is a file", []string{"r/a", "r/.git="}, "r/a", nil, "r", "r/.handoff"},
		{"nearer than the repository's root", []string{"r/.git", "r/a/.handoff", "r/a/b"}, "r/a/b", nil, "r/a",
			"r/a/.handoff"},
		{"not beyond the repository's root", []string{".handoff", "r/.git", "r/a"}, "r/a", nil, "r", "r/.handoff"},
		{"above, without a repository", []string{".handoff", "a/b"}, "a/b", nil, "", ".handoff"},
		{"a file is no runtime directory", []string{"r/.git", "r/a/b", "r/a/.handoff="}, "r/a/b", nil, "r", "r/.handoff"},
		{"HANDOFF_WORKSPACE, absolute", []string{"r/.git", "o"}, "r", map[string]string{"HANDOFF_WORKSPACE": "/TOP/o"}, "o",
			"o/.handoff"},
		{"HANDOFF_WORKSPACE, relative", []string{"r/.git", "o"}, "r", map[string]string{"HANDOFF_WORKSPACE": "../o"}, "o",
			"o/.handoff"},
		{"HANDOFF_DIR, absolute", []string{"r/.git", "o"}, "r", map[string]string{"HANDOFF_DIR": "/TOP/o/rt"}, "r", "o/rt"},
		{"HANDOFF_DIR, from the current directory", []string{"r/.git", "r/a"}, "r/a",
			map[string]string{"HANDOFF_DIR": "../rt"}, "r", "r/rt"},
		{"both", []string{"r/.git", "o"}, "r", map[string]string{"HANDOFF_DIR": "rt", "HANDOFF_WORKSPACE": "../o"}, "o",
			"r/rt"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			top := tree(t, tt.tree...)
			vars := map[string]string{}
			for k, v := range tt.env {
				if filepath.IsAbs(v) {
					v = filepath.Join(top, v[len("/TOP"):])
				}
				vars[k] = v
			}
			got, err := config.Find(filepath.Join(top, tt.dir), env(vars))
			want := config.Workspace{Root: filepath.Join(top, tt.root), Runtime: filepath.Join(top, tt.runtime)}
			if err != nil || got.Root != want.Root || got.Runtime != want.Runtime {
				t.Errorf("Find = %+v, %v, want %+v", got, err, want)
			}
		})
	}
}

func TestFindLinks(t *testing.T) {
	top := tree(t, "real/.git", "real/a", "state")
	for name, to := range map[string]string{"alias": "real", "rt": "state"} {
		if err := os.Symlink(filepath.Join(top, to), filepath.Join(top, name)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := config.Find(filepath.Join(top, "alias/a"),
		env(map[string]string{"HANDOFF_DIR": filepath.Join(top, "rt/new")}))
	want := config.Workspace{Root: filepath.Join(top, "real"), Runtime: filepath.Join(top, "state/new")}
	if err != nil || got.Root != want.Root || got.Runtime != want.Runtime {
		t.Errorf("Find = %+v, %v, want %+v", got, err, want)
	}
}

func TestFindRefuses(t *testing.T) {
	top := tree(t, "r/.git", "r/x.md=")
	for _, name := range []string{"none", "x.md", "x.md/deeper"} {
		_, err := config.Find(filepath.Join(top, "r"), env(map[string]string{"HANDOFF_WORKSPACE": name}))
		var e *handoff.Error
		if !errors.As(err, &e) || e.Kind != handoff.NotFound || e.Hint.IsZero() {
			t.Errorf("Find with HANDOFF_WORKSPACE=%s = %v, want kind NotFound with a hint", name, err)
		}
	}
}
