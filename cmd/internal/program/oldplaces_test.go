package program

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOldPlaces opens workspaces of earlier versions, which have no marker, and writes
// to them. testdata/old/places.sh writes them.
func TestOldPlaces(t *testing.T) {
	t.Parallel()
	c := newConsole(t)
	root := c.dir
	unpack(t, "testdata/old/places.tar.gz", root)
	const main = "401d2ea-main/.git/worktrees/401d2ea-linked"
	c.write("401d2ea-linked/.git", "gitdir: "+filepath.Join(root, main)+"\n")
	c.write(main+"/gitdir", filepath.Join(root, "401d2ea-linked/.git")+"\n")
	for _, tt := range []struct {
		place, log, runtime string
		artifacts           int // that the log has
	}{
		{"798e8ca-file", "", ".handoff", 3},
		{"401d2ea-file", "", ".handoff", 3},
		{"401d2ea-git", "git:../git/o.git", ".handoff", 3},
		{"401d2ea-reader", "git:../git/o.git", ".handoff", 4}, // with what the line above publishes
		{"401d2ea-bucket", "", ".handoff", 0},                 // its log was elsewhere
		{"401d2ea-nats", "", ".handoff", 0},
		{"401d2ea-linked", "", "../401d2ea-main/.handoff", 3},
		{"401d2ea-config", "", ".handoff", 0},
	} {
		c.dir = filepath.Join(root, tt.place)
		c.env["HANDOFF_LOG"] = tt.log
		marker := filepath.Join(c.dir, tt.runtime, "HANDOFF")
		list := func() int { return strings.Count(c.ok("list", "--all", "--limit", "0"), "\n") }
		if n := list(); n != tt.artifacts {
			t.Errorf("%s: %d artifacts, want %d", tt.place, n, tt.artifacts)
		}
		if _, err := os.Lstat(marker); !os.IsNotExist(err) {
			t.Errorf("%s: a command that reads has created the marker: %v", tt.place, err)
		}
		c.write("new.md", "new\n")
		c.ok("publish", "new.md", "--channel", "design")
		if n := list(); n != tt.artifacts+1 {
			t.Errorf("%s: %d artifacts after a publish, want %d", tt.place, n, tt.artifacts+1)
		}
		if b, err := os.ReadFile(marker); err != nil || !strings.HasSuffix(string(b), "\nformat 1\n") {
			t.Errorf("%s: the marker contains %q, %v", tt.place, b, err)
		}
	}
}
