package hook

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/agent-handoff/handoff/thread"
)

// TestCreated resolves the paths of calls: relative ones in the directory of the
// thread, and absolute ones also through a link.
func TestCreated(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, link := filepath.Join(dir, "real", "project"), filepath.Join(dir, "link")
	if err := os.MkdirAll(filepath.Join(root, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", link); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ root, cwd, path, want string }{
		{root, root, "plan.md", "plan.md"},
		{root, root + "/sub", "plan.md", "sub/plan.md"},
		{root, root + "/sub", "../plan.md", "plan.md"},
		{root, dir, "plan.md", ""},
		{root, "", "plan.md", ""},
		{root, "sub", "plan.md", ""},
		{root, root, "", ""},
		{root, dir, root + "/sub/plan.md", "sub/plan.md"},
		{root, dir, link + "/project/plan.md", "plan.md"},
		{root, link + "/project/sub", "plan.md", "sub/plan.md"},
		{link + "/project", root, root + "/sub/plan.md", "sub/plan.md"},
		{link + "/project", root + "/sub", "plan.md", "sub/plan.md"},
		{root, root, link + "/other/plan.md", ""},
		{root, root, dir + "/real/plan.md", ""},
		{root, root, root, ""},
	} {
		call := thread.Call{Name: "write", Input: fmt.Sprintf(`{"path":%q}`, c.path)}
		got, ok := created(call, c.root, c.cwd)
		if !ok {
			got = ""
		}
		if got != c.want {
			t.Errorf("%+v: %q, want %q", c, got, c.want)
		}
		for _, unsuccessful := range []thread.Call{{Name: "write", Input: call.Input, Failed: true},
			{Name: "write", Input: call.Input, Pending: true}, {Name: "read", Input: call.Input}} {
			if got, ok := created(unsuccessful, c.root, c.cwd); ok {
				t.Errorf("%+v created %s", unsuccessful, got)
			}
		}
	}
}
