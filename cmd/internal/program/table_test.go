package program

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clipperhouse/displaywidth"
	"github.com/spf13/cobra"
)

// listings are the command lines whose answers are lists, by the name of their
// golden file.
var listings = []struct{ name, line string }{
	{"list", "list"},
	{"list_all", "list --all"},
	{"list_columns", "list --columns path,status,id"},
	{"list_wide", "list --wide"},
	{"list_channels", "list --channels"},
	{"search", "search retry"},
	{"search_all", "search retry --all"},
	{"show_history", "show ARTIFACT --history"},
	{"show_issue", "show 42"},
	{"session_find", "session find"},
	{"session_find_unrecorded", "session find --unrecorded"},
	{"import", "import docs --dry-run"},
	{"session_graph", "session graph 11111111-2222-4333-8444-555555555555"},
	{"pipeline_list", "pipeline list"},
	{"pipeline_next", "pipeline next 42"},
	{"thread_list", "thread claude/2823d1df-720a-4c31-ac55-ae8ba7260001 --list"},
	{"check", "check"},
	{"review", "review"},
	{"compare", "compare design:latest"},
	{"cost", "cost --by agent"},
	{"work_list", "work list"},
	{"news", "news"},
	{"status", "status"},
	{"status_collisions", "status --collisions"},
	{"why", "why ARTIFACT"},
	{"gc", "gc"},
	{"init_status", "init --status"},
}

// fileSizes are the sizes of files that differ between two runs, in the table of gc.
var fileSizes = regexp.MustCompile(`(?m)^((?:log|index|caches)\s+)[0-9.]+ KiB`)

// TestListings compares each listing on terminals of three widths and in a pipe
// with a golden file.
func TestListings(t *testing.T) {
	t.Parallel()
	c := newConsole(t)
	c.env["NO_COLOR"] = "1"
	id := fillListings(c)
	c.write(".claude/settings.json", "{}")
	c.write(".codex/config.toml", "")
	c.write("docs/agent-outputs/a3f2c9d1-4b5e-4789-81ab-cdef12345678/manifest.json", "{}")
	c.write("docs/agent-outputs/b3f2c9d1-4b5e-4789-81ab-cdef12345678/notes.md", "notes")
	for _, listing := range listings {
		var titles, texts []string
		for _, c.width = range []int{40, 80, 120, 0} {
			title := fmt.Sprintf("%d columns", c.width)
			if c.width == 0 {
				title = "a pipe"
			}
			before := c.said.Len()
			args := strings.Fields(strings.ReplaceAll(listing.line, "ARTIFACT", id))
			if _, code := c.run("", args...); code > 1 {
				t.Errorf("handoff %s exits %d", listing.line, code)
			}
			text := strings.ReplaceAll(string(c.said.Bytes()[before:]), c.dir, "/work")
			text = fileSizes.ReplaceAllString(text, "${1}SIZE")
			if n := len(texts); n > 0 && texts[n-1] == text {
				titles[n-1] += ", " + title
				continue
			}
			titles, texts = append(titles, title), append(texts, text)
		}
		var b strings.Builder
		for i, text := range texts {
			fmt.Fprintf(&b, "# %s\n%s\n", titles[i], text)
		}
		golden(t, "tables/"+listing.name+".txt", b.String())
	}
}

// TestEveryTableHasAGolden checks that TestListings covers every command that
// prints a table.
func TestEveryTableHasAGolden(t *testing.T) {
	tables := 0
	eachCommand(func(path []string, command *cobra.Command) {
		if command.Flags().Lookup("columns") == nil {
			return
		}
		tables++
		name := strings.Join(path, " ")
		if !slices.ContainsFunc(listings,
			func(l struct{ name, line string }) bool { return strings.HasPrefix(l.line+" ", name+" ") }) {
			t.Errorf("handoff %s prints a table and is not in listings", name)
		}
	})
	if tables < 9 {
		t.Errorf("found %d commands that print tables, which can't be all", tables)
	}
}

// TestShortIDsAreRefs pastes the IDs of a table back.
func TestShortIDsAreRefs(t *testing.T) {
	c := newConsole(t)
	c.env["NO_COLOR"] = "1"
	fillListings(c)
	c.width = 80
	var lines []string
	for _, list := range []string{"list --all --columns id", "session find --columns id"} {
		lines = append(lines, strings.Split(strings.TrimSpace(c.ok(strings.Fields(list)...)), "\n")[1:]...)
	}
	if len(lines) < 11 {
		t.Fatalf("the IDs are %q", lines)
	}
	for _, id := range lines {
		var shown struct{ ID string }
		if err := json.Unmarshal([]byte(c.ok("show", id, "--json")), &shown); err != nil || len(id) != 8 ||
			!strings.HasSuffix(shown.ID, id) && !strings.HasPrefix(shown.ID, id) {
			t.Errorf("show %s shows %s, %v", id, shown.ID, err)
		}
	}
}

// fillListings records what the listings show, and returns the ID of an artifact
// with two revisions.
func fillListings(c *console) string {
	const one, two = "11111111-2222-4333-8444-555555555555", "21111111-2222-4333-8444-555555555555"
	ok := func(line string, more ...string) string {
		c.now = c.now.Add(7 * time.Minute)
		return strings.TrimSpace(c.ok(append(strings.Fields(line), more...)...))
	}
	c.write("docs/design.md", "# Retry policy\n\nRetry twice, then give up and report the last error to the caller.\n")
	c.write("docs/architecture/decisions/0007-retry-policy-of-the-client.md", "Retry with backoff.\n")
	c.write("fix.diff", "-old\n+new\n")
	first := ok("publish docs/design.md --channel design --agent ada --tag retry --title", "Retry policy")
	ok("publish docs/architecture/decisions/0007-retry-policy-of-the-client.md --channel architecture-decision --agent "+
		"decision-recorder --title",
		"Why the client retries twice and then gives up, instead of retrying for ever")
	c.write("docs/design.md", "# Retry policy\n\nThree times.\n")
	ok("publish docs/design.md --channel design --agent ada --replaces "+first+" --title", "再試行の方針: three times")
	ok("publish fix.diff --channel patch --harness codex --from " + first)
	ok("withdraw " + ok("publish fix.diff --channel patch --agent builder --title", "Retry loop"))
	ok("session open --agent pixel-designer --workflow deep-dive-ISO27001-analysis --user u --id "+one+" --input",
		"topic=retry")
	ok("session open --agent alex --workflow intake-app --user u --id " + two)
	ok("session set --session "+two+" --name", "Ten laptops for the new office in the harbour, with docking stations")
	ok("session set --session " + two + " --link " + one)
	ok("session close --status completed --session " + one)
	fillRun(c, ok)
	threadHomes(c)
	ok("work start w1 --harness flue --agent ada --model openai/gpt-5")
	ok("work end w1 --harness flue --input 1234567 --output 89012")

	c.write("gone.log", "gone\n")
	ok("withdraw " + ok("publish gone.log --channel log --keep"))
	orphans, err := filepath.Glob(filepath.Join(c.dir, ".handoff/bodies/sha256/*/*"))
	if err != nil || len(orphans) == 0 {
		c.t.Fatalf("no kept bodies: %v", err)
	}
	for _, name := range orphans {
		if err := os.Chtimes(name, c.now, c.now); err != nil {
			c.t.Fatal(err)
		}
	}
	c.now = c.now.Add(26 * time.Hour)
	return first
}

// fillRun submits stages of the run 42.
func fillRun(c *console, ok func(line string, more ...string) string) {
	put := func(stage, agent, artifact string) {
		c.write(stage+".json", artifact)
		ok("pipeline put 42 " + stage + " " + stage + ".json --as " + agent)
	}
	put("plan", "jg-subplanner",
		`{"affected_files":["a.go"],"steps":[{"order":1,"file":"a.go"}],"acceptance_mapping":{"AC1":"a_test.go"}}`)
	put("implement", "jg-worker",
		`{"status":"completed","files_changed":["a.go"],"blockers":[],"summary":"Retry twice, then report the last error to the caller"}`)
	put("test", "jg-tester", `{"verdict":"FAIL","phase_1":{"unit":{"status":"FAIL"}}}`)
}

// TestNewsLeftOut checks that news notes what it has shown, and not if it left out what is
// done; and that --all leaves out nothing.
func TestNewsLeftOut(t *testing.T) {
	t.Parallel()
	c := newConsole(t)
	c.env["NO_COLOR"], c.env["XDG_STATE_HOME"], c.width = "1", t.TempDir(), 100
	for i := range 20 {
		id := fmt.Sprintf("%08d-2222-4333-8444-555555555555", i)
		c.ok("session", "open", "--agent", "ada", "--workflow", fmt.Sprint("w", i), "--id", id)
		c.ok("session", "close", "--session", id, "--status", "completed")
	}
	for _, tt := range []struct {
		line       string
		rows, left int
	}{{"news", 16, 4}, {"news", 16, 4}, {"news --all --keep-unread", 20, 0}, {"news --all", 20, 0}, {"news", 0, 0}} {
		out := c.ok(strings.Fields(tt.line)...)
		if n := strings.Count(out, "done   completed"); n != tt.rows {
			t.Errorf("handoff %s shows %d rows, want %d:\n%s", tt.line, n, tt.rows, out)
		}
		if left := strings.Contains(out, fmt.Sprint(tt.left, " more; --all")); left != (tt.left > 0) {
			t.Errorf("handoff %s prints, of %d left out:\n%s", tt.line, tt.left, out)
		}
	}
}

// TestNewsMarkdown checks that what others wrote has no effect in Markdown.
func TestNewsMarkdown(t *testing.T) {
	t.Parallel()
	c := newConsole(t)
	c.ok("session", "open", "--agent", "@octocat `x` <b>", "--workflow", "![p](https://example.com) #1", "--id",
		"11111111-2222-4333-8444-555555555555")
	c.ok("session", "close", "--session", "11111111-2222-4333-8444-555555555555", "--status", "failed")
	spans := regexp.MustCompile("(`+)[^\n]*?[^`]`+")
	for line := range strings.Lines(c.ok("news", "--format", "md")) {
		if outside := spans.ReplaceAllString(line, ""); strings.ContainsAny(outside, "@<[") {
			t.Errorf("news --format md has text outside of code spans: %s", line)
		}
	}
}

// TestWidths checks that no line of a table is wider than the terminal, unless it is one
// cell that must not be cut, and that only titles and paths are cut.
func TestWidths(t *testing.T) {
	t.Parallel()
	c := newConsole(t)
	c.env["NO_COLOR"] = "1"
	id := fillListings(c)
	lines := []string{"thread --everywhere", "list --group agent", "list --all --group session"}
	for _, l := range listings {
		lines = append(lines, strings.ReplaceAll(l.line, "ARTIFACT", id))
	}
	for _, line := range lines {
		if strings.Contains(line, "--wide") || strings.HasSuffix(line, "--list") { // not cut; a page
			continue
		}
		for _, c.width = range []int{40, 80, 120} {
			out, _ := c.run("", strings.Fields(line)...)
			for row := range strings.Lines(out) {
				row = strings.TrimSuffix(row, "\n")
				alone := !strings.Contains(strings.TrimLeft(row, " "), "  ")
				if strings.Contains(line, "graph") || strings.HasPrefix(row, "ticket") || strings.HasPrefix(row, "reads") ||
					strings.HasPrefix(row, "writes") { // not of a table
					continue
				}
				if n := displaywidth.String(row); n > c.width && (!alone || strings.Contains(strings.TrimSpace(row), " ")) {
					t.Errorf("handoff %s prints %d columns on a terminal with %d: %s", line, n, c.width, row)
				}
			}
		}
	}
}
