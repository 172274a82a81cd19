package opencode_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/opencode"
	"github.com/agent-handoff/handoff/threadtest"
)

// TestXurl holds our answers against those of xurl, for the same databases.
// What is compared leaves out what docs/threads.md says we answer otherwise.
func TestXurl(t *testing.T) {
	dir := threadtest.Shared(t, "peers/xurl")
	names, err := filepath.Glob(filepath.Join(dir, "golden", "*opencode*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, path := range names {
		name := strings.TrimSuffix(filepath.Base(path), ".txt")
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(name, "query") || strings.HasPrefix(name, "write") {
			continue // searches and writing come later
		}
		n++
		t.Run(name, func(t *testing.T) {
			threadtest.Untouched(t, filepath.Join(dir, "trees"))
			compare(t, strings.ReplaceAll(string(b), "$TREES", filepath.Join(dir, "trees")))
		})
	}
	t.Logf("%d answers compared", n)
}

var command = regexp.MustCompile(`^\$ XDG_DATA_HOME=(\S+) xurl (.*)`)

func compare(t *testing.T, golden string) {
	m := command.FindStringSubmatch(golden)
	if m == nil {
		t.Fatal("no command")
	}
	words := strings.Fields(strings.ReplaceAll(m[2], "'", ""))
	var code int
	_, rest, _ := strings.Cut(golden, "\n")
	fmt.Sscanf(rest, "# exit %d", &code)
	_, want, _ := strings.Cut(golden, "--- stdout\n")
	want, _, _ = strings.Cut(want, "--- stderr\n")

	set := thread.NewSet([]thread.Driver{opencode.Driver()}, func(name string) string { return map[string]string{"XDG_DATA_HOME": m[1]}[name] }, "")
	var b bytes.Buffer
	u, err := thread.ParseURI(words[len(words)-1])
	if err == nil {
		err = set.Write(t.Context(), &b, u, thread.Options{Head: words[0] == "-I"})
	}
	if (err == nil) != (code == 0) {
		t.Fatalf("got %v, want exit code %d", err, code)
	}
	if err != nil {
		return
	}
	ours, theirs := threadtest.Frontmatter(t, b.String()), threadtest.Frontmatter(t, want)
	for _, key := range []string{"uri", "provider", "session_id", "mode", "agent_id", "subagent_uri", "status", "status_source", "child_thread_id"} {
		if theirs[key] != nil && ours[key] != theirs[key] {
			t.Errorf("%s: got %v, want %v", key, ours[key], theirs[key])
		}
	}
	a, _ := ours["subagents"].([]any)
	o, _ := theirs["subagents"].([]any)
	if len(a) != len(o) {
		t.Fatalf("got %d subagents, want %d", len(a), len(o))
	}
	for i := range a {
		for _, key := range []string{"agent_id", "uri", "status", "status_source"} {
			if got, want := a[i].(map[string]any)[key], o[i].(map[string]any)[key]; got != want {
				t.Errorf("subagent %d: %s: got %v, want %v", i+1, key, got, want)
			}
		}
	}
	if got, want := entries(b.String()), entries(want); got != want {
		t.Errorf("got messages\n%s\nwant\n%s", got, want)
	}
}

var entry = regexp.MustCompile(`(?m)^#{2,3} \d+\. `)

func entries(page string) string {
	list := entry.Split(page, -1)[1:]
	for i, e := range list {
		list[i] = strings.TrimSpace(e)
	}
	return strings.Join(list, "\n\n")
}
