package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/e2e/model"
)

// A client is an agent program, and what is special about it.
type client struct {
	name     string
	harness  string // as recorded
	provider string // of its threads

	env       func(url string) []string
	configure func(h *home, url string) // after handoff init
	list      []string                  // prints the servers; nil if the program has no such command
	connected string                    // what it prints then
	prompt    func(prompt string) []string

	tool        func(name string, input map[string]any) model.Call
	shell       func(command string) model.Call
	spawn       func(prompt string) []model.Step // starts a subagent and waits for it
	lastMessage bool                             // a hook keeps a subagent's last message
	finish      []model.Call                     // how a subagent returns its result, if not by its last message

	limits // what it cannot do; docs/agents.md has the reasons
}

// limits are what a program cannot do. The tests fail when one is gone, so that
// the page is corrected.
type limits struct {
	subagentShellIsMain bool // a subagent's shells carry the identity of the main agent; its tools are its own
	subagentToolIsMain  bool // its tools do; its shells are its own
	subagentIsMain      bool // both do
	subagentIsLost      bool // the thread of a subagent is not stored
}

func claudeTool(name string, input map[string]any) model.Call {
	return model.Call{Name: "mcp__agent-handoff__" + name, Input: input}
}

var claude = client{
	name: "claude", harness: "claude-code", provider: "claude",
	env: func(url string) []string {
		return []string{"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=sk-test", "IS_SANDBOX=1",
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"}
	},
	configure: func(*home, string) {},
	list:      []string{"claude", "mcp", "list"}, connected: `agent-handoff: .*Connected`,
	prompt: func(p string) []string {
		return []string{"claude", "-p", p, "--model", "claude-sonnet-4-5", "--dangerously-skip-permissions"}
	},
	tool: claudeTool,
	shell: func(command string) model.Call {
		return model.Call{Name: "Bash", Input: map[string]any{"command": command, "description": "Run"}}
	},
	spawn: func(prompt string) []model.Step {
		return []model.Step{{Text: "I ask.", Calls: []model.Call{{Name: "Agent", Input: map[string]any{
			"description": "Review", "prompt": prompt, "subagent_type": "general-purpose", "run_in_background": false}}}}}
	},
	lastMessage: true, limits: limits{subagentShellIsMain: true},
}

var agentID = regexp.MustCompile(`agent_id\\*":\s*\\*"([^"\\]+)`)

var codex = client{
	name: "codex", harness: "codex", provider: "codex",
	env: func(string) []string { return []string{"MODEL_KEY=sk-test"} },
	configure: func(h *home, url string) {
		config := fmt.Sprintf("model = \"gpt-5.2-codex\"\nmodel_provider = "+
			"\"scripted\"\n%s\n[model_providers.scripted]\nname = \"Scripted\"\nbase_url = %q\nenv_key = "+
			"\"MODEL_KEY\"\nwire_api = \"responses\"\n",
			h.read(".codex/config.toml"), url+"/v1")
		h.write(filepath.Join(h.dir, ".codex/config.toml"), config)
	},
	list: []string{"codex", "mcp", "list"}, connected: `agent-handoff .*enabled`,
	prompt: func(p string) []string {
		return []string{"codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox",
			"--dangerously-bypass-hook-trust", p}
	},
	tool: func(name string, input map[string]any) model.Call {
		return model.Call{Name: name, Namespace: "mcp__agent_handoff", Input: input}
	},
	shell: func(command string) model.Call {
		return model.Call{Name: "exec_command", Input: map[string]any{"cmd": command, "yield_time_ms": 30000}}
	},
	spawn: func(prompt string) []model.Step {
		const agents = "multi_agent_v1"
		started := func(r model.Request) any {
			id := ""
			for _, t := range r.Turns {
				if m := agentID.FindStringSubmatch(t.Text); m != nil && t.Who == "tool" {
					id = m[1]
				}
			}
			return map[string]any{"targets": []string{id}, "timeout_ms": 120000}
		}
		return []model.Step{
			{Text: "I ask.", Calls: []model.Call{
				{Name: "spawn_agent", Namespace: agents, Input: map[string]any{"message": prompt}}}},
			{Text: "I wait for the agent.", Calls: []model.Call{{Name: "wait_agent", Namespace: agents, InputFrom: started}}},
		}
	},
}

var qwen = client{
	name: "qwen", harness: "qwen-code", provider: "qwen",
	env: func(url string) []string {
		return []string{"OPENAI_API_KEY=sk-test", "OPENAI_BASE_URL=" + url + "/v1", "OPENAI_MODEL=scripted-1",
			"QWEN_CODE_SUPPRESS_YOLO_WARNING=1"}
	},
	configure: func(*home, string) {},
	list:      []string{"qwen", "mcp", "list"}, connected: `agent-handoff: .*Connected`,
	prompt: func(p string) []string { return []string{"qwen", "--auth-type", "openai", "-y", p} },
	tool:   claudeTool,
	shell: func(command string) model.Call {
		return model.Call{Name: "run_shell_command",
			Input: map[string]any{"command": command, "description": "Run", "is_background": false}}
	},
	spawn: func(prompt string) []model.Step {
		return []model.Step{{Text: "I ask.", Calls: []model.Call{{Name: "agent", Input: map[string]any{
			"description": "Review", "prompt": prompt, "subagent_type": "general-purpose", "run_in_background": false}}}}}
	},
	lastMessage: true, limits: limits{subagentToolIsMain: true},
}

var gemini = client{
	name: "gemini", harness: "gemini-cli", provider: "gemini",
	env: func(url string) []string { return []string{"GEMINI_API_KEY=test", "GOOGLE_GEMINI_BASE_URL=" + url} },
	configure: func(h *home, _ string) {
		h.merge(".gemini/settings.json", map[string]any{
			"security": map[string]any{"auth": map[string]any{"selectedType": "gemini-api-key"}},
			"privacy":  map[string]any{"usageStatisticsEnabled": false},
			"general":  map[string]any{"enableAutoUpdate": false},
		})
		h.merge(".gemini/trustedFolders.json", map[string]any{h.work: "TRUST_FOLDER"})
	},
	list: []string{"gemini", "mcp", "list"}, connected: `agent-handoff: .*Connected`,
	prompt: func(p string) []string { return []string{"gemini", "-y", "-m", "gemini-2.5-pro", "-p", p} },
	tool: func(name string, input map[string]any) model.Call {
		return model.Call{Name: "mcp_agent-handoff_" + name, Input: input}
	},
	shell: func(command string) model.Call {
		return model.Call{Name: "run_shell_command", Input: map[string]any{"command": command, "description": "Run"}}
	},
	spawn: func(prompt string) []model.Step {
		return []model.Step{
			{Text: "I ask.", Calls: []model.Call{
				{Name: "invoke_agent", Input: map[string]any{"agent_name": "generalist", "prompt": prompt}}}}}
	},
	finish: []model.Call{{Name: "complete_task",
		Input: map[string]any{"result": map[string]any{"response": "The review is published."}}}},
	limits: limits{subagentIsMain: true},
}

var (
	opencode = openCode("opencode", "run")
	kilo     = openCode("kilo", "run", "--auto")
)

// openCode returns OpenCode or a fork of it.
func openCode(name string, run ...string) client {
	return client{
		name: name, harness: name, provider: name,
		// It installs a library for plugins, and tries that for a minute where there is no network.
		env: func(string) []string {
			return []string{strings.ToUpper(name) + "_DISABLE_MODELS_FETCH=1", "npm_config_fetch_retries=0"}
		},
		configure: func(h *home, url string) {
			h.merge(filepath.Join(".config", name, name+".json"), map[string]any{
				"autoupdate": false, "share": "disabled",
				"model": "scripted/scripted-1", "small_model": "scripted/scripted-1",
				"permission": map[string]any{"*": "allow"},
				"provider": map[string]any{"scripted": map[string]any{
					"npm": "@ai-sdk/anthropic", "options": map[string]any{"baseURL": url + "/v1", "apiKey": "sk-test"},
					"models": map[string]any{"scripted-1": map[string]any{
						"tool_call": true, "limit": map[string]any{"context": 200000, "output": 8000}}},
				}},
			})
		},
		list: []string{name, "mcp", "list"}, connected: `agent-handoff.*connected`,
		prompt: func(p string) []string { return append(append([]string{name}, run...), p) },
		tool: func(name string, input map[string]any) model.Call {
			return model.Call{Name: "agent-handoff_" + name, Input: input}
		},
		shell: func(command string) model.Call {
			return model.Call{Name: "bash", Input: map[string]any{"command": command, "description": "Run"}}
		},
		spawn: func(prompt string) []model.Step {
			return []model.Step{{Text: "I ask.", Calls: []model.Call{{Name: "task", Input: map[string]any{
				"description": "Review", "prompt": prompt, "subagent_type": "general"}}}}}
		},
	}
}

var pi = client{
	name: "pi", harness: "pi", provider: "pi",
	env: func(string) []string { return []string{"PI_OFFLINE=1"} },
	configure: func(h *home, url string) {
		h.merge(".pi/agent/models.json", map[string]any{"providers": map[string]any{"scripted": map[string]any{
			"baseUrl": url, "api": "anthropic-messages", "apiKey": "sk-test",
			"models": []any{map[string]any{"id": "scripted-1", "name": "Scripted", "input": []string{"text"},
				"contextWindow": 200000, "maxTokens": 8000}},
		}}})
		h.merge(".pi/agent/settings.json", map[string]any{"defaultProvider": "scripted", "defaultModel": "scripted-1"})
		// pi starts subagents with an extension only; this is the one in its package.
		examples := filepath.Join(os.Getenv("E2E_CLIENTS"), "../@earendil-works/pi-coding-agent/examples/extensions/subagent")
		for _, name := range []string{"index.ts", "agents.ts"} {
			b, err := os.ReadFile(filepath.Join(examples, name))
			if err != nil {
				h.t.Fatal(err)
			}
			h.write(filepath.Join(h.dir, ".pi/agent/extensions/subagent", name), string(b))
		}
		h.write(filepath.Join(h.dir, ".pi/agent/agents/reviewer.md"),
			"---\nname: reviewer\ndescription: Reviews\n---\n\nReview.\n")
	},
	prompt: func(p string) []string {
		return []string{"pi", "--provider", "scripted", "--model", "scripted-1", "-p", p}
	},
	tool: func(name string, input map[string]any) model.Call {
		return model.Call{Name: name, Input: input}
	},
	shell: func(command string) model.Call {
		return model.Call{Name: "bash", Input: map[string]any{"command": command}}
	},
	spawn: func(prompt string) []model.Step {
		return []model.Step{
			{Text: "I ask.", Calls: []model.Call{
				{Name: "subagent", Input: map[string]any{"agent": "reviewer", "task": prompt}}}}}
	},
	limits: limits{subagentIsLost: true},
}

func TestClaude(t *testing.T)   { drive(t, claude) }
func TestCodex(t *testing.T)    { drive(t, codex) }
func TestGemini(t *testing.T)   { drive(t, gemini) }
func TestOpenCode(t *testing.T) { drive(t, opencode) }
func TestPi(t *testing.T)       { drive(t, pi) }
func TestQwen(t *testing.T)     { drive(t, qwen) }

// TestKilo runs where kilo is beside the other programs: its packages at npm have it for
// some systems only.
func TestKilo(t *testing.T) {
	if _, err := os.Stat(filepath.Join(os.Getenv("E2E_CLIENTS"), "kilo")); err != nil {
		t.Skipf("kilo is not installed: %v", err)
	}
	drive(t, kilo)
}

// TestPiOtherExtension checks that pi starts with an extension that owns two of
// the names of handoff's tools, and that each name has one tool, that extension's.
func TestPiOtherExtension(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	s := h.serve(model.Script{"read": {
		{Text: "I read.", Calls: []model.Call{{Name: "read_artifact", Input: map[string]any{"name": "context.md"}}}},
		{Text: "I publish.", Calls: []model.Call{
			{Name: "artifact_publish", Input: map[string]any{"path": "README.md", "channel": "design"}}}},
		{Text: "Done."},
	}})
	h.must(nil, "handoff", "init", "--agent", "pi")
	pi.configure(h, s.URL)
	h.write(filepath.Join(h.dir, ".pi/agent/extensions/other.ts"), `export default function (pi: any) {
  for (const name of ["write_artifact", "read_artifact"]) pi.registerTool({
    name, label: name, description: "Other.", parameters: { type: "object", properties: { name: { type: "string" } } },
    async execute() { return { content: [{ type: "text", text: "from the other extension" }] } },
  })
}
`)
	h.must(pi.env(s.URL), pi.prompt("[[read]] Read.")...)
	last := s.Requests()[len(s.Requests())-1]
	for _, name := range []string{"read_artifact", "write_artifact", "artifact_publish"} {
		if n := len(slices.DeleteFunc(slices.Clone(last.Tools), func(other string) bool { return other != name })); n != 1 {
			t.Errorf("%d tools are named %s, want 1: %v", n, name, last.Tools)
		}
	}
	if !slices.ContainsFunc(last.Turns,
		func(turn model.Turn) bool { return strings.Contains(turn.Text, "from the other extension") }) {
		t.Errorf("read_artifact is not the other extension's: %+v", last.Turns)
	}
	var page struct{ Artifacts []artifact }
	h.handoff(&page, "list", "--json")
	if len(page.Artifacts) != 1 || page.Artifacts[0].Producer.Source != "mcp" {
		t.Errorf("artifacts %+v, want one by artifact_publish", page.Artifacts)
	}
}

// thread is the script: the main agent publishes with a tool and in a
// shell, a subagent reads that and publishes in both ways, and the main agent
// waits for the result and reads it. Every step has a usage of its own.
func conversation(c client) model.Script {
	main := []model.Step{
		{Text: "I publish the design.", Calls: []model.Call{
			c.tool("artifact_publish", map[string]any{"path": "README.md", "channel": "design", "title": "Retry policy"})}},
		{Text: "I publish the notes.", Calls: []model.Call{
			c.shell("echo Once. > notes.md && handoff publish notes.md --channel analysis --title Notes")}},
	}
	main = append(main, c.spawn("[[review]] Review the design.")...)
	main = append(main,
		model.Step{Text: "I wait.", Calls: []model.Call{
			c.tool("artifact_wait", map[string]any{"channel": "verification", "seconds": 30})}},
		model.Step{Text: "I read.", Calls: []model.Call{
			c.tool("read_artifact", map[string]any{"ref": "verification:latest"})}},
		model.Step{Text: "Everything is handed over."},
	)
	review := []model.Step{
		{Text: "I read the design.", Calls: []model.Call{c.tool("read_artifact", map[string]any{"ref": "design:latest"})}},
		{Text: "I publish the patch.", Calls: []model.Call{
			c.tool("artifact_publish", map[string]any{"content": "Retry thrice.", "filename": "retry.md", "channel": "patch",
				"from": []string{"design:latest"}})}},
		{Text: "I publish the review.", Calls: []model.Call{
			c.shell("echo Approved. > review.md && handoff publish review.md --channel verification --title Review --from " +
				"design:latest")}},
		{Text: "The review is published.", Calls: c.finish},
	}
	n := 0
	for _, steps := range [][]model.Step{main, review} {
		for i := range steps {
			n++
			steps[i].Usage = model.Usage{Input: 100 + n, CacheRead: 1000 + 10*n, Output: 20 + n}
		}
	}
	return model.Script{"design": main, "review": review}
}

// drive sets handoff up in a program, runs the thread, and compares what
// was recorded with the script.
func drive(t *testing.T, c client) {
	t.Parallel()
	h := newHome(t)
	script := conversation(c)
	s := h.serve(script)
	h.must(nil, "handoff", "init", "--agent", c.name, "--allow")
	c.configure(h, s.URL)
	if c.list != nil {
		out := h.all(c.env(s.URL), c.list...)
		if !regexp.MustCompile(c.connected).MatchString(out) {
			t.Errorf("%s does not list the server: %s", strings.Join(c.list, " "), out)
		}
	}
	h.must(c.env(s.URL), c.prompt("[[design]] Design the retries.")...)

	requests(t, c, s, script)
	a := artifacts(h, c)
	if c.lastMessage {
		if text := h.must(nil, "handoff", "read", a["handoff"].ID); !strings.Contains(text, "The review is published.") {
			t.Errorf("the hook kept the message %q", text)
		}
	}
	identity(t, c, a)
	threads(h, c, a, s.Ledger())
}

// requests checks that every step was asked for, that the program offered the
// tools, and that the last answers of the tools reached the model.
func requests(t *testing.T, c client, s *model.Server, script model.Script) {
	t.Helper()
	count := map[string]int{}
	for _, a := range s.Ledger() {
		count[a.Mark]++
	}
	for mark, steps := range script {
		if count[mark] != len(steps) {
			t.Errorf("%s: %d steps of %s were asked for, want %d", c.name, count[mark], mark, len(steps))
		}
	}
	want := map[string]bool{"Retry twice.": false, "Approved.": false}
	for _, r := range s.Requests() {
		for _, turn := range r.Turns {
			for text := range want {
				want[text] = want[text] || turn.Who == "tool" && strings.Contains(turn.Text, text)
			}
		}
	}
	for text, seen := range want {
		if !seen {
			t.Errorf("%s: no tool returned %q to the model", c.name, text)
		}
	}
}

type producer struct {
	Harness, Session, Thread, Source string
	Agent                            string `json:"agent"`
}

type artifact struct {
	ID, Channel, Title string
	Producer           producer
	ParentArtifactIDs  []string
}

// artifacts returns what was published, by channel.
func artifacts(h *home, c client) map[string]artifact {
	h.t.Helper()
	var page struct{ Artifacts []artifact }
	h.handoff(&page, "list", "--all", "--json")
	list := map[string]artifact{}
	for _, a := range page.Artifacts {
		list[a.Channel] = a
	}
	want := []string{"design", "analysis", "patch", "verification"}
	if c.lastMessage {
		want = append(want, "handoff")
	}
	for _, channel := range want {
		if _, ok := list[channel]; !ok {
			h.t.Fatalf("no artifact in %s; all: %+v", channel, page.Artifacts)
		}
	}
	return list
}

// identity checks that a tool and a shell recorded the same agent.
func identity(t *testing.T, c client, a map[string]artifact) {
	t.Helper()
	for _, pair := range [][2]string{{"design", "analysis"}, {"patch", "verification"}} {
		tool, shell := a[pair[0]].Producer, a[pair[1]].Producer
		if tool.Harness != c.harness || shell.Harness != c.harness {
			t.Errorf("%s, %s: harness %q and %q, want %q", pair[0], pair[1], tool.Harness, shell.Harness, c.harness)
		}
		if tool.Session == "" || tool.Session != shell.Session {
			t.Errorf("%s, %s: sessions %q and %q, want equal ones", pair[0], pair[1], tool.Session, shell.Session)
		}
	}
	main, sub := a["design"].Producer.Thread, a["verification"].Producer.Thread
	if got := a["analysis"].Producer.Thread; got != main {
		t.Errorf("the main agent's threads are %q and %q, want equal ones", main, got)
	}
	if same, want := main == sub, c.subagentShellIsMain || c.subagentIsMain; same != want {
		t.Errorf("the subagent's thread is %q, the main agent's %q: equal is %v, want %v", sub, main, same, want)
	}
	want := sub
	if c.subagentToolIsMain {
		want = main
	}
	if got := a["patch"].Producer.Thread; c.subagentShellIsMain && !strings.HasPrefix(got, main+"/") ||
		!c.subagentShellIsMain && got != want {
		t.Errorf("the thread of the subagent's tools is %q, want %q", got, want)
	}
	for _, channel := range []string{"patch", "verification"} {
		if inputs := a[channel].ParentArtifactIDs; !slices.Equal(inputs, []string{a["design"].ID}) {
			t.Errorf("%s: made from %v, want the design %s", channel, inputs, a["design"].ID)
		}
	}
}

type usage struct{ Input, CacheRead, CacheWrite, Output, Reasoning, Calls int }

type state struct{ Status string }

type conversationInfo struct {
	URI       string
	State     state
	Usage     usage
	Subagents []struct {
		AgentID, URI string
		State        state
		Thread       struct{ Usage usage }
	}
}

// threads opens the threads that the records name, and compares their
// tokens and states with the ledger.
func threads(h *home, c client, a map[string]artifact, ledger []model.Answer) {
	h.t.Helper()
	spent := map[string]usage{}
	for _, e := range ledger {
		u := spent[e.Mark]
		u.Input, u.CacheRead, u.CacheWrite = u.Input+e.Usage.Input, u.CacheRead+e.Usage.CacheRead, u.CacheWrite+
			e.Usage.CacheWrite
		u.Output, u.Reasoning, u.Calls = u.Output+e.Usage.Output, u.Reasoning+e.Usage.Reasoning, u.Calls+1
		spent[e.Mark] = u
	}
	uri, review := a["design"].Producer.Thread, a["verification"].Producer.Thread
	if !strings.HasPrefix(uri, "agents://"+c.provider+"/") {
		h.t.Fatalf("the thread of the design is %q, want one of %s", uri, c.provider)
	}
	var main conversationInfo
	h.handoff(&main, "thread", uri, "--usage", "--json")
	if main.State.Status != "completed" || main.Usage != spent["design"] {
		h.t.Errorf("%s: %s with %+v, want completed with %+v", uri, main.State.Status, main.Usage, spent["design"])
	}
	if !c.subagentIsLost {
		h.handoff(&struct{}{}, "thread", review, "--json")
	}
	if len(main.Subagents) != 1 {
		h.t.Fatalf("%s has the subagents %+v, want 1", uri, main.Subagents)
	}
	sub := main.Subagents[0]
	if sub.State.Status != "completed" || sub.Thread.Usage != spent["review"] {
		h.t.Errorf("%s: %s with %+v, want completed with %+v", sub.URI, sub.State.Status, sub.Thread.Usage, spent["review"])
	}
	if c.subagentIsLost {
		return
	}
	h.handoff(&struct{}{}, "thread", sub.URI, "--json")
	if review != uri && !strings.Contains(review, sub.AgentID) {
		h.t.Errorf("the thread of the review is %q, want that of the agent %s", review, sub.AgentID)
	}
}
