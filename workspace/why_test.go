package workspace_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/pipeline"
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/trace"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/pipelines"
	"github.com/agent-handoff/handoff/workspace/work"
)

type object = map[string]any

// A machine has a repository in which agents work, with their transcripts in the
// formats of Claude Code and Codex, and a clock.
type machine struct {
	t          *testing.T
	home, repo string
	at         time.Time
	records    map[string][]string // by the path of the transcript in home
	calls      int
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	m := &machine{t: t, home: filepath.Join(dir, "home"), repo: filepath.Join(dir, "repo"),
		at: time.Date(2026, 9, 20, 9, 0, 0, 0, time.UTC), records: map[string][]string{}}
	must(t, os.MkdirAll(m.repo, 0o755))
	must(t, os.MkdirAll(m.home, 0o755))
	m.sh(m.repo, "git init -q -b main; git config user.name n; git config user.email n@example.com")
	return m
}

// sh runs shell commands in a directory at the time of the clock.
func (m *machine) sh(dir, commands string) string {
	m.t.Helper()
	c := exec.CommandContext(m.t.Context(), "sh", "-ec", commands)
	c.Dir = dir
	at := m.at.Format(time.RFC3339)
	c.Env = append(os.Environ(), "HOME="+m.home, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_DATE="+at,
		"GIT_COMMITTER_DATE="+at)
	out, err := c.CombinedOutput()
	if err != nil {
		m.t.Fatalf("%s: %v\n%s", commands, err, out)
	}
	return string(out)
}

func (m *machine) head(dir string) string { return strings.TrimSpace(m.sh(dir, "git rev-parse HEAD")) }

func (m *machine) record(path string, v object) {
	b, err := json.Marshal(v)
	must(m.t, err)
	m.records[path] = append(m.records[path], string(b))
}

// save writes the transcripts.
func (m *machine) save() {
	for path, lines := range m.records {
		writeFile(m.t, filepath.Join(m.home, path), strings.Join(lines, "\n")+"\n")
	}
}

func (m *machine) tick() string {
	m.at = m.at.Add(time.Second)
	return m.at.Format(time.RFC3339)
}

// An agent is a thread or subagent.
type agent struct {
	*machine
	session, child string // child is "" for the main agent
	cwd            string
	codex          bool
	uri            string
}

const claudeProject = ".claude/projects/work/"

// claude returns a session, or with a child a subagent of it.
func (m *machine) claude(session, child, cwd string) *agent {
	a := &agent{m, session, child, cwd, false, "agents://claude/" + session}
	if child != "" {
		a.uri += "/" + child
		writeFile(m.t, filepath.Join(m.home, claudeProject, session, "subagents", "agent-"+child+".meta.json"),
			`{"agentType":"builder"}`)
	}
	a.line("user", object{"role": "user", "content": "work on it"})
	return a
}

// codexThread returns a thread, or with a parent a child thread of it.
func (m *machine) codexThread(id, parent, cwd string) *agent {
	a := &agent{m, id, "", cwd, true, "agents://codex/" + id}
	meta := object{"id": id, "cwd": cwd, "cli_version": "0.130.0", "source": "cli", "model_provider": "openai"}
	if parent != "" {
		a.uri = "agents://codex/" + parent + "/" + id
		meta["source"] = object{"subagent": object{
			"thread_spawn": object{"parent_thread_id": parent, "agent_role": "worker", "depth": 1}}}
	}
	a.item("session_meta", meta)
	a.item("response_item", object{"type": "message", "role": "user",
		"content": []object{{"type": "input_text", "text": "work on it"}}})
	return a
}

func (a *agent) item(kind string, payload object) {
	a.record(".codex/sessions/2026/09/20/rollout-2026-09-20T09-00-00-"+a.session+".jsonl",
		object{"timestamp": a.tick(), "type": kind, "payload": payload})
}

func (a *agent) line(kind string, message object) {
	path := claudeProject + a.session + ".jsonl"
	r := object{"type": kind, "uuid": fmt.Sprint(a.session, a.child, len(a.records[path]), a.at.Unix()),
		"sessionId": a.session, "timestamp": a.tick(), "cwd": a.cwd, "version": "2.1.100", "message": message}
	if a.child != "" {
		path = claudeProject + a.session + "/subagents/agent-" + a.child + ".jsonl"
		r["agentId"], r["isSidechain"] = a.child, true
	}
	a.record(path, r)
}

// call records a call of a tool of Claude with its output.
func (a *agent) call(name string, input object, output string, failed bool) {
	a.machine.calls++
	id := fmt.Sprint("toolu_", a.machine.calls)
	a.line("assistant", object{"id": "msg_" + id, "role": "assistant", "model": "claude-opus-4-8",
		"content": []object{{"type": "tool_use", "id": id, "name": name, "input": input}},
		"usage":   object{"input_tokens": 100, "output_tokens": 10}})
	a.line("user", object{"role": "user", "content": []object{
		{"type": "tool_result", "tool_use_id": id, "content": output, "is_error": failed}}})
}

// write writes a file with the agent's tool: complete with Claude, with a patch of
// lines with Codex.
func (a *agent) write(name, text string) {
	a.t.Helper()
	path := filepath.Join(a.cwd, name)
	old, err := os.ReadFile(path)
	switch {
	case !a.codex && err == nil && strings.HasPrefix(text, string(old)) && len(old) > 0:
		line := lastLine(string(old))
		a.call("Edit", object{"file_path": path, "old_string": line,
			"new_string": line + strings.TrimPrefix(text, string(old))}, "ok", false)
	case !a.codex:
		a.call("Write", object{"file_path": path, "content": text}, "ok", false)
	case err != nil:
		a.patch("*** Add File: " + name + "\n" + prefixed("+", text))
	default:
		a.patch("*** Update File: " + name + "\n@@\n" + prefixed("-", string(old)) + prefixed("+", text))
	}
	writeFile(a.t, path, text)
}

func lastLine(text string) string {
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	return lines[len(lines)-1] + "\n"
}

func prefixed(prefix, text string) (out string) {
	for line := range strings.Lines(text) {
		out += prefix + line
	}
	return out
}

func (a *agent) patch(body string) {
	a.machine.calls++
	id := fmt.Sprint("call_", a.machine.calls)
	a.item("response_item", object{"type": "custom_tool_call", "status": "completed", "call_id": id, "name": "apply_patch",
		"input": "*** Begin Patch\n" + body + "*** End Patch\n"})
	a.item("response_item", object{"type": "custom_tool_call_output", "call_id": id,
		"output": `{"output":"Success","metadata":{"exit_code":0}}`})
}

// run runs a command as the agent does, and records it with its output.
func (a *agent) run(command string) {
	a.t.Helper()
	a.tick()
	started := a.at
	output := a.sh(a.cwd, command)
	a.at = started
	a.command(command, output)
}

// command records a command with its output.
func (a *agent) command(command, output string) {
	if !a.codex {
		a.call("Bash", object{"command": command}, output, false)
		return
	}
	a.machine.calls++
	id := fmt.Sprint("call_", a.machine.calls)
	arguments, err := json.Marshal(object{"command": []string{"bash", "-lc", command}})
	must(a.t, err)
	result, err := json.Marshal(object{"output": output, "metadata": object{"exit_code": 0}})
	must(a.t, err)
	a.item("response_item", object{"type": "function_call", "name": "shell", "call_id": id,
		"arguments": string(arguments)})
	a.item("response_item", object{"type": "function_call_output", "call_id": id, "output": string(result)})
}

func (m *machine) getenv(name string) string {
	return map[string]string{"HOME": m.home, "XDG_CACHE_HOME": filepath.Join(m.home, "cache")}[name]
}

// open opens the workspace of a directory, with the clock of the machine.
func (m *machine) open(dir string) *workspace.Workspace {
	m.t.Helper()
	w, err := workspace.Open(dir, workspace.Options{Getenv: m.getenv, Now: func() time.Time { return m.at }})
	must(m.t, err)
	return w
}

// publish publishes a file as an agent does, by a command whose output is the ID.
func (a *agent) publish(p handoff.Producer, pub handoff.Draft) string {
	a.t.Helper()
	a.tick()
	started := a.at
	a.at = a.at.Add(50 * time.Millisecond)
	w := a.open(a.cwd)
	defer w.Close()
	done, err := w.As(workspace.Caller{Dir: a.cwd, Producer: p}).Publish(a.t.Context(), pub)
	must(a.t, err)
	a.at = started
	a.command("handoff publish "+pub.Path, done.Artifact.ID+"\n")
	return done.Artifact.ID
}

// why traces a name and returns the threads by what they did: wrote-exact,
// wrote-inferred, committed or published.
func (m *machine) why(dir, name string) (trace.Origin, map[string][]string) {
	m.t.Helper()
	w := m.open(dir)
	defer w.Close()
	trace, err := w.Why(m.t.Context(), thread.NewSet(all.Drivers(), m.getenv, m.home), name)
	if err != nil {
		m.t.Fatalf("why %s: %v", name, err)
	}
	if len(trace.Warnings) > 0 {
		m.t.Errorf("why %s: got warnings %q", name, trace.Warnings)
	}
	return trace, roles(trace)
}

func roles(found trace.Origin) map[string][]string {
	by := map[string][]string{}
	for _, h := range found.Hops {
		role := string(h.Kind)
		if h.Kind == trace.HopWrote {
			role += "-" + string(h.Certainty)
		}
		if uri, _, ok := strings.Cut(h.Ref, "#"); ok && !slices.Contains(by[role], uri) {
			by[role] = append(by[role], uri)
		}
	}
	for _, list := range by {
		slices.Sort(list)
	}
	return by
}

// chain returns the hops of a trace as lines of kind, ref and certainty, with the
// names of the test in place of IDs.
func chain(trace trace.Origin, names ...string) string {
	name := strings.NewReplacer(names...)
	var b strings.Builder
	for _, h := range trace.Hops {
		ref, _, _ := strings.Cut(h.Ref, "#M")
		fmt.Fprintf(&b, "%s %s %s\n", h.Kind, name.Replace(ref), h.Certainty)
	}
	return b.String()
}

// checkEvidence checks that every hop but a file has evidence, and that each message
// can be opened.
func (m *machine) checkEvidence(found trace.Origin) {
	m.t.Helper()
	set := thread.NewSet(all.Drivers(), m.getenv, m.home)
	for _, h := range found.Hops {
		if len(h.Evidence) == 0 && h.Kind != trace.HopFile {
			m.t.Errorf("%s %s has no evidence", h.Kind, h.Ref)
		}
		for _, e := range h.Evidence {
			if e.Kind != "message" {
				continue
			}
			uri, err := thread.ParseURI(e.Ref)
			must(m.t, err)
			if _, err := set.Open(m.t.Context(), uri); err != nil || uri.From == 0 {
				m.t.Errorf("%s %s: %s can't be opened: %v", h.Kind, h.Ref, e.Ref, err)
			}
		}
	}
}

// TestWhyChains traces a file of a Claude subagent in a session, one of a Codex child,
// and one of a pipeline stage whose folder was archived since.
func TestWhyChains(t *testing.T) {
	m := newMachine(t)
	m.sh(m.repo, "mkdir src; printf 'package cart\\n' > src/cart.go; printf 'design\\n' > design.md; git add .; git "+
		"commit -qm base")
	const s1, s2, c1, c2 = "2823d1df-720a-4c31-ac55-ae8ba7260001", "2823d1df-720a-4c31-ac55-ae8ba7260002",
		"019c871c-b1f9-7f60-9c4f-000000000001", "019c871c-b1f9-7f60-9c4f-000000000002"
	main, sub := m.claude(s1, "", m.repo), m.claude(s1, "a1b2c3", m.repo)
	child := m.codexThread(c2, c1, m.repo)
	m.codexThread(c1, "", m.repo)
	w := m.open(m.repo)
	session, err := w.Sessions().Open(t.Context(),
		session.OpenOptions{Agent: handoff.SessionAgent{Name: "alex"}, Workflow: handoff.SessionWorkflow{Name: "fix"}})
	must(t, err)
	_, err = w.As(workspace.Caller{Dir: m.repo, Producer: handoff.Producer{Harness: "claude-code", Session: session.ID}}).
		Work(nil).Start(t.Context(), work.Unit{ID: "prompt-1", Kind: "prompt"})
	must(t, err)
	must(t, w.Close())

	sub.call("Read", object{"file_path": filepath.Join(m.repo, "design.md")}, "design", false)
	sub.write("src/cart.go", "package cart\n\nfunc New() {}\n")
	patch := sub.publish(handoff.Producer{Harness: "claude-code", WorkID: "prompt-1", Session: session.ID,
		Thread: "agents://claude/" + s1, Agent: "builder"}, handoff.Draft{Path: "src/cart.go", Channel: "patch"})
	main.run("git commit -qam 'add New' && git log -1 --format='[main %h] %s'")
	commit := m.head(m.repo)
	reader := m.claude(s2, "", m.repo)
	reader.call("Read", object{"file_path": filepath.Join(m.repo, "src/cart.go")}, "package cart", false)

	used := object{"input_tokens": 1000, "output_tokens": 10, "total_tokens": 1010}
	child.item("turn_context", object{"model": "gpt-5"})
	child.write("notes.md", "# Notes\n\nthe cart\n")
	child.item("event_msg", object{"type": "token_count",
		"info": object{"total_token_usage": used, "last_token_usage": used}})
	notes := child.publish(handoff.Producer{Harness: "codex", Thread: child.uri, Agent: "worker"},
		handoff.Draft{Path: "notes.md", Channel: "handoff", Parents: []string{patch}})

	const plan = "{\n  \"affected_files\": []\n}\n"
	main.write("plan.json", plan)
	w = m.open(m.repo)
	runs := w.As(workspace.Caller{Dir: m.repo,
		Producer: handoff.Producer{Harness: "claude-code", Agent: "jg-subplanner", Thread: main.uri}}).Pipelines()
	put, err := runs.Put(t.Context(), pipelines.Submission{Issue: "42", Stage: "plan", Path: "plan.json", Lenient: true})
	must(t, err)
	main.command("handoff pipeline put 42 plan plan.json", "published "+put.Artifact.ID)
	m.at = m.at.Add(time.Minute)
	_, err = runs.Archive(t.Context(), "42", pipeline.ArchiveOptions{Force: true})
	must(t, err)
	must(t, w.Close())
	m.save()
	names := []string{patch, "PATCH", notes, "NOTES", put.Artifact.ID, "PLAN", commit, "COMMIT", session.ID, "SESSION",
		m.repo + "/", "",
		sub.uri, "SUB", main.uri, "MAIN", child.uri, "CHILD", "agents://codex/" + c1, "PARENT", reader.uri, "READER"}
	for _, tt := range []struct{ name, want string }{
		{"src/cart.go", `
file src/cart.go recorded
artifact PATCH exact
session SESSION recorded
work prompt-1 recorded
published SUB recorded
parent MAIN recorded
cost PATCH recorded
wrote SUB exact
commit COMMIT exact
committed MAIN recorded
cost MAIN recorded
input design.md inferred
use NOTES recorded
use READER inferred
`},
		{"notes.md", `
file notes.md recorded
artifact NOTES exact
published CHILD recorded
parent PARENT recorded
cost NOTES recorded
wrote CHILD exact
input PATCH recorded
`},
		{".pipeline/42/plan.json", `
file .pipeline/42/plan.json recorded
artifact PLAN exact
moved .pipeline/42/plan.json recorded
published MAIN recorded
cost PLAN recorded
wrote MAIN exact
`},
	} {
		found, _ := m.why(m.repo, tt.name)
		if got := chain(found, names...); got != tt.want[1:] {
			t.Errorf("why %s: got\n%s\nwant\n%s", tt.name, got, tt.want)
		}
		m.checkEvidence(found)
		for _, h := range found.Hops {
			made := trace.Evidence{Kind: "command", Ref: "git commit -qam 'add New' && git log -1 --format='[main %h] %s'"}
			if h.Kind == trace.HopCommitted && !slices.Contains(h.Evidence, made) {
				t.Errorf("why %s: got evidence %v of the commit, want its command", tt.name, h.Evidence)
			}
		}
	}
	w = m.open(m.repo)
	defer w.Close()
	shown, err := w.Show(t.Context(), patch, false)
	must(t, err)
	must(t, w.AddTranscripts(t.Context(), thread.NewSet(all.Drivers(), m.getenv, m.home), &shown))
	if uses := shown.Artifact.UsedBy; len(uses) != 1 || !uses[0].Inferred ||
		!strings.HasPrefix(uses[0].Thread, reader.uri+"#M") {
		t.Errorf("got uses %+v, want the thread that read the path", uses)
	}
	if trace, _ := m.why(m.repo, ".pipeline/completed/42/plan.json"); !strings.Contains(chain(trace, names...),
		"artifact PLAN exact\nmoved .pipeline/42/plan.json recorded\n") {
		t.Errorf("got\n%s\nwant the artifact and its former path", chain(trace, names...))
	}
}

// TestWhyCommits attributes the commits of a repository with worktrees, squashes,
// subagents and people.
func TestWhyCommits(t *testing.T) {
	m := newMachine(t)
	m.sh(m.repo, "printf 'one\\n' > people.txt; git add .; git commit -qm base")
	m.sh(m.repo, "git worktree add -q -b kept ../kept; git worktree add -q -b gone ../gone")
	kept, gone := filepath.Join(filepath.Dir(m.repo), "kept"), filepath.Join(filepath.Dir(m.repo), "gone")
	const s1, c1, c2 = "2823d1df-720a-4c31-ac55-ae8ba7260001", "019c871c-b1f9-7f60-9c4f-000000000001",
		"019c871c-b1f9-7f60-9c4f-000000000002"
	g := &commits{machine: m, r: rand.New(rand.NewPCG(1, 1)), want: map[string]map[string][]string{}}
	g.main, g.sub = m.claude(s1, "", m.repo), m.claude(s1, "a1b2c3", m.repo)
	g.codex, g.child = m.codexThread(c1, "", kept), m.codexThread(c2, c1, gone)
	most := 20
	if os.Getenv("HANDOFF_LONG") != "" {
		most = 50
	}
	steps := []func(n int){
		g.agentCommits, g.subagentIsCommitted, g.codexInWorktree, g.childInWorktree, g.person, g.personAfterAgent,
		g.formatted, g.squash, g.failedCall, g.overwritten, g.rebased,
	}
	for n := 0; len(g.want) < most; n++ {
		m.at = m.at.Add(time.Minute)
		steps[n%len(steps)](n)
	}
	m.at = m.at.Add(time.Minute)
	m.sh(m.repo, "git worktree remove --force ../gone")
	m.save()
	for _, commit := range slices.Sorted(maps.Keys(g.want)) {
		_, got := m.why(m.repo, commit)
		delete(got, "parent")
		if fmt.Sprint(got) != fmt.Sprint(g.want[commit]) {
			t.Errorf("%s: got %v, want %v", m.sh(m.repo, "git log -1 --format='%h %s' "+commit), got, g.want[commit])
		}
	}
}

// commits makes commits of every kind.
type commits struct {
	*machine
	r                       *rand.Rand
	main, sub, codex, child *agent
	want                    map[string]map[string][]string // by commit: threads by what they did
	last                    string                         // file that an agent wrote before
}

func (g *commits) expect(dir string, roles map[string][]string) {
	g.want[g.head(dir)] = roles
}

func (g *commits) text() (text string) {
	for range 3 + g.r.IntN(5) {
		text += fmt.Sprintf("line %d\n", g.r.Uint32())
	}
	return text
}

func (g *commits) commit(dir, message string) {
	g.tick()
	g.sh(dir, "git add -A; git commit -qm '"+message+"'")
}

func (g *commits) agentCommits(n int) {
	g.last = fmt.Sprintf("agent%d.txt", n%22)
	g.main.write(g.last, g.text())
	g.main.run(fmt.Sprintf("git add -A && git commit -m 'agent %d'", n))
	g.expect(g.repo, map[string][]string{"wrote-exact": {g.main.uri}, "committed": {g.main.uri}})
}

func (g *commits) subagentIsCommitted(n int) {
	old, err := os.ReadFile(filepath.Join(g.repo, g.last))
	must(g.t, err)
	g.sub.write(g.last, string(old)+g.text()) // an edit
	g.main.run(fmt.Sprintf("git commit -am 'subagent %d'", n))
	g.expect(g.repo, map[string][]string{"wrote-exact": {g.sub.uri}, "committed": {g.main.uri}})
}

func (g *commits) codexInWorktree(n int) {
	g.codex.write("codex.txt", g.text())
	g.codex.run(fmt.Sprintf("git add -A && git commit -m 'codex %d'", n))
	g.expect(g.codex.cwd, map[string][]string{"wrote-exact": {g.codex.uri}, "committed": {g.codex.uri}})
}

func (g *commits) childInWorktree(n int) {
	g.child.write("child.txt", g.text())
	g.commit(g.child.cwd, fmt.Sprint("child ", n))
	g.expect(g.child.cwd, map[string][]string{"wrote-exact": {g.child.uri}})
}

func (g *commits) person(n int) {
	writeFile(g.t, filepath.Join(g.repo, "people.txt"), g.text())
	g.commit(g.repo, fmt.Sprint("person ", n))
	g.expect(g.repo, map[string][]string{})
}

// personAfterAgent changes a file that an agent wrote for an earlier commit.
func (g *commits) personAfterAgent(n int) {
	g.sh(g.repo, "echo person >> "+g.last)
	g.commit(g.repo, fmt.Sprint("person after agent ", n))
	g.expect(g.repo, map[string][]string{})
}

// formatted is a change of an agent after which a formatter ran.
func (g *commits) formatted(n int) {
	name := fmt.Sprintf("formatted%d.txt", n)
	g.main.write(name, g.text())
	g.sh(g.repo, "sed -i 's/^/\\t/' "+name)
	g.commit(g.repo, fmt.Sprint("formatted ", n))
	g.expect(g.repo, map[string][]string{"wrote-inferred": {g.main.uri}})
}

// squash merges commits of two agents into one, which a person makes.
func (g *commits) squash(n int) {
	first, second := fmt.Sprintf("first%d.txt", n), fmt.Sprintf("second%d.txt", n)
	branch := strings.TrimSpace(g.sh(g.codex.cwd, "git branch --show-current"))
	g.sh(g.codex.cwd, fmt.Sprint("git switch -q -c squash", n, " main"))
	g.codex.write(first, g.text())
	g.commit(g.codex.cwd, fmt.Sprint("part 1 of ", n))
	g.expect(g.codex.cwd, map[string][]string{"wrote-exact": {g.codex.uri}})
	text := g.text()
	g.sub.call("Write", object{"file_path": filepath.Join(g.codex.cwd, second), "content": text}, "ok", false)
	writeFile(g.t, filepath.Join(g.codex.cwd, second), text)
	g.commit(g.codex.cwd, fmt.Sprint("part 2 of ", n))
	g.expect(g.codex.cwd, map[string][]string{"wrote-exact": {g.sub.uri}})
	g.sh(g.codex.cwd, "git switch -q "+branch)
	g.tick()
	g.sh(g.repo, fmt.Sprintf("git merge -q --squash squash%d; git commit -qm 'squash %d'; git branch -q -D squash%d", n, n,
		n))
	both := []string{g.codex.uri, g.sub.uri}
	slices.Sort(both)
	g.expect(g.repo, map[string][]string{"wrote-exact": both})
}

// failedCall is a call that failed, after which a person made the change.
func (g *commits) failedCall(n int) {
	name, text := fmt.Sprintf("failed%d.txt", n), g.text()
	g.main.call("Write", object{"file_path": filepath.Join(g.repo, name), "content": text}, "denied", true)
	writeFile(g.t, filepath.Join(g.repo, name), text)
	g.commit(g.repo, fmt.Sprint("failed ", n))
	g.expect(g.repo, map[string][]string{})
}

// overwritten is a file of an agent that a person replaced before the commit.
func (g *commits) overwritten(n int) {
	name := fmt.Sprintf("overwritten%d.txt", n)
	g.main.write(name, g.text())
	writeFile(g.t, filepath.Join(g.repo, name), g.text())
	g.commit(g.repo, fmt.Sprint("overwritten ", n))
	g.expect(g.repo, map[string][]string{})
}

// rebased is a commit of an agent whose ID changed since.
func (g *commits) rebased(n int) {
	g.codex.write("codex.txt", g.text())
	g.codex.run(fmt.Sprintf("git add -A && git commit -m 'rebased %d'", n))
	g.tick()
	g.sh(g.codex.cwd, "git commit -q --amend --no-edit --reset-author")
	g.expect(g.codex.cwd, map[string][]string{"wrote-exact": {g.codex.uri}})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
