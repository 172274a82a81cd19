package program

import (
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/cmd/internal/access"
	"github.com/agent-handoff/handoff/cmd/internal/web"
	"github.com/spf13/cobra"
)

// writers are the commands that may change files of the working tree or of a user.
// serve and mcp are called through their pages and tools.
var writers = []string{"init", "publish", "write", "label", "withdraw", "review", "apply", "accept", "run", "attest",
	"session open", "session add", "session set", "session close", "session archive", "session delete", "import",
	"config set", "config trust", "pipeline init", "pipeline put", "pipeline start", "pipeline adopt", "pipeline archive",
	"pipeline unarchive", "thread keep", "work start", "work end", "serve", "mcp", "hook", "demo", "log send",
	"log drop", "log copy"}

// TestReadingLeavesFiles takes the file of a stage, the planner's notes and the file of
// a name back to an earlier revision, runs every command, tool and page that reads, and
// checks that no file of the working tree or of git changes.
func TestReadingLeavesFiles(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	c := newConsole(t)
	c.env["PATH"], c.env["HOME"] = os.Getenv("PATH"), t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", c.dir, "-c", "user.name=n", "-c", "user.email=e@example.com"},
			args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	const plan = `{"affected_files":["src/a"],"steps":[{"order":1,"file":"src/a"}],"acceptance_mapping":{"AC1":"t"}}`
	git("init", "-q", "-b", "main")
	c.write("src/a", "one\n")
	ok := func(input string, args ...string) {
		t.Helper()
		if _, code := c.run(input, args...); code != 0 {
			t.Fatalf("handoff %v exits %d: %s", args, code, c.said.String())
		}
	}
	const session = "0b5dd5c6-9a7c-4a1c-9a0e-2f3c8e0c2a11"
	ok("", "session", "open", "--id", session, "--agent", "ada", "--workflow", "w")
	design := strings.TrimSpace(c.ok("publish", "src/a", "--channel", "design", "--session", session))
	for i := range 2 { // the second revision is in a commit of its own
		ok(strings.ReplaceAll(plan, "AC1", fmt.Sprint("AC", i)), "pipeline", "put", "42", "plan", "-", "--as",
			"jg-subplanner")
		ok(fmt.Sprintf("issue: 42\nstatus: in_progress\nnote: %d\n", i), "pipeline", "put", "42", "state", "-", "--as",
			"jg-planner")
		ok(fmt.Sprintf("note %d\n", i), "write", "notes.md", "-", "--run", "r1")
		git("add", "-A")
		git("commit", "-q", "-m", "one")
	}
	newest, err := os.ReadFile(filepath.Join(c.dir, ".pipeline/42/plan.json"))
	if err != nil {
		t.Fatal(err)
	}
	ok("summary", "write", "out.md", "-", "--session", session)
	ok("", "attest", "--", "true")
	ok("", "session", "close", "--session", session, "--status", "completed")
	git("checkout", "-q", "HEAD~1")
	before := treeOf(t, c.dir)
	ran := map[string]bool{}
	unchanged := func(what string) {
		t.Helper()
		after := treeOf(t, c.dir)
		for name := range maps.Keys(after) {
			if before[name] != after[name] {
				t.Errorf("%s: %s has changed", what, name)
			}
		}
		if len(before) != len(after) {
			t.Errorf("%s: %d files, want %d", what, len(after), len(before))
		}
		before = after
	}
	out := filepath.Join(t.TempDir(), "out")
	for _, line := range []string{"wait --channel design", "watch --after 0 --timeout 50ms", "list", "list --stale",
		"compare", "compare " + design + " -p", "diff",
		"read 42/plan.json", "read 42/state.yaml", "read r1/notes.md", "read " + design,
		"show 42", "show 42/plan.json", "show " +
			session, "show .pipeline/42/plan.json", "search plan", "why .pipeline/42/plan.json", "verify " +
			design, "session find", "session latest-output ada w artifact", "session graph " + session,
		"compare " + session + " " + session, "export tar " + session + " -o " + out +
			".tar", "config explain",
		"export pr", "export git-ai HEAD", "export otlp " + session,
		"pipeline list", "pipeline get 42 plan", "pipeline get 42 state", "pipeline schema plan",
		"pipeline validate .pipeline/42/plan.json",
		"pipeline gate 42 plan", "pipeline next 42", "pipeline next 42 --accept-stale",
		"show 42 --state", "status", "news", "cost", "work list", "check", "gc",
		"log status", "thread", "continue", "doctor", "version"} {
		words, said := strings.Fields(line), c.said.Len()
		_, code := c.run(`{"number":1,"title":"t","body":""} [] []`, words...)
		if code > 1 && words[0] != "watch" && line != "continue" { // these end after a time, and without a thread
			t.Errorf("handoff %s exits %d", line, code)
		}
		printed := string(c.said.Bytes()[said:])
		if slices.Contains([]string{"pipeline next 42", "show 42"}, line) && !strings.Contains(
			printed, "to write the newest attempt, run: handoff pipeline get 42 plan --restore") {
			t.Errorf("handoff %s does not report the file: %s", line, printed)
		}
		for n := range words {
			ran[strings.Join(words[:n+1], " ")] = true
		}
		unchanged(line)
	}
	eachCommand(func(path []string, command *cobra.Command) {
		if name := strings.Join(path, " "); !command.HasSubCommands() && !ran[name] && !slices.Contains(writers, name) {
			t.Errorf("handoff %s is not run, and not a writer", name)
		}
	})

	call := c.tools()
	for tool, arguments := range map[string]string{"artifact_get": `{"ref":"42/plan.json","compare":["*"]}`, "artifact_list": `{}`,
		"artifact_search": `{"query":"plan"}`, "artifact_wait": `{"channel":"design"}`,
		"find_latest_output": `{"agent":"ada","workflow":"w","type":"artifact"}`, "read_artifact": `{"ref":"42/plan.json"}`,
		"session_find": `{}`, "stage_next": `{"issue":"42"}`, "status": `{}`} {
		if answer := call(tool, arguments); tool == "stage_next" && fmt.Sprint(answer["outdated"]) == "<nil>" {
			t.Errorf("stage_next = %v, want the outdated file", answer)
		}
		unchanged(tool)
	}
	w := c.workspace()
	pages, err := web.New(web.Options{Source: web.NewSource(w, nil), Now: consoleNow,
		Hosts: access.NewHosts("127.0.0.1:80", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80})})
	if err != nil {
		t.Fatal(err)
	}
	defer pages.Close()
	for _, path := range []string{"/", "/pipelines", "/pipelines/42", "/artifacts/" + design, "/sessions",
		"/sessions/" + session, "/check", "/search?q=plan",
		"/compare", "/compare?ref=" + design} {
		request := httptest.NewRequest("GET", "http://127.0.0.1"+path, nil)
		recorder := httptest.NewRecorder()
		pages.Handler().ServeHTTP(recorder, request)
		if body := recorder.Body.String(); path == "/pipelines/42" && !strings.Contains(body, "earlier attempt") {
			t.Errorf("%s: %d %s, want the outdated file", path, recorder.Code, body)
		}
		unchanged(path)
	}

	if out := c.ok("pipeline", "get", "42", "plan", "--restore"); out != ".pipeline/42/plan.json\n" {
		t.Errorf("get --restore prints %q", out)
	}
	if got, err := os.ReadFile(filepath.Join(c.dir, ".pipeline/42/plan.json")); err != nil ||
		string(got) != string(newest) {
		t.Errorf("plan.json is %q %v, want %q", got, err, newest)
	}
}

// treeOf returns the contents of the files in a directory by path, but not those of
// the runtime directory.
func treeOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && d.Name() != ".handoff" {
			return err
		}
		if d.IsDir() {
			return fs.SkipDir
		}
		b, err := os.ReadFile(name)
		files[name] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
