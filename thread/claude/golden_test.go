package claude_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/claude"
	"github.com/agent-handoff/handoff/threadtest"
)

// intended are the cases in which we answer otherwise than xurl, and why.
// docs/threads.md has them in words.
var intended = map[string]string{
	"claude-read":                              "a compaction is shown once, with its summary",
	"claude-detail-prefix uri":                 "an agent has one spelling",
	"claude-detail-prefix agent_id":            "an agent has one spelling",
	"claude-detail-prefix subagent_uri":        "an agent has one spelling",
	"real-claude-detail child_last_updated_at": "what is no time is not shown as one",
	"real-claude-read-empty":                   "a transcript without records is an empty thread, with a warning",
}

var command = regexp.MustCompile(`^\$ CLAUDE_CONFIG_DIR=(\S+) xurl (?:'-I' )?'([^']*)'$`)

// TestXurl holds our answers against those of xurl, for the same trees.
func TestXurl(t *testing.T) {
	dir := threadtest.Shared(t, "peers/xurl")
	names, err := filepath.Glob(filepath.Join(dir, "golden", "*claude*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, path := range names {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".txt")
		first, rest, _ := strings.Cut(strings.ReplaceAll(string(b), "$TREES", filepath.Join(dir, "trees")), "\n")
		m := command.FindStringSubmatch(first)
		if m == nil || strings.Contains(name, "query") || strings.HasPrefix(name, "write") {
			continue
		}
		n++
		t.Run(name, func(t *testing.T) { compare(t, name, m[1], m[2], strings.Contains(first, "'-I'"), rest) })
	}
	t.Logf("%d answers compared", n)
}

func compare(t *testing.T, name, home, uri string, head bool, golden string) {
	var code int
	if _, err := fmt.Sscanf(golden, "# exit %d", &code); err != nil {
		t.Fatal(err)
	}
	_, golden, _ = strings.Cut(golden, "--- stdout\n")
	golden, _, _ = strings.Cut(golden, "--- stderr\n")
	threadtest.Untouched(t, home)
	set := thread.NewSet([]thread.Driver{claude.Driver()}, func(string) string { return home }, "")
	var b bytes.Buffer
	u, err := thread.ParseURI(uri)
	if err == nil {
		err = set.Write(t.Context(), &b, u, thread.Options{Head: head})
	}
	if (err == nil) != (code == 0) && intended[name] == "" {
		t.Fatalf("got %v, want exit code %d", err, code)
	}
	if err != nil || code != 0 {
		return
	}
	ours, theirs := threadtest.Frontmatter(t, b.String()), threadtest.Frontmatter(t, golden)
	for _, key := range []string{"uri", "provider", "session_id", "thread_source", "mode", "agent_id", "subagent_uri", "status", "child_thread_id", "child_thread_source", "child_last_updated_at"} {
		if theirs[key] != nil && fmt.Sprint(ours[key]) != fmt.Sprint(theirs[key]) && intended[name+" "+key] == "" {
			t.Errorf("%s: got %v, want %v", key, ours[key], theirs[key])
		}
	}
	agents(t, ours["subagents"], theirs["subagents"])
	if got, want := entries(b.String()), entries(golden); !slices.Equal(got, want) && intended[name] == "" {
		t.Errorf("got messages\n%q\nwant\n%q", got, want)
	}
}

// agents compares two lists of subagents, which we order by their begin.
func agents(t *testing.T, ours, theirs any) {
	t.Helper()
	a, _ := ours.([]any)
	b, _ := theirs.([]any)
	if len(a) != len(b) {
		t.Fatalf("got %d subagents, want %d", len(a), len(b))
	}
	for _, want := range b {
		want := want.(map[string]any)
		i := slices.IndexFunc(a, func(x any) bool { return x.(map[string]any)["agent_id"] == want["agent_id"] })
		if i < 0 {
			t.Errorf("there is no subagent %v", want["agent_id"])
			continue
		}
		for _, key := range []string{"uri", "status", "thread_source"} {
			if got := a[i].(map[string]any)[key]; got != want[key] {
				t.Errorf("subagent %v: %s: got %v, want %v", want["agent_id"], key, got, want[key])
			}
		}
	}
}

var entry = regexp.MustCompile(`(?m)^#{2,3} \d+\. `)

func entries(page string) (list []string) {
	for _, e := range entry.Split(page, -1)[1:] {
		list = append(list, strings.TrimSpace(e))
	}
	return list
}
