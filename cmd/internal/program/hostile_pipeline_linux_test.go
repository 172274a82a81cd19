package program

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
)

// hostileDefinition has a command wherever a definition has a text.
const hostileDefinition = `name: "touch"
stages:
  - id: a
    purpose: "$(touch ran) ; touch ran"
    by: "$(touch-ran)"
    writes: "$(touch ran)/*.md"
    format: {headings: ["` + "`touch ran`" + `"]}
    gate: {approved: true, verified: [[touch, ran], [sh, -c, "touch ran"], {command: [./ran.sh], dir: bin}]}
    on: {FAIL: a}
  - id: b
    by: human
    needs: [a]
    writes: ";touch ran;.json"
    format: {schema: {type: object, description: "$(touch ran)", examples: [{verdict: "$(touch ran)"}]}}
    on: [{when: {verdict: "$(touch ran)"}, ask: "$(touch-ran)", reason: "| touch ran"}]
`

// executing are definitions that ask for a program by a key or a tag.
var executing = []string{"stages: [{id: a, by: b, writes: a.md, run: touch ran}]",
	"stages: [{id: a, by: b, writes: a.md, gate: {run: touch ran}}]", "stages: !exec touch ran",
	"stages: [{id: a, by: b, writes: a.md, format: {schema: '|touch ran'}}]", "extends: ./ran.sh", "hooks: {start: touch ran}"}

// TestHostilePipeline runs every command, tool and page in a cloned repository with hostile
// definitions under strace: nothing is executed but git, and what the user types.
func TestHostilePipeline(t *testing.T) {
	if os.Getenv("HANDOFF_LONG") == "" {
		t.Skip("takes a while; HANDOFF_LONG=1 runs it")
	}
	for _, program := range []string{"strace", "git"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed", program)
		}
	}
	v := newVictim(t)
	for name, text := range map[string]string{"handoff.pipeline.yaml": hostileDefinition,
		"bin/ran.sh": "#!/bin/sh\ntouch ../ran\n", ".pipeline/1/pipeline.yaml": hostileDefinition, "a.md": "a\n",
		"openspec/changes/$(touch ran)/proposal.md": "x", "openspec/changes/one/proposal.md": "`touch ran`",
		".pipeline/1/$(touch ran)/x.md": "# `touch ran`\n", ".pipeline/1/;touch ran;.json": `{"verdict":"$(touch ran)"}`} {
		v.write("src/"+name, text)
	}
	v.sh("src", "rm handoff.yaml") // every command reads the log of this machine
	v.commit()
	v.sh("clone", "git pull -q && chmod +x bin/ran.sh && mkdir -p $HOME")
	s := straced{victim: v}

	commands := map[string]bool{}
	eachCommand(func(path []string, c *cobra.Command) {
		name := strings.Join(path, " ")
		if !c.HasSubCommands() && !slices.Contains([]string{"serve", "mcp", "demo"}, name) {
			commands[name] = true
		}
	})
	lines := []string{"pipeline init 2", "pipeline init 3 --pipeline jg", "pipeline put 2 a openspec --as $(touch-ran)",
		"pipeline put 2 a a.md --outcome FAIL", "pipeline start 1 a --again", "pipeline adopt openspec",
		"pipeline adopt openspec/changes/one --dry-run", "pipeline validate handoff.pipeline.yaml", "show 1", "pipeline adopt 1",
		"pipeline schema b --example", "pipeline get 1 a --restore", "pipeline gate 1 b",
		"pipeline next 1 --accept-stale", "pipeline init 1 --restore", "review", "wait --channel none --timeout 50ms",
		"watch --timeout 50ms", "run -- true", "attest -- true", "show 1 --state", "__complete pipeline next ''"}
	for name, all := range interrupted {
		for _, line := range all {
			if name == "demo" { // it runs a repository of its own
				continue
			}
			if line = strings.TrimPrefix(line, "| "); !strings.Contains(line, "PIPE") && !strings.HasPrefix(line, "~ ") {
				lines = append(lines, strings.NewReplacer(" 42", " 1", " plan", " a", "jg-planner", "$(touch-ran)").Replace(line))
			}
			delete(commands, name)
		}
	}
	for name := range commands {
		lines = append(lines, name)
	}
	slices.SortStableFunc(lines, func(a, b string) int { // what ends a run is last
		ends := func(s string) int { return strings.Count(s, "archive") + strings.Count(s, "delete") }
		return ends(a) - ends(b)
	})
	for line, want := range map[string]string{"pipeline validate handoff.pipeline.yaml": ": ok", "pipeline next 1": "$(touch"} {
		if out := s.handoff(line); !strings.Contains(out, want) {
			t.Fatalf("handoff %s: %s, want %s: the definition is not used", line, out, want)
		}
	}
	for _, line := range lines {
		s.handoff(line)
	}
	tools, pages := s.tools(), s.pages()
	for _, text := range executing {
		v.write("clone/handoff.pipeline.yaml", text)
		for _, line := range []string{"pipeline init 9", "pipeline validate handoff.pipeline.yaml",
			"pipeline list", "pipeline adopt openspec", "status"} {
			s.handoff(line)
			lines = append(lines, line)
		}
	}
	t.Logf("%d command lines, %d tools, %d pages: %d programs executed, of them %d git and %d that the user typed",
		len(lines), tools, pages, s.git+s.typed+s.others, s.git, s.typed)
	for _, name := range []string{"clone/ran", "clone/bin/ran", "ran"} {
		if _, err := os.Lstat(filepath.Join(v.dir, name)); err == nil {
			t.Errorf("%s exists: a command of the definition ran", name)
		}
	}
}

// A straced is a victim whose commands are traced.
type straced struct {
	victim
	git, typed, others int
}

// handoff runs a command line under strace, whatever its exit code, and returns what it prints.
func (s *straced) handoff(line string) string {
	s.Helper()
	c, log := s.traced(strings.Fields(line)...)
	c.Stdin = strings.NewReader("{}")
	out, err := c.CombinedOutput()
	if bytes.Contains(out, []byte("panic:")) || bytes.Contains(out, []byte("strace:")) {
		s.Errorf("handoff %s: %v\n%s", line, err, out)
	}
	s.check(line, log)
	return string(out)
}

// traced returns handoff under strace, and the file that gets its calls.
func (s *straced) traced(args ...string) (c *exec.Cmd, log string) {
	log = filepath.Join(s.T.TempDir(), "calls")
	c = s.command("clone", "")
	c.Args = append([]string{"strace", "-f", "-qq", "-s", "4096", "-e", "trace=execve,execveat", "-o", log, "handoff"},
		args...)
	path, err := exec.LookPath("strace")
	if err != nil {
		s.Fatal(err)
	}
	c.Path = path
	return c, log
}

var executed = regexp.MustCompile(`execve(?:at)?\((?:[^,]*, )??"([^"]*)", (\[.*?\]).* = 0$`)

// check counts the programs that a command executed.
func (s *straced) check(what, log string) {
	s.Helper()
	b, err := os.ReadFile(log)
	if err != nil {
		s.Fatal(err)
	}
	first := true
	for line := range strings.Lines(string(b)) {
		m := executed.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue // it failed, as for the directories of PATH
		}
		name := filepath.Base(m[1])
		switch {
		case first: // handoff itself
			first = false
		case name == "git" || strings.HasPrefix(name, "git-"):
			s.git++
		case name == "true" && strings.HasSuffix(what, "-- true"):
			s.typed++
		default:
			s.others++
			s.Errorf("handoff %s executes %s %s", what, m[1], m[2])
		}
	}
	if first {
		s.Errorf("handoff %s: strace shows no call\n%s", what, b)
	}
}

// tools calls every tool, with arguments of the hostile runs, and returns how many there are.
func (s *straced) tools() int {
	s.Helper()
	b, err := os.ReadFile("../mcp/testdata/calls.json")
	var calls []struct {
		Tool      string          `json:"tool"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if err == nil {
		err = json.Unmarshal(b, &calls)
	}
	if err != nil {
		s.Fatal(err)
	}
	var in strings.Builder
	in.WriteString(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` +
		`"clientInfo":{"name":"t","version":"1"}}}` + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
	known := map[string]bool{}
	add := func(tool, arguments string) {
		known[tool] = true
		fmt.Fprintf(&in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`+"\n",
			strings.Count(in.String(), "\n"), tool, arguments)
	}
	for _, call := range calls {
		add(call.Tool, strings.NewReplacer("$NAME", "1", "$ID", "1/;touch ran;.json", `"plan"`, `"a"`, "$SESSION", "x").Replace(
			string(call.Arguments)))
	}
	for _, arguments := range []string{`{"issue":"1"}`, `{"issue":"2"}`} {
		add("stage_next", arguments)
	}
	add("stage_put", `{"issue":"1","stage":"b","content":"{}","outcome":"$(touch ran)","lenient":true}`)
	add("stage_schema", `{"issue":"1","stage":"b","example":true}`)
	c, log := s.traced("mcp")
	c.Stdin = strings.NewReader(in.String())
	out, err := c.Output()
	if answers := bytes.Count(out, []byte(`"id":`)); err != nil || answers < len(calls) {
		s.Errorf("mcp: %v, %d answers to %d calls\n%s", err, answers, len(calls), out)
	}
	s.check("mcp", log)
	return len(known)
}

// pages asks for every page that is linked from another one, and returns how many there are.
func (s *straced) pages() int {
	s.Helper()
	c, log := s.traced("serve", "--listen", "127.0.0.1:0", "--no-token")
	out, err := c.StdoutPipe()
	if err == nil {
		c.Stderr = c.Stdout
		err = c.Start()
	}
	if err != nil {
		s.Fatal(err)
	}
	var said []byte
	address := regexp.MustCompile(`http://[0-9.:]+`)
	for b := make([]byte, 512); !address.Match(said); {
		n, err := out.Read(b)
		if said = append(said, b[:n]...); err != nil {
			s.Fatalf("serve: %v\n%s", err, said)
		}
	}
	base := string(address.Find(said))
	links := regexp.MustCompile(`(?:href|src)="(/[^"#]*)"`)
	todo, seen := []string{"/", "/pipelines/1", "/pipelines/2", "/graph", "/check", "/diagram"}, map[string]bool{}
	for len(todo) > 0 && len(seen) < 300 {
		path := strings.ReplaceAll(todo[0], "&amp;", "&")
		if todo = todo[1:]; seen[path] {
			continue
		}
		seen[path] = true
		r, err := http.Get(base + path)
		if err != nil {
			s.Fatal(err)
		}
		var page bytes.Buffer
		_, err = page.ReadFrom(r.Body)
		r.Body.Close()
		if err != nil || r.StatusCode >= 500 {
			s.Errorf("GET %s: %d %v", path, r.StatusCode, err)
		}
		for _, m := range links.FindAllStringSubmatch(page.String(), -1) {
			todo = append(todo, m[1])
		}
	}
	var pid int // strace blocks the signal
	if b, err := os.ReadFile(log); err != nil {
		s.Fatal(err)
	} else if _, err := fmt.Sscan(string(b), &pid); err != nil {
		s.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGINT); err != nil {
		s.Error(err)
	}
	_ = c.Wait()
	s.check("serve", log)
	return len(seen)
}
