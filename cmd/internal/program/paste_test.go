package program

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/workspace/work"
)

// identifying are the members of JSON whose strings are IDs, URIs and names.
var identifying = strings.Fields(`agent agentId agentName agentRole agents artifactId by channel endRecord from harness id
	issue links model namespace parent parentArtifactIds producer programs provider ref refs replacedBy replaces role runId
	sessionId sessions stage startRecord subject tags to uri user workId workflow operationId taskId`)

// printed returns the IDs, URIs and names in what a command prints as JSON, with the
// members that they are in.
func printed(member string, v any) map[string]string {
	found := map[string]string{}
	switch v := v.(type) {
	case map[string]any:
		for name, x := range v {
			if group, ok := x.(string); ok && name == "by" && slices.Contains(work.CostGroups(), group) {
				continue
			}
			if name == "name" && (member == "agent" || member == "workflow" || member == "channels") {
				name = "agent"
			}
			if name == "key" && member == "rows" { // of costs
				name = "id"
			}
			maps.Copy(found, printed(name, x))
		}
	case []any:
		for _, x := range v {
			maps.Copy(found, printed(member, x))
		}
	case string:
		if slices.Contains(identifying, member) && v != "" {
			found[v] = member
		}
	}
	return found
}

const ownThread = "5e0c1a52-9d2f-4c77-8c1b-0f6a7d1e2b3c"

// TestPaste gives each ID, URI and name that a command prints to each command that takes
// one. A command that has nothing to say about it names one that has, which works.
func TestPaste(t *testing.T) {
	t.Parallel()
	c := newConsole(t)
	c.env["NO_COLOR"] = "1"
	id := fillListings(c)
	c.write("task.md", "x")
	c.ok("publish", "task.md", "--channel", "notes", "--agent", "eve", "--harness", "codex", "--task", "task-7",
		"--operation", "op-8", "--kind", "memo", "--thread", "agents://codex/019c871c-b1f9-7f60-9c4f-87ed09f13592")
	c.ok("label", id, "reviewed")
	// a model without a price, of which only a transcript knows
	c.write("home/.claude/projects/-own/"+ownThread+".jsonl", fmt.Sprintf(
		`{"type":"user","uuid":"u1","sessionId":"%[1]s","version":"2.1.330","timestamp":"2026-02-23T00:00:01Z",`+
			`"cwd":"%[2]s","message":{"role":"user","content":"Go on."}}`+"\n"+
			`{"type":"assistant","uuid":"a1","parentUuid":"u1","sessionId":"%[1]s","version":"2.1.330",`+
			`"timestamp":"2026-02-23T00:00:02Z","cwd":"%[2]s","message":{"id":"m1","role":"assistant",`+
			`"model":"house-model-7","content":[{"type":"text","text":"Done."}],"stop_reason":"end_turn",`+
			`"usage":{"input_tokens":10,"output_tokens":5}}}`+"\n", ownThread, c.dir))
	words := map[string]string{id + "@v1": "ref", "design:reviewed": "ref", "design:latest": "ref", "reviewed": "label",
		"memo": "kind", "task-7": "task", "op-8": "operation", "docs/design.md": "path",
		"handoff://artifacts/" + id: "uri", "agents://codex": "uri", "handoff://artifacts": "uri",
		"handoff://artifacts/" + id + "/body": "uri", "handoff://news": "uri",
		"handoff://sessions/11111111-2222-4333-8444-555555555555": "uri",
		"plan#1": "attempt"}
	chosen := slices.Collect(maps.Keys(words))
	for _, line := range slices.Concat([]string{"cost --by model", "cost --by thread", "cost --by work",
		"thread --everywhere --agents", "session find", "log", "show " + id, "show task.md",
		"show 11111111-2222-4333-8444-555555555555", "thread claude/2823d1df-720a-4c31-ac55-ae8ba7260001 -I"}, lines()) {
		line = strings.ReplaceAll(line, "ARTIFACT", id)
		out, code := c.run("", append(strings.Fields(line), "--json")...)
		var answer any
		if err := json.Unmarshal([]byte(out), &answer); err != nil || code > 1 {
			t.Fatalf("handoff %s exits %d: %v, %s", line, code, err, out)
		}
		maps.Copy(words, printed("", answer))
	}
	c.width = 80 // where IDs are short
	for _, line := range []string{"list --all --columns id", "session find --columns id"} {
		for short := range strings.Lines(c.ok(strings.Fields(line)...)) {
			words[strings.TrimSpace(short)] = "short ID"
		}
	}
	delete(words, "claude-opus") // no model: it has no price, and nothing in this repository used it
	delete(words, "id")          // the head of these tables
	for _, what := range []string{"unneeded", "caches", "index"} {
		delete(words, what) // of gc: what takes space, no name
	}
	c.width = 0
	if words["house-model-7"] == "" {
		t.Errorf("no command prints the model of the transcript: %q", words)
	}
	if len(words) < 50 {
		t.Errorf("found %d words, which can't be all: %q", len(words), words)
	}
	tried := map[string]int{}
	for _, word := range slices.Sorted(maps.Keys(words)) {
		member := words[word]
		if tried[member]++; tried[member] > 3 && !slices.Contains(chosen, word) && os.Getenv("HANDOFF_LONG") == "" {
			continue // three of each kind
		}
		accepted := 0
		for _, command := range []string{"show", "cost", "why", "thread"} {
			if pastes(c, command, word, member) {
				accepted++
			}
		}
		t.Logf("%s %q is accepted by %d commands", member, word, accepted)
	}
}

// lines returns the listings that have JSON, without flags for tables.
func lines() (list []string) {
	for _, l := range listings {
		line, _, _ := strings.Cut(l.line, " --columns")
		if !strings.HasSuffix(line, "--list") {
			list = append(list, strings.TrimSuffix(line, " --wide"))
		}
	}
	return list
}

// pastes reports whether a command accepts a word. If not, its hint must work.
func pastes(c *console, command, word, member string) bool {
	before := c.said.Len()
	_, code := c.run("", command, word)
	said := string(c.said.Bytes()[before:])
	if code == 0 {
		return true
	}
	_, line, ok := strings.Cut(said, "run: handoff ")
	line, _, _ = strings.Cut(line, "\n")
	if code != 3 || !ok || !strings.Contains(said, ": is ") {
		c.t.Errorf("%s %s (%s) exits %d without naming another command: %s", command, word, member, code, said)
		return false
	}
	words, err := exec.Command("sh", "-c", `printf '%s\n' `+line).Output()
	if err != nil {
		c.t.Fatal(err)
	}
	args := strings.Split(strings.TrimSpace(string(words)), "\n")
	if out, code := c.run("", args...); code != 0 || out == "" {
		c.t.Errorf("%s %s (%s) names handoff %s, which exits %d and prints %q", command, word, member, line, code, out)
	}
	return false
}

// TestPasteMalformed gives malformed URIs to each command.
func TestPasteMalformed(t *testing.T) {
	c := newConsole(t)
	fillListings(c)
	for _, uri := range []string{"agents://", "agents://codex/", "agents://codex/a/b/c", "agents://codex/%zz", "://x",
		"codex://a b\x01", "codex://a b", "handoff://bad uri/x", "handoff://artifacts/a b", "handoff://", "handoff://x/y",
		"handoff://artifacts/a/b", "handoff://sessions/"} {
		for _, command := range []string{"show", "cost", "why", "thread"} {
			before := c.said.Len()
			_, code := c.run("", command, uri)
			said := string(c.said.Bytes()[before:])
			if code != 2 || !strings.Contains(said, "hint: ") || strings.Contains(said, "unknown provider") {
				t.Errorf("handoff %s %q exits %d: %s", command, uri, code, said)
			}
		}
	}
}
