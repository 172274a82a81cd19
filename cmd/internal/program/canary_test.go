package program

import (
	"bytes"
	"context"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
)

// A console runs command lines in this process, over one directory, at a
// time and with randomness that are always the same.
type console struct {
	t      *testing.T
	dir    string
	env    map[string]string
	now    time.Time
	random *rand.ChaCha8
	said   bytes.Buffer // all that was ever printed
	used   map[string]bool
	width  int // of the terminal, 0 for a pipe
}

func newConsole(t *testing.T) *console {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	return &console{t: t, dir: dir, env: map[string]string{}, now: consoleTime, random: rand.NewChaCha8([32]byte{2}),
		used: map[string]bool{}}
}

func consoleNow() time.Time { return consoleTime }

var consoleTime = time.Date(2026, 11, 21, 3, 0, 0, 123e6, time.UTC)

func (c *console) write(name, text string) {
	c.t.Helper()
	file := filepath.Join(c.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

// run runs a command line with a standard input, and returns what it prints
// and its exit code.
func (c *console) run(input string, args ...string) (stdout string, code int) {
	c.t.Helper()
	var out, errs bytes.Buffer
	a := &cli.App{In: strings.NewReader(input), Out: &out, Err: &errs, Dir: c.dir, Terminal: c.width > 0, Width: c.width,
		Getenv: func(name string) string { return c.env[name] },
		Now:    func() time.Time { return c.now }, Rand: c.random, Backends: backends}
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	code = a.Run(ctx, commands, args)
	c.used[args[0]] = true
	c.said.Write(out.Bytes())
	c.said.Write(errs.Bytes())
	if err := allAnswers().check(args, out.String()); err != nil {
		c.t.Errorf("handoff %s: %v", strings.Join(args, " "), err)
	}
	return out.String(), code
}

// ok is run for a command that must succeed.
func (c *console) ok(args ...string) string {
	c.t.Helper()
	before := c.said.Len()
	out, code := c.run("", args...)
	if code != 0 {
		c.t.Fatalf("handoff %s exits %d: %s", strings.Join(args, " "), code, c.said.Bytes()[before:])
	}
	return out
}

// contentCommands print what was asked for: content. (The tools of mcp and serve
// have a test of their own: TestNoBodies; hook prints refs.) The demo brings bodies of
// its own.
var contentCommands = []string{"continue", "demo", "export", "hook", "mcp", "read", "search", "serve", "thread"}

// TestCanary checks that no byte of a body leaves handoff: not in what any
// command prints, nor in any file that it writes but the body itself.
func TestCanary(t *testing.T) {
	t.Parallel()
	const canary = "CANARY-7f3a9c"
	c := newConsole(t)
	c.write("a.md", canary+" one")
	c.write("b.json", `{"text":"`+canary+`"}`)
	c.write("dir/"+"x.txt", canary)
	a := strings.TrimSpace(c.ok("publish", "a.md", "--channel", "design", "--title", "T"))
	b := strings.TrimSpace(c.ok("publish", "b.json", "--channel", "patch", "--from", a))
	c.ok("publish", "dir", "--channel", "patch", "--json")
	stored, code := c.run(canary+" from standard input", "publish", "-", "--channel", "verification", "--key", "k")
	if code != 0 {
		t.Fatalf("publish - exits %d", code)
	}
	stored = strings.TrimSpace(stored)
	c.run(canary+" another body", "publish", "-", "--channel", "verification", "--key", "k")
	c.run(canary, "publish", "-", "--channel", "verification", "--filename", "../x")
	c.ok("publish", "a.md", "--channel", "design", "--replaces", a, "--json")
	c.ok("label", b, "chosen", "--json")
	c.ok("review", b, "--approve")
	c.ok("review", b, "--comment", "-m", "fine", "--json")
	c.ok("review", "--json")
	c.ok("compare", a, b)
	c.ok("compare", "--json")
	c.ok("accept", b, "--over", a, "--json")
	c.run("", "apply", b, "--check", "--json")
	c.ok("withdraw", b, "--json")
	for _, id := range []string{a, b, stored} {
		for _, more := range [][]string{nil, {"--json"}, {"--history"}, {"--history", "--json"}, {"--lineage"},
			{"--lineage", "--json"},
			{"--lineage", "--format", "dot"}, {"--lineage", "--format", "mermaid"}} {
			c.ok(append([]string{"show", id}, more...)...)
		}
	}
	c.ok("list", "--all")
	c.ok("list", "--all", "--json")
	c.ok("list", "--channels", "--json")
	c.run("", "watch", "--after", "0", "--all", "--timeout", "10ms")
	c.run("", "watch", "--after", "0", "--all", "--json", "--timeout", "10ms")
	c.ok("wait", "--json")
	c.ok("write", "context.md", "a.md", "--run", "r1")
	c.ok("write", "context.md", "a.md", "--run", "r1", "--json")
	c.ok("completion", "bash")
	c.ok("__complete", "show", "")
	c.ok("help")
	c.write("a.md", canary+" changed")
	c.ok("show", a)
	c.run("", "show", canary[:3])
	c.run("", "check")
	c.run("", "check", "--repair", "--json")
	c.ok("gc", "--json")
	c.ok("log", "status")
	c.run("", "log", "copy", "file:", "file:")
	c.run("", "init", "--dry-run")
	c.run("", "doctor", "--json")
	c.ok("version", "--json")
	c.ok("work", "start", "w1", "--harness", "h")
	c.ok("work", "list", "--json")
	c.ok("cost", "--by", "artifact", "--json")
	c.ok("status", "--json")
	c.ok("news", "--json")
	c.ok("why", "a.md", "--json")
	c.ok("attest", "--json", "--", "true")
	c.ok("publish", "a.md", "--channel", "design", "--claim", "fine", "--evidence", "command:true")
	c.run("", "verify", "design:latest")
	c.run("", "verify", "design:latest", "--json")
	c.session(canary)
	c.pipeline(canary)

	for _, command := range commands {
		made := command.New(&cli.App{})
		if name := made.Name(); !made.Hidden && !c.used[name] && !slices.Contains(contentCommands, name) {
			t.Errorf("handoff %s was not run over the canary", name)
		}
	}
	if strings.Contains(c.said.String(), canary) {
		t.Errorf("a body was printed:\n%s", c.said.String())
	}
	if !strings.Contains(c.said.String(), stored) {
		t.Errorf("the output was not collected")
	}
	holders := slices.DeleteFunc(filesWith(t, filepath.Join(c.dir, ".handoff"), canary), func(name string) bool {
		return strings.HasPrefix(name, "bodies/sha256/") // the kept copies
	})
	if want := []string{"artifacts/files/" + stored + "/output"}; !slices.Equal(holders, want) {
		t.Errorf("the body is in %v, want only in %v", holders, want)
	}
}

// session runs the commands of a session that has the canary as its output.
func (c *console) session(canary string) {
	const id = "11111111-2222-4333-8444-555555555555"
	c.ok("session", "open", "--id", id, "--agent", "alex", "--workflow", "intake-app", "--user", "u")
	c.write("docs/agent-outputs/"+id+"/out.md", canary)
	c.ok("session", "add", "--session", id, "out.md", "--type", "document", "--json")
	c.ok("session", "close", "--session", id, "--status", "completed")
	c.ok("session", "find", "--json")
	c.ok("session", "latest-output", "alex", ".", "document", "--json")
	c.ok("session", "graph", id, "--format", "json")
	c.ok("export", "tar", id, "-o", "one.tar")
	c.run("", "import", "one.tar")
	c.ok("show", id, "--files", "--json")
	c.ok("config", "explain", "session_folder", "--session", id)
	c.ok("run", "--agent", "alex", "--", "cp", filepath.Join(c.dir, "a.md"), filepath.Join(c.dir, "copy.md"))
}

// pipeline runs the commands of pipelines over artifacts that have the canary
// in every text of an agent. validate and gate are not included: their messages
// quote artifacts.
func (c *console) pipeline(canary string) {
	put := func(stage, artifact string) {
		c.write(stage+".json", artifact)
		c.ok("pipeline", "put", "42", stage, stage+".json", "--json")
	}
	put("plan", `{"affected_files":["`+canary+`"],"steps":[{"order":1,"file":"`+canary+`"}],"acceptance_mapping":{"`+
		canary+`":"`+canary+`"}}`)
	put("implement", `{"status":"completed","files_changed":["`+canary+`"],"blockers":["`+canary+`"],"summary":"`+canary+
		`"}`)
	put("test", `{"verdict":"FAIL","phase_1":{"`+canary+`":{"result":"FAIL","output":"`+canary+`"}}}`)
	put("debug", `{"failure_source":"`+canary+`","failure_description":"","root_cause":"`+canary+`","root_cause_file":"`+
		canary+`","root_cause_line":1,"classification":"fix_target"}`)
	put("git", `{"branch":"`+canary+`","commit_sha":"`+canary+`","commit_message":"`+canary+`"}`)
	for _, args := range [][]string{{"show", "42"}, {"pipeline", "next", "42"},
		{"pipeline", "get", "42", "plan"}, {"list"},
		{"show", "42/plan.json"}} {
		c.ok(args...)
		c.ok(append(args, "--json")...)
	}
	c.ok("pipeline", "archive", "42", "--force", "--json")
	c.ok("pipeline", "unarchive", "42")
}

// filesWith returns the files in dir whose name or content contains text.
func filesWith(t *testing.T, dir, text string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(name)
		if rel, _ := filepath.Rel(dir, name); bytes.Contains(b, []byte(text)) || strings.Contains(name, text) {
			names = append(names, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
