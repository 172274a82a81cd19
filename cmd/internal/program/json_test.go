package program

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/spf13/cobra"
)

// A member is a field of an object that docs/json.md documents.
type member struct {
	kind     string
	optional bool
}

// A contract has the documented objects by name, each with its fields.
type contract map[string]map[string]member

var (
	heading = regexp.MustCompile(`^### (.+)$`)
	link    = regexp.MustCompile(`\[[^]]+\]\(#([a-z-]+)\)`)
	row     = regexp.MustCompile("^\\| `(\\w+)` \\| ([^|]+) \\|")
)

// readContract reads the objects of docs/json.md.
func readContract(t *testing.T) contract {
	t.Helper()
	text, err := os.ReadFile("../../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	docs := contract{}
	var fields map[string]member
	var includes []func() // after all objects are known
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "## ") {
			fields = nil
		}
		if m := heading.FindStringSubmatch(line); m != nil {
			fields = map[string]member{}
			docs[strings.ReplaceAll(strings.ToLower(m[1]), " ", "-")] = fields
		}
		if m := link.FindStringSubmatch(line); m != nil && strings.HasSuffix(line, "and:") {
			into, from, optional := fields, m[1], strings.Contains(line, "unless")
			includes = append(includes, func() {
				for name, f := range docs.object(t, from) {
					if _, own := into[name]; !own {
						into[name] = member{f.kind, f.optional || optional}
					}
				}
			})
		}
		if m := row.FindStringSubmatch(line); m != nil && fields != nil {
			kind, optional := strings.CutSuffix(m[2], ", optional")
			fields[m[1]] = member{link.ReplaceAllString(kind, "#$1"), optional}
		}
	}
	for _, include := range includes {
		include()
	}
	return docs
}

func (docs contract) object(t *testing.T, name string) map[string]member {
	fields, ok := docs[name]
	if !ok {
		t.Fatalf("docs/json.md has no object %q", name)
	}
	return fields
}

// TestJSONAnswers validates answers of every command against the schema of the object
// that docs/json.md names.
func TestJSONAnswers(t *testing.T) {
	c := newConsole(t)
	// answer runs a command and validates each object that it prints.
	answer := func(object, line string) {
		t.Helper()
		args, before := strings.Fields(line), c.said.Len()
		out, _ := c.run("", append(args, "--json")...)
		n, err := allAnswers().objects(objectName(object), out)
		if err != nil {
			t.Errorf("handoff %s: %v", line, err)
		}
		if stream := args[0] == "watch"; n == 0 || n > 1 && !stream {
			t.Errorf("handoff %s: %d objects, want one\n%s", line, n, string(c.said.Bytes()[before:]))
		}
	}
	id := func(args ...string) string { return strings.TrimSpace(c.ok(args...)) }
	answerArtifacts(c, answer, id)
	answerSessions(c, answer)
	answerPipelines(c, answer)
	answerThreads(c, answer)
}

// withoutJSON are commands that print no answer, or one for people only.
var withoutJSON = []string{"demo", "mcp", "serve", "hook", "export pr",
	"export git-ai", "export otlp"}

// TestEveryAnswerHasJSON checks that every command that answers a question has
// --json, and that docs/json.md names it.
func TestEveryAnswerHasJSON(t *testing.T) {
	text, err := os.ReadFile("../../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	eachCommand(func(path []string, command *cobra.Command) {
		name := strings.Join(path, " ")
		if command.HasSubCommands() {
			return
		}
		has := command.Flags().Lookup("json") != nil || command.InheritedFlags().Lookup("json") != nil
		if want := !slices.Contains(withoutJSON, name); has != want {
			t.Errorf("handoff %s has --json: %t, want %t", name, has, want)
		}
		documented := regexp.MustCompile("(?m)^\\| .*`(" + name + "|" + path[len(path)-1] + ")[` ]")
		if has && !documented.Match(text) {
			t.Errorf("docs/json.md does not name the answer of handoff %s", name)
		}
	})
}

func answerArtifacts(c *console, answer func(object, line string), id func(...string) string) {
	c.env["CODEX_THREAD_ID"], c.env["CLAUDE_CODE_SESSION_ID"] = "0199-c", "a-1"
	c.write("design.md", "# Retry policy\n\nTwice.\n")
	c.write("binary", "\x00\xff")
	first := id("publish", "design.md", "--channel", "design", "--title", "Retry", "--summary", "token=0123456789ab",
		"--allow-secret", "--tag", "retry")
	answer("published-artifact", "publish design.md --channel design --replaces "+first+" --from "+first+
		" --key k --meta a=b --kind report --agent ada"+
		" --run r --operation o --task t --work w --parent-work pw --parent-session ps --tool-call tc --model openai/gpt-5 "+
		"--producer turn=7 --summary token=0123456789ab --allow-secret")
	answer("published-artifact", "publish design.md --channel design --key k")
	answer("published-artifact", "write notes.md design.md --run r1 --channel analysis")
	answer("shown-artifact", "show "+first)
	answer("shown-artifact", "show r1/notes.md")
	second := id("publish", "binary", "--channel", "patch", "--replaces", first)
	answer("shown-artifact", "show "+second)
	third := id("publish", "design.md", "--channel", "plan", "--from", first, "--agent", "ada")
	fourth := id("publish", "binary", "--channel", "plan", "--agent", "ada")
	answer("published-artifact", "label "+fourth+" chosen --agent ada --session ps")
	answer("published-artifact", "label "+third+" chosen --agent ada --session ps")
	answer("shown-artifact", "show "+fourth)
	answer("shown-artifact", "show plan:chosen")
	answer("artifact-page", "list --stale")
	answer("artifact-history", "show "+first+" --history")
	answer("graph", "show "+first+" --lineage")
	answer("artifact-page", "list --limit 1")
	answer("artifact-page", "list --all")
	answer("channel-list", "list --channels")
	answer("artifact", "watch --after 0 --first")
	answer("fact", "watch --facts --after 0 --timeout 1s")
	answer("artifact", "wait")
	answer("body-page", "read "+first+" --limit 1")
	answer("body-page", "read "+second)
	answer("search-result", "search retry")
	answer("work-change", "work start w1 --harness codex --agent ada --model openai/gpt-5 --kind task --name review --parent "+
		"pw --thread agents://codex/0199-c --run r --session ps")
	answer("work-change", "work end w1 --harness codex --status failed --input 1 --output 2 --cache-read 3 --total 6")
	c.ok("work", "start", "w2", "--harness", "codex", "--parent", "w1")
	answer("work-tree", "work list")
	answer("cost-report", "cost --by agent")
	answer("cost-report", "cost --by channel")
	if err := exec.Command("git", "init", "-q", c.dir).Run(); err != nil {
		c.t.Fatal(err)
	}
	// its last argument is for the command
	answer("published-artifact", "attest --agent ada --json -- true --password=hunter2hunter2")
	c.ok("attest", "--agent", "ada", "--", "true")
	answer("published-artifact", "publish design.md --channel claims --claim fine --evidence command:true")
	answer("published-artifact", "publish design.md --channel claimed --claim fine --evidence command:true --evidence "+
		"command:password=hunter2hunter2")
	answer("shown-artifact", "show claims:latest")
	answer("shown-artifact", "show verification:latest")
	answer("verification", "verify claims:latest")
	answer("verification-list", "verify claims:latest claims:latest")
	answer("shown-artifact", "show claims:latest")
	answer("published-artifact", "withdraw "+second+" --reason wrong")
	c.write("secret.md", "password=hunter2hunter2")
	secret := id("publish", "secret.md", "--channel", "plan", "--title", "password=hunter2hunter2", "--allow-secret")
	answer("redacted-artifact", "withdraw "+secret+" --redact")
	answer("shown-artifact", "show "+first)
	answer("shown-artifact", "show "+second)
	answer("unneeded-bodies", "gc")
	answer("log-status", "log status")
	answer("log-copy", "log copy file: file:")
	answer("log-send", "log send")
	answer("dropped-records", "log drop")
	c.write(".handoff/bodies/sha256/00/stray", "x")
	answer("check-report", "check")
	answer("error-answer", "show nowhere")
	c.write("broken.json", "{}")
	answer("error-answer", "pipeline put 42 plan broken.json")
	answer("error-answer", "wait --channel none --timeout 1ms")
}

func answerSessions(c *console, answer func(object, line string)) {
	const one, two, three = "11111111-2222-4333-8444-555555555555", "21111111-2222-4333-8444-555555555555",
		"31111111-2222-4333-8444-555555555555"
	answer("opened-session", "session open --id "+one+
		" --agent alex --title Alex --bundle b --workflow w --description d --user u --input a=b")
	c.ok("session", "open", "--id", two, "--agent", "alex", "--workflow", "w")
	c.write("docs/agent-outputs/"+one+"/out.md", "text")
	answer("published-artifact", "session add out.md --type document --session "+one+" --agent ada")
	answer("session-change", "session set --session "+one+" --user-summary s --message-count 3 --meta k=v")
	answer("session-change", "session set --tag x --session "+one)
	c.ok("session", "set", "--session", one, "--name", "My session")
	answer("session-change", "session set --link "+two+" --session "+one)
	c.ok("session", "set", "--session", two, "--link", one)
	answer("graph", "session graph "+one)
	answer("shown-session", "show "+one+" --files")
	c.ok("session", "close", "--session", one, "--status", "completed", "--reason", "r")
	answer("session-change", "session close --session "+one+" --status failed --reason r")
	c.ok("run", "--agent", "alex", "--", "true")
	answer("receipt", "run --json --expect x --agent alex -- false")
	c.env["HANDOFF_SESSION"] = two
	c.write("publish.sh", "handoff publish "+c.dir+
		"/design.md --channel design --title Again >/dev/null 2>&1; handoff show design:latest >/dev/null")
	answer("receipt", "run --json --agent alex -- sh "+c.dir+"/publish.sh")
	answer("shown-session", "show "+two)
	delete(c.env, "HANDOFF_SESSION")
	answer("shown-session", "show "+two)
	answer("shown-artifact", "show design:latest")
	c.ok("session", "open", "--agent", "alex", "--workflow", "w", "--title", "T", "--id", three)
	answer("shown-session", "show "+three)
	answer("session-page", "session find --runs")
	answer("search-result", "search alex --in sessions")
	answer("published-artifact", "session add out.md --type document --key late --session "+one)
	answer("artifact-page", "list --session "+one)
	answer("shown-session", "show "+one)
	answer("session-page", "session find --limit 1")
	answer("candidate-list", "compare "+one+" "+two)
	answer("candidate-list", "compare design:latest")
	answer("candidate-list", "compare")
	c.write(".handoff/config.yaml", "archive_after: 1m\nkeep_threads: false\n")
	now := c.now
	c.now = now.Add(time.Hour)
	answer("unneeded-bodies", "gc")
	answer("session-changes", "session archive --older-than 1m")
	c.now = now
	answer("session-page", "session find --archived")
	answer("session-changes", "session archive --undo "+one)
	answer("session-changes", "session archive "+one)
	answer("session-transfer", "export tar "+one+" -o one.tar")
	c.write("docs/agent-outputs/"+three+"/note.md", "of the user")
	answer("session-changes", "session delete --force "+three)
	answer("session-page", "session find --deleted")
	answer("unneeded-bodies", "gc")
	answer("session-changes", "session delete --undo "+three)
	c.ok("session", "delete", three, "--force")
	answer("unneeded-bodies", "gc --keep-within 1ns --collect")
	answer("session-page", "session find")
	answer("artifact", "session latest-output alex . document")
	c.write("docs/agent-outputs/41111111-2222-4333-8444-555555555555/manifest.json", "{}")
	answer("session-adoption-list", "session find --unrecorded")
	answer("session-adoption-list", "import docs")
	answer("explanation", "config explain session_folder --session "+one)
	answer("setting-list", "config explain")
}

func answerPipelines(c *console, answer func(object, line string)) {
	const plan = `{"affected_files":["a.go"],"steps":[{"order":1,"file":"a.go"}],"acceptance_mapping":{"AC1":"a_test.go"}}`
	answer("started-run", "pipeline init 42 --complexity standard")
	answer("run-list", "pipeline list")
	c.write("plan.json", plan)
	answer("validation-list", "pipeline validate plan.json")
	answer("step", "pipeline next 42")
	answer("step", "pipeline start 42 plan --as jg-subplanner")
	answer("step", "pipeline next 42")
	answer("published-artifact", "pipeline put 42 plan plan.json --as jg-subplanner")
	answer("pipeline-path", "pipeline get 42 plan")
	answer("verdict", "pipeline gate 42 plan")
	c.write(".pipeline/42/worker-result.json",
		`{"status":"completed","files_changed":["b.go"],"blockers":[],"summary":"","extra":1}`)
	c.write(".pipeline/42/test-result.json", `{"verdict":"PASS","phase_1":{"unit":{"status":"FAIL"}}}`)
	c.write(".pipeline/42/state.yaml", "issue: 42\nstatus: completed\ncomplexity: standard\n")
	answer("validation-list", "pipeline validate .pipeline/42/worker-result.json .pipeline/42/test-result.json")
	answer("verdict", "pipeline gate 42 test")
	c.write(".pipeline/42/test-result.json", `{"verdict":"FAIL","phase_1":{"unit":{"status":"FAIL"}}}`)
	answer("verdict", "pipeline gate 42 test")
	answer("run-state", "show 42 --state")
	c.write(".pipeline/44/worker-result.json",
		`{"status":"completed","files_changed":["a.go"],"blockers":[],"summary":""}`)
	c.write(".pipeline/44/pipeline-trace.json",
		`{"stages":[{"stage":"implement"},{"stage":"test","result":"FAIL"},{"stage":"debug"},{"stage":"implement"}]}`)
	answer("run-state", "show 44 --state")
	answer("adoption", "pipeline adopt 44")
	c.write(".pipeline/42/plan.json", strings.Replace(plan, "AC1", "AC2", 1))
	answer("verdict", "pipeline gate 42 plan")
	answer("pipeline-overview", "show 42")
	c.ok("pipeline", "put", "42", "plan", "plan.json", "--as", "jg-subplanner")
	answer("pipeline-overview", "show 42")
	answer("step", "pipeline next 42")
	first := c.ok("read", "42/plan.json", "--rev", "2")
	c.write(".pipeline/42/plan.json", first)
	answer("step", "pipeline next 42")
	answer("pipeline-path", "pipeline get 42 plan --restore")
	c.write(".pipeline/lessons.yaml", "- {pattern: port is taken, issue: 1}\n")
	answer("validation-list", "pipeline validate .pipeline/lessons.yaml")
	answer("move", "pipeline archive 42 --force")
	answer("move", "pipeline unarchive 42")
}

// threadHomes writes the transcripts of the scripts about threads.
func threadHomes(c *console) {
	c.env["HOME"] = filepath.Join(c.dir, "home")
	for _, name := range []string{"thread_claude", "thread_codex"} {
		archive, err := txtar.ParseFile(filepath.Join("testdata", "script", name+".txtar"))
		if err != nil {
			c.t.Fatal(err)
		}
		for _, f := range archive.Files {
			c.write(f.Name, string(f.Data))
		}
	}
}

func answerThreads(c *console, answer func(object, line string)) {
	threadHomes(c)
	const session = "thread claude/2823d1df-720a-4c31-ac55-ae8ba7260001"
	answer("thread-page", session+" --tools --usage")
	answer("thread-page", session+" -I")
	answer("thread-page", session+" -I --status shutdown")
	answer("subagent-page", session+"/a4f21c7")
	answer("thread-page", "thread codex/019c871c-b1f9-7f60-9c4f-87ed09f13592 --tools --usage")
	answer("thread-list", "threads --everywhere --agents")
	self, err := os.Executable()
	if err != nil {
		c.t.Fatal(err)
	}
	c.env["HANDOFF_CLAUDE_BIN"] = self
	answer("thread-reply", session+" --data hello --dry-run")
	answer("thread-list", "threads --everywhere --limit 1")
	answer("kept-thread-list", "thread keep codex/019c871c-b1f9-7f60-9c4f-87ed09f13592 --redact")
	answer("kept-thread-list", "thread keep codex/019c871c-b1f9-7f60-9c4f-87ed09f13592 --redact --dry-run")
	answer("search-result", "search cart --everywhere")
	c.write("by-subagent.md", "x")
	c.ok("publish", "by-subagent.md", "--channel", "plan", "--thread", "agents://claude/2823d1df-720a-4c31-ac55-ae8ba7260001/a4f21c7")
	answer("shown-artifact", "show by-subagent.md")

	const working = "51111111-2222-4333-8444-555555555555"
	c.write("part/of.md", "x")
	top := c.dir
	c.dir = filepath.Join(top, "part") // the expected output is relative to it
	c.ok("session", "open", "--id", working, "--agent", "alex", "--workflow", "w", "--expect", "plan.md")
	c.dir = top
	c.env["HANDOFF_SESSION"] = working
	for _, event := range []string{"SessionStart", "SessionEnd"} {
		c.run(fmt.Sprintf(`{"hook_event_name":%q,"session_id":"2823d1df-720a-4c31-ac55-ae8ba7260001","cwd":%q}`, event,
			c.dir), "hook", "claude")
	}
	delete(c.env, "HANDOFF_SESSION")
	answer("shown-session", "show "+working)
	c.write("home/.codex/sessions/2026/09/20/rollout-2026-09-20T09-00-00-019c871c-b1f9-7f60-9c4f-87ed09f13599.jsonl",
		`{"timestamp":"2026-09-20T09:00:00Z","type":"session_meta","payload":{"id":"019c871c-b1f9-7f60-9c4f-87ed09f13599","cwd":"`+c.dir+`","cli_version":"0.150.0","git":{"branch":"main"}}}`+"\n"+
			`{"timestamp":"2026-09-20T09:00:01Z","type":"event_msg","payload":{"type":"task_started","turn_id":"t"}}`+"\n"+
			`{"timestamp":"2026-09-20T09:00:02Z","type":"event_msg","payload":{"type":"user_message","message":"go"}}`+"\n")
	answer("thread-page", "thread codex/019c871c-b1f9-7f60-9c4f-87ed09f13599")
	now := time.Now().UTC().Format(time.RFC3339)
	c.write("home/.codex/sessions/2026/09/20/rollout-2026-09-20T09-00-00-019c871c-b1f9-7f60-9c4f-87ed09f13598.jsonl",
		`{"timestamp":"`+now+`","type":"session_meta","payload":{"id":"019c871c-b1f9-7f60-9c4f-87ed09f13598","cwd":"`+c.dir+`","cli_version":"0.150.0","git":{"branch":"main"}}}`+"\n"+
			`{"timestamp":"`+now+`","type":"event_msg","payload":{"type":"task_started","turn_id":"t"}}`+"\n"+
			`{"timestamp":"`+now+`","type":"event_msg","payload":{"type":"user_message","message":"go"}}`+"\n")
	answer("status", "status")
	answer("news", "news")
	for i, id := range []string{"01", "02"} {
		c.write("home/.claude/projects/work/2823d1df-720a-4c31-ac55-ae8ba72600"+id+".jsonl",
			strings.NewReplacer("ID", id, "DIR", c.dir, "MINUTE", strconv.Itoa(12+i)).Replace(
				`{"type":"user","uuid":"u1","sessionId":"2823d1df-720a-4c31-ac55-ae8ba72600ID","timestamp":"2026-09-20T09:10:00Z","cwd":"DIR","message":{"role":"user","content":"go"}}
{"type":"assistant","uuid":"a1","sessionId":"2823d1df-720a-4c31-ac55-ae8ba72600ID","timestamp":"2026-09-20T09:MINUTE:00Z","cwd":"DIR","message":{"id":"m1","role":"assistant","model":"m","content":[{"type":"tool_use","id":"t1","name":"Write","input":{"file_path":"DIR/shared.go","content":"x"}}]}}
{"type":"user","uuid":"u2","sessionId":"2823d1df-720a-4c31-ac55-ae8ba72600ID","timestamp":"2026-09-20T09:20:00Z","cwd":"DIR","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"}]}}
{"type":"system","sessionId":"2823d1df-720a-4c31-ac55-ae8ba72600ID","timestamp":"`+now+`","cwd":"DIR"}
`))
	}
	answer("collision-list", "status --collisions --since 2026-01-01")
	answer("status", "status")
	c.write("shared.go", "x")
	answer("provenance", "why shared.go")
}
