package program

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

// refusedMessages are the messages to agents that only xurl sends.
var refusedMessages = []string{"write-claude-role", "write-params", "write-role"}

// acceptedOptions are the options that only xurl refuses, with reasons.
var acceptedOptions = map[string]string{
	"err-list-flag": "the design of the URIs has --list; xurl replaced it by -I",
	"err-noargs":    "without a URI, the threads of the directory are listed",
}

// A recording is what xurl was run with, and its answer.
type recording struct {
	env, args []string
	ok        bool
	out, log  string // standard output and error, and what a program was run with
}

// xurlRecordings returns the recordings whose names match, and the directory of the
// files that they used. It skips the test if HANDOFF_XURL is not set.
func xurlRecordings(t *testing.T, match func(name string) bool) (list map[string]recording, trees string) {
	t.Helper()
	dir := os.Getenv("HANDOFF_XURL")
	if dir == "" {
		t.Skip("HANDOFF_XURL is not set: recorded answers of xurl are not tested")
	}
	names, err := filepath.Glob(filepath.Join(dir, "golden", "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	list, trees = map[string]recording{}, filepath.Join(dir, "trees")
	for _, path := range names {
		name := strings.TrimSuffix(filepath.Base(path), ".txt")
		if !match(name) {
			continue
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		command, answer, _ := strings.Cut(strings.ReplaceAll(string(b), "$TREES", trees), "\n")
		words := strings.Fields(strings.TrimPrefix(command, "$ "))
		for i, word := range words {
			words[i] = strings.Trim(word, "'")
		}
		at := slices.Index(words, "xurl")
		r := recording{env: words[:at:at], args: words[at+1:], ok: strings.HasPrefix(answer, "# exit 0\n")}
		r.out, r.log, _ = strings.Cut(answer, "--- mock argv\n")
		_, r.out, _ = strings.Cut(r.out, "--- stdout\n")
		list[name] = r
	}
	return list, trees
}

// run runs handoff thread as xurl was run.
func (r recording) run(t *testing.T, args, env []string) (stdout, stderr string, ok bool) {
	t.Helper()
	home := t.TempDir()
	handoff, err := exec.LookPath("handoff")
	if err != nil {
		t.Fatal(err)
	}
	var out, messages strings.Builder
	cmd := exec.Command(handoff, append(append([]string{"thread"}, args...), r.args...)...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = home, append(append([]string{"PATH=" + os.Getenv("PATH")}, r.env...),
		append(env, "HOME="+home)...), &out, &messages
	err = cmd.Run()
	return out.String(), messages.String(), err == nil
}

// TestXurlLists compares lists and searches with recorded answers of xurl.
func TestXurlLists(t *testing.T) {
	list, _ := xurlRecordings(t, func(name string) bool {
		return xurlLists.MatchString(name) && !strings.HasPrefix(name, "write")
	})
	for name, r := range list {
		var want, got []string
		for _, m := range xurlThread.FindAllStringSubmatch(r.out, -1) {
			want = append(want, m[1])
		}
		out, _, ok := r.run(t, []string{"--json"}, nil)
		var found struct{ Threads []struct{ URI string } }
		if err := json.Unmarshal([]byte(out), &found); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, th := range found.Threads {
			got = append(got, th.URI)
		}
		slices.Sort(got)
		slices.Sort(want)
		if same := slices.Equal(got, want) && ok == r.ok; same != (listDifferences[name] == "") {
			t.Errorf("%s: %q: got %q, %v, want %q, %v; differs: %q", name, r.args, got, ok, want, r.ok, listDifferences[name])
		}
	}
	t.Logf("compared %d answers, %d differ", len(list), len(listDifferences))
}

// TestXurlMessages compares messages to agents with recorded answers of xurl: what the
// program was run with, its answer, and the URI.
func TestXurlMessages(t *testing.T) {
	list, trees := xurlRecordings(t, func(name string) bool { return strings.HasPrefix(name, "write") })
	for name, r := range list {
		log := filepath.Join(t.TempDir(), "log")
		out, messages, ok := r.run(t, nil, []string{
			"MOCK_LOG=" + log, "HANDOFF_CODEX_BIN=" +
				map[bool]string{true: filepath.Join(trees, "mock", "codex-fail")}[name == "write-failed"]})
		if refused := slices.Contains(refusedMessages, name); ok != (r.ok && !refused) {
			t.Errorf("%s: %q: got %v: %s", name, r.args, ok, messages)
		}
		if !ok {
			continue
		}
		ran, err := os.ReadFile(log)
		want, uri, _ := strings.Cut(r.out, "--- stderr\n")
		args := strings.ReplaceAll(string(ran), "  ", " ") // a space before a single word
		if err != nil || args != r.log || strings.TrimSuffix(out, "\n") != want || !strings.Contains(messages, uri) {
			t.Errorf("%s: %q: got %q, %q, run with %q, %v, want %q and %q", name, r.args, out, messages, ran, err, r.out, r.log)
		}
	}
	t.Logf("compared %d answers, %d are refused only here", len(list), len(refusedMessages))
}

// TestXurlOptions compares the remaining options with recorded answers of xurl.
func TestXurlOptions(t *testing.T) {
	list, _ := xurlRecordings(t, regexp.MustCompile(`^err-(list-flag|noargs|output-dir)$`).MatchString)
	for name, r := range list {
		missing := filepath.Join(t.TempDir(), "missing") // xurl was run where /nonexistent is missing
		for i, arg := range r.args {
			r.args[i] = strings.Replace(arg, "/nonexistent", missing, 1)
		}
		out, messages, ok := r.run(t, nil, nil)
		if ok != (r.ok || acceptedOptions[name] != "") {
			t.Errorf("%s: %q: got %v, want %v: %s", name, r.args, ok, !ok, messages)
		}
		switch name {
		case "err-list-flag":
			ok = strings.Contains(out, "\nsubagents:\n")
		case "err-noargs": // the directory has no threads
			ok = out+messages == ""
		case "err-output-dir":
			ok = out == "" && strings.Contains(messages, missing)
		}
		if !ok {
			t.Errorf("%s: %q: got %q, %q", name, r.args, out, messages)
		}
	}
	t.Logf("compared %d answers, %d are accepted only here", len(list), len(acceptedOptions))
	if len(list) != 3 {
		t.Errorf("got %d recorded answers, want 3", len(list))
	}
}
