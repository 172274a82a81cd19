package program

import (
	"fmt"
	"strings"
	"testing"
)

// TestManagedPaths checks that no list, hint, graph or hook shows the path of a file that
// handoff manages, but the name of it, and who wrote it.
func TestManagedPaths(t *testing.T) {
	t.Parallel()
	const session = "11111111-2222-4333-8444-555555555555"
	c := newConsole(t)
	c.width, c.env["HOME"] = 120, c.dir+"/home"
	c.ok("session", "open", "--agent", "ada", "--workflow", "plan", "--id", session)
	c.write("plan.md", "one\n")
	c.env["HANDOFF_SESSION"] = session
	c.ok("write", "plan.md", c.dir+"/plan.md", "--channel", "design", "--agent", "ada")
	input := session + "/plan.md"
	stored, code := c.run("a stored body\n", "publish", "-", "--channel", "design", "--filename", "stored.md",
		"--agent", "bob", "--from", input)
	if stored = strings.TrimSpace(stored); code != 0 {
		t.Fatalf("publish - exits %d", code)
	}
	c.ok("write", "sum.md", c.dir+"/plan.md", "--channel", "handoff", "--agent", "eve", "--from", stored)
	c.env["HANDOFF_SESSION"] = ""
	c.write("other.md", "two\n")
	c.ok("publish", "other.md", "--channel", "design", "--replaces", input) // stored.md and sum.md are stale

	said := map[string]string{}
	run := func(input string, line ...string) {
		start := c.said.Len()
		c.run(input, line...)
		said[strings.Join(line, " ")] = string(c.said.Bytes()[start:])
	}
	for _, line := range []string{"list --all", "list --all --group agent", "search stored", "search plan", "status",
		"news", "show " + session, "receipt " + session, "show --lineage " + stored,
		"show --lineage --format dot " + stored, "show --lineage --format mermaid " + stored, "why " + stored,
		"show nothing-like-it", "cost --by artifact", "candidates " + stored} {
		run("", strings.Fields(line)...)
	}
	run(fmt.Sprintf(`{"hook_event_name":"SessionStart","session_id":"8fd17d3d-5e4d-40c9-811e-63c7ecdcdf1e","cwd":%q}`, c.dir),
		"hook", "codex")
	for _, part := range []string{"/artifacts/files/", "/artifacts/" + session} {
		for line, text := range said {
			if strings.Contains(text, part) {
				t.Errorf("handoff %s prints a managed path: %s", line, text)
			}
		}
	}
	for line, words := range map[string][]string{
		"list --all": {"ada      plan.md", "bob      stored.md"}, "news": {"stored.md", "sum.md"},
		"hook codex": {`stored.md`, `sum.md`}, "show --lineage " + stored: {"design: plan.md", "design: stored.md"},
	} {
		for _, word := range words {
			if !strings.Contains(said[line], word) {
				t.Errorf("handoff %s does not print %q: %s", line, word, said[line])
			}
		}
	}
}
