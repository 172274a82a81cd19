package program

import (
	"strings"
	"testing"
)

// TestDeletePicker checks that delete without a session lists those that ended, on a
// terminal, and deletes the selected ones.
func TestDeletePicker(t *testing.T) {
	c := newConsole(t)
	c.width = 100
	const one, two, running = "a0000001-0000-4000-8000-000000000000", "a0000002-0000-4000-8000-000000000000",
		"a0000003-0000-4000-8000-000000000000"
	for _, id := range []string{one, two, running} {
		c.ok("session", "open", "--id", id, "--agent", "alex", "--workflow", "w"+id[7:8])
		if id != running {
			c.write("docs/agent-outputs/"+id+"/out.md", "text")
			c.ok("session", "add", "out.md", "--type", "document", "--session", id)
			c.ok("session", "close", "--status", "completed", "--session", id)
		}
	}
	if out, code := c.run("3\n", "session", "delete"); code != 2 || strings.Contains(out, "w3") {
		t.Errorf("a number that is not listed: exit code %d\n%s", code, out)
	}
	if out, code := c.run("\n", "session", "delete"); code != 0 || !strings.Contains(out, "1 active artifact") {
		t.Errorf("no selection: exit code %d\n%s", code, out)
	}
	if out, code := c.run("1-2\n", "session", "delete"); code != 0 || strings.Count(out, "-0000-4000-8000-") != 2 {
		t.Errorf("a range: exit code %d\n%s", code, out)
	}
}
