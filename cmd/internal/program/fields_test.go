package program

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestFields selects fields of the items of each list: some alone, with HANDOFF_LONG each. The
// fields are those that docs/json.md documents.
func TestFields(t *testing.T) {
	t.Parallel()
	docs := readContract(t)
	c := newConsole(t)
	id := fillListings(c)
	for _, tt := range []struct{ line, list, item string }{
		{"list --all", "artifacts", "artifact"},
		{"list --channels", "channels", "channel"},
		{"search retry", "matches", "match"},
		{"show " + id + " --history", "artifacts", "artifact"},
		{"show 42", "attempts", "attempt"},
		{"session find", "sessions", "session"},
		{"gc", "bodies", "kept-body"},
	} {
		selected := func(fields string) (answer map[string]any, code int) {
			out, code := c.run("", append(strings.Fields(tt.line), "--json", "--fields", fields)...)
			if err := json.Unmarshal([]byte(out), &answer); err != nil {
				t.Fatalf("%s --fields %s: %v", tt.line, fields, err)
			}
			return answer, code
		}
		answer, code := selected("xyzzy")
		hint := fmt.Sprint(answer["error"].(map[string]any)["hint"])
		known := strings.Split(strings.TrimPrefix(hint, "use "), ",")
		slices.Sort(known)
		if code != 2 {
			t.Errorf("%s --fields xyzzy exits %d, want 2", tt.line, code)
		}
		for name := range docs.object(t, tt.item) {
			if !slices.Contains(known, name) && !shownAlone[tt.item+"."+name] {
				t.Errorf("%s --fields does not know %s, which docs/json.md has", tt.line, name)
			}
		}
		for _, name := range known {
			if docs[tt.item][name] == (member{}) {
				t.Errorf("%s --fields knows %s, which docs/json.md does not have", tt.line, name)
			}
		}
		for _, name := range some(known) {
			answer, code := selected(name)
			items, _ := answer[tt.list].([]any)
			if code != 0 || len(items) == 0 {
				t.Errorf("%s --fields %s exits %d with %v", tt.line, name, code, answer)
			}
			for _, item := range items {
				if got := slices.Collect(maps.Keys(item.(map[string]any))); len(got) > 1 || len(got) == 1 && got[0] != name {
					t.Errorf("%s --fields %s has the fields %q", tt.line, name, got)
				}
			}
		}
	}
	if out := c.ok("show", id, "--json", "--fields",
		"status,id"); out != fmt.Sprintf("{\"status\":\"superseded\",\"id\":%q}\n", id) {
		t.Errorf("show --fields prints %s", out)
	}
}

// shownAlone are fields that only show of one artifact or session has.
var shownAlone = map[string]bool{"artifact.work": true, "session.work": true, "session.outputs": true,
	"session.threads": true, "session.files": true, "session.related": true, "session.read": true,
	"session.artifacts":       true,
	"session.expectedOutputs": true, "session.conversations": true}

// TestFieldsAreShort checks that the refs and paths of 50 artifacts take less than
// 6 KB.
func TestFieldsAreShort(t *testing.T) {
	t.Parallel()
	c := newConsole(t)
	for i := range 51 {
		name := fmt.Sprintf("docs/decisions/0%02d-retry-policy-of-the-client.md", i)
		c.write(name, "x")
		c.ok("publish", name, "--channel", "design", "--title", "Why the client retries twice")
	}
	out := c.ok("list", "--json", "--fields", "id,path")
	if strings.Count(out, "art_") != 50 || len(out) > 6000 {
		t.Errorf("list --fields id,path prints %d bytes with %d refs, want at most 6000 with 50", len(out),
			strings.Count(out, "art_"))
	}
}

// TestOutputFlags combines flags about the output that exclude each other.
func TestOutputFlags(t *testing.T) {
	c := newConsole(t)
	for line, want := range map[string]string{
		"list --fields id":               "list: --fields requires --json",
		"list --json --columns id":       "list: --json and --columns are mutually exclusive",
		"list --json --wide":             "list: --json and --wide are mutually exclusive",
		"show 42 --json --columns stage": "show: --json and --columns are mutually exclusive",
		"list --json --fields=":          "--fields: no field given",
		"list --columns x":               `list --columns: unknown column "x"`,
	} {
		before := c.said.Len()
		_, code := c.run("", strings.Fields(line)...)
		if said := string(c.said.Bytes()[before:]); code != 2 || !strings.Contains(said, "handoff: "+want+"\n") ||
			!strings.Contains(said, "\nhint: ") {
			t.Errorf("handoff %s exits %d: %s", line, code, said)
		}
	}
}

// TestErrorsAreJSON makes usage errors in every command. With --json, also after
// the error, each is one JSON object on standard output.
func TestErrorsAreJSON(t *testing.T) {
	c := newConsole(t)
	answers := 0
	check := func(args ...string) {
		t.Helper()
		out, code := c.run("", args...)
		var answer struct {
			Error *struct {
				Kind, Message string
				ExitCode      int
			}
		}
		dec := json.NewDecoder(strings.NewReader(out))
		err := dec.Decode(&answer)
		if err != nil || dec.More() || answer.Error == nil || answer.Error.Message == "" || answer.Error.ExitCode != code ||
			code < 2 {
			t.Errorf("handoff %s exits %d and prints %q", strings.Join(args, " "), code, out)
		}
		answers++
	}
	eachCommand(func(path []string, command *cobra.Command) {
		with := func(args ...string) []string { return append(slices.Clone(path), args...) }
		check(with("--json", "--xyzzy")...)
		check(with("--xyzzy", "--json")...)
		if path[0] == "search" { // takes any number of words
			return
		}
		if command.Flags().Lookup("json") != nil || command.InheritedFlags().Lookup("json") != nil {
			check(append(with(strings.Fields("nowhere b c d e f g")...), "--json")...)
		}
	})
	check("xyzzy", "--json")
	check("--json")
	if answers < 100 {
		t.Errorf("checked %d errors, which can't be all", answers)
	}
}

// TestFieldsOfEveryList selects all fields that a list has, in every command that
// has --fields. Some of the lists are empty.
func TestFieldsOfEveryList(t *testing.T) {
	t.Parallel()
	c := newConsole(t)
	id := fillListings(c)
	lines := map[string][]string{
		"list": {"list", "list --channels"}, "search": {"search retry", "search --in threads retry"},
		"show":         {"show " + id, "show " + id + " --history", "show 42"},
		"session find": {"session find"}, "import": {"import docs --dry-run"}, "gc": {"gc"},
		"init": {"init --status"}, "review": {"review"}, "compare": {"compare", "compare design:latest"}, "diff": {"diff"},
		"cost": {"cost", "cost --by model"}, "news": {"news"},
		"status": {"status", "status --collisions"}, "work list": {"work list"},
		"thread": {"thread", "thread --everywhere"}, "why": {"why docs/design.md"},
		"pipeline list": {"pipeline list"},
	}
	eachCommand(func(path []string, command *cobra.Command) {
		name := strings.Join(path, " ")
		if command.Flags().Lookup("fields") != nil && lines[name] == nil {
			t.Errorf("no line of %q is tested", name)
		}
	})
	for _, line := range slices.Concat(slices.Collect(maps.Values(lines))...) {
		run := func(field string) (answer map[string]any, code int) {
			out, code := c.run("", append(strings.Fields(line), "--json", "--fields", field)...)
			if err := json.Unmarshal([]byte(out), &answer); err != nil {
				t.Fatalf("%s --fields %s prints %q", line, field, out)
			}
			return answer, code
		}
		answer, code := run("xyzzy")
		if code != 2 {
			t.Errorf("%s --fields xyzzy exits %d, want 2: %v", line, code, answer)
			continue
		}
		hint := fmt.Sprint(answer["error"].(map[string]any)["hint"])
		names := strings.TrimPrefix(hint, "use ")
		if answer, code := run(names); code != 0 {
			t.Errorf("%s --fields %s exits %d: %v", line, names, code, answer["error"])
		}
	}
}
