package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// listDifferences are the lists and searches of xurl that differ here, with reasons.
// docs/threads.md explains them.
var listDifferences = map[string]string{
	"amp-query":          "a subagent is found below its parent",
	"claude-query":       "a subagent is not in a list",
	"gemini-query":       "a subagent is not in a list",
	"new-path-abs":       "a subagent is not in a list",
	"opencode-query":     "a subagent is found below its parent",
	"pi-query":           "a subagent is found below its parent",
	"codex-role-legacy":  "no subagent has the role, only a text has the word",
	"codex-role-query":   "no subagent has the role, only a text has the word",
	"codex-role-query-q": "no subagent has the role, only a text has the word",
	"new-cursor-query":   "no message has the word, only parts of words",
	"real-codex-query":   "no message has the word, only the name of a tool",
	"codex-query-limit0": "0 means all",
}

var (
	xurlLists  = regexp.MustCompile(`query|role|path|err-(pct|emptykey)`)
	xurlThread = regexp.MustCompile(`(?m)^  uri: '([^']*)'`)
)

// TestXurlLists compares lists and searches with recorded answers of xurl.
func TestXurlLists(t *testing.T) {
	dir := os.Getenv("HANDOFF_XURL")
	if dir == "" {
		t.Skip("HANDOFF_XURL is not set: recorded answers of xurl are not tested")
	}
	names, err := filepath.Glob(filepath.Join(dir, "golden", "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, path := range names {
		name := strings.TrimSuffix(filepath.Base(path), ".txt")
		if !xurlLists.MatchString(name) || strings.HasPrefix(name, "write") {
			continue
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		command, answer, _ := strings.Cut(strings.ReplaceAll(string(b), "$TREES", filepath.Join(dir, "trees")), "\n")
		answer, _, _ = strings.Cut(answer, "--- stderr")
		var want []string
		for _, m := range xurlThread.FindAllStringSubmatch(answer, -1) {
			want = append(want, m[1])
		}
		slices.Sort(want)
		got, failed := listAs(t, strings.Fields(strings.TrimPrefix(command, "$ ")))
		same := slices.Equal(got, want) && failed != strings.HasPrefix(answer, "# exit 0")
		if same != (listDifferences[name] == "") {
			t.Errorf("%s: got %q, failed: %v, want %q; differs: %q", command, got, failed, want, listDifferences[name])
		}
		compared++
	}
	t.Logf("compared %d answers, %d differ", compared, len(listDifferences))
}

// listAs runs handoff thread as xurl was run: with variables, its name and arguments. It
// returns the URIs of the threads in order.
func listAs(t *testing.T, words []string) (uris []string, failed bool) {
	t.Helper()
	at := slices.Index(words, "xurl")
	args := []string{"thread", "--json"}
	for _, word := range words[at+1:] {
		args = append(args, strings.Trim(word, "'"))
	}
	home := t.TempDir()
	cmd := exec.Command("handoff", args...)
	cmd.Dir, cmd.Env = home, append(words[:at:at], "HOME="+home, "PATH="+os.Getenv("PATH"))
	out, err := cmd.Output()
	if err != nil {
		return nil, true
	}
	var list struct{ Threads []struct{ URI string } }
	if err := json.Unmarshal(out, &list); err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	for _, th := range list.Threads {
		uris = append(uris, th.URI)
	}
	slices.Sort(uris)
	return uris, false
}
