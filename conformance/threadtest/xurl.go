package threadtest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/page"
)

// Xurl compares a provider with recorded answers of xurl for the same files: success
// or failure, the keys of the frontmatter, the subagents with their lifecycle, and
// the messages. env is the environment variable that sets the directory. intended are
// the differences with their reasons, by case, by "case key", by "case subagent ID"
// and by key for all cases; docs/threads.md explains them. The test fails if one of
// them does not exist.
func Xurl(t *testing.T, d thread.Driver, env string, intended map[string]string) {
	dir := optional(t, "HANDOFF_XURL", "recorded answers of xurl", nil)
	names, err := filepath.Glob(filepath.Join(dir, "golden", "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	n := 0
	for _, path := range names {
		name := strings.TrimSuffix(filepath.Base(path), ".txt")
		if (!strings.Contains(name, d.Name) && !strings.HasPrefix(name, "err-")) || otherCases.MatchString(name) {
			continue
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		a := parseAnswer(strings.ReplaceAll(string(b), "$TREES", filepath.Join(dir, "trees")), env)
		if a.home == "" || a.uri == "" {
			continue
		}
		n++
		t.Run(name, func(t *testing.T) {
			a.compare(t, d, env, func(key string) bool {
				one := strings.TrimSpace(name + " " + key)
				used[one], used[key] = true, true
				return intended[one] != "" || intended[key] != ""
			})
		})
	}
	for key := range intended {
		if !used[key] {
			t.Errorf("%s: no such difference", key)
		}
	}
	t.Logf("compared %d answers", n)
}

// otherCases matches the cases that do not read a thread.
var otherCases = regexp.MustCompile(`query|^write|role|err-(pct|emptykey)`)

// An answer is a recorded answer of xurl.
type answer struct {
	home, uri string
	head      bool
	code      int
	out       string
}

func parseAnswer(s, env string) (a answer) {
	first, rest, _ := strings.Cut(s, "\n")
	m := regexp.MustCompile(`^\$ ` + env + `=(\S+) xurl (.*)`).FindStringSubmatch(first)
	if m == nil {
		return a
	}
	a.home = m[1]
	for _, arg := range strings.Fields(m[2]) {
		switch arg = strings.Trim(arg, "'"); {
		case arg == "-I", arg == "--head":
			a.head = true
		case strings.HasPrefix(arg, "-"):
			return answer{}
		case a.uri == "":
			a.uri = arg
		}
	}
	fmt.Sscanf(rest, "# exit %d", &a.code)
	_, a.out, _ = strings.Cut(rest, "--- stdout\n")
	a.out, _, _ = strings.Cut(a.out, "--- stderr\n")
	return a
}

func (a answer) compare(t *testing.T, d thread.Driver, env string, intended func(string) bool) {
	CheckUnchanged(t, a.home)
	set := thread.NewSet([]thread.Driver{d}, func(name string) string { return map[string]string{env: a.home}[name] },
		"")
	var out bytes.Buffer
	u, err := thread.ParseURI(a.uri)
	if err == nil {
		err = page.Write(t.Context(), &out, set, u, page.Options{Head: a.head})
	}
	if (err == nil) != (a.code == 0) && !intended("") {
		t.Fatalf("got %v, want exit code %d", err, a.code)
	}
	if err != nil || a.code != 0 {
		return
	}
	ours, theirs := Frontmatter(t, out.String()), Frontmatter(t, a.out)
	for _, key := range []string{"uri", "provider", "session_id", "thread_source", "mode", "agent_id", "subagent_uri",
		"status", "status_source", "child_thread_id", "child_thread_source", "child_last_updated_at"} {
		if theirs[key] != nil && !same(ours[key], theirs[key]) && !intended(key) {
			t.Errorf("%s: got %v, want %v", key, ours[key], theirs[key])
		}
	}
	subagents(t, ours["subagents"], theirs["subagents"], intended)
	for _, line := range lifecycle.FindAllString(a.out, -1) {
		if !strings.Contains(out.String(), "\n"+line) && !intended("lifecycle") {
			t.Errorf("missing: %s", line)
		}
	}
	got, want := entries(out.String()), entries(a.out)
	if ours["agent_id"] != nil && len(want) < len(got) {
		got = got[len(got)-len(want):] // its excerpt has repeated messages
	}
	if !slices.Equal(got, want) && !intended("messages") {
		t.Errorf("got messages %q, want %q", got, want)
	}
}

// lifecycle matches the lines about a subagent that both programs must have.
var lifecycle = regexp.MustCompile("(?m)^- (Relation|Evidence): .*|^- `\\d{4}-[^`]*` `[^`]*`")

// same compares values. Times may have different formats.
func same(got, want any) bool {
	a, errA := time.Parse(time.RFC3339Nano, fmt.Sprint(got))
	b, errB := time.Parse(time.RFC3339Nano, fmt.Sprint(want))
	return got == want || (errA == nil && errB == nil && a.Equal(b))
}

func subagents(t *testing.T, ours, theirs any, intended func(string) bool) {
	t.Helper()
	byID := map[any]map[string]any{}
	list, _ := ours.([]any)
	for _, a := range list {
		byID[a.(map[string]any)["agent_id"]] = a.(map[string]any)
	}
	want, _ := theirs.([]any)
	for _, w := range want {
		w := w.(map[string]any)
		id := w["agent_id"]
		if intended(fmt.Sprint("subagent ", id)) {
			continue
		}
		for _, key := range []string{"uri", "status", "status_source", "thread_source", "last_update"} {
			if got := byID[id][key]; w[key] != nil && !same(got, w[key]) && !intended(key) {
				t.Errorf("subagent %v: %s: got %v, want %v", id, key, got, w[key])
			}
		}
		delete(byID, id)
	}
	for id := range byID {
		if intended(fmt.Sprint("subagent ", id)) {
			continue
		}
		t.Errorf("xurl has no subagent %v", id)
	}
}

var heading = regexp.MustCompile(`(?m)^#{2,3} \d+\. `)

// entries returns the messages of a page without their numbers, without notes, which
// xurl does not show, and without repetitions, which only xurl has.
func entries(page string) []string {
	var list []string
	for _, e := range heading.Split(page, -1)[1:] {
		if !strings.HasPrefix(e, "Note") {
			list = append(list, strings.TrimSpace(e))
		}
	}
	return slices.Compact(list)
}
