package setup

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// A Scope is where handoff is set up.
type Scope string

// The scopes.
const (
	User    Scope = "user"    // for all projects of the user
	Project Scope = "project" // for everybody who works in the repository
)

// A Target is what handoff is set up for.
type Target struct {
	Scope     Scope
	Home      string              // the user's home directory, absolute
	Getenv    func(string) string // moves the directories of some programs
	Root      string              // the repository, absolute, for Project
	Binary    string              // handoff, absolute, for User
	Runtime   string              // the runtime directory that a sandbox must be able to write, or ""
	Allow     bool                // permit the tools of handoff without asking
	StatusBar bool                // show the thread and the newest artifact in the status line
	Plans     bool                // have the plans of Claude Code reviewed
}

// A client is an agent program that handoff can be set up in.
type client struct {
	name, title string
	program     string  // on PATH, beside name
	variable    string  // moves the user's directory of the program
	home        string  // that directory, in the home directory
	project     string  // its directory in a repository, "" if it reads the user's only
	shared      []Scope // where it reads the skills in .agents, not in its directory

	servers   string         // the file in its directory with the member mcpServers
	server    map[string]any // more members of the server's entry
	trust     bool           // a member of the entry permits the tools
	hooks     string         // the file in its directory with hooks in Claude Code's form
	events    []string       // of the hooks
	extension string         // the file in its directory that calls handoff
	template  string         // the content of extension
	more      func(c client, t Target, dir string, files map[string][]Change)

	todo, todoProject string // what the user must do afterwards
}

// Names returns the names of the agent programs.
func Names() []string { return slices.Sorted(maps.Keys(clients())) }

func clients() map[string]client {
	list := map[string]client{}
	for _, c := range known {
		list[c.name] = c
	}
	return list
}

// dir returns the directory of the program that a target changes.
func (c client) dir(t Target) string {
	if t.Scope == Project {
		return filepath.Join(t.Root, c.project)
	}
	moved := ""
	if c.variable != "" {
		moved = t.Getenv(c.variable)
	}
	switch {
	case !filepath.IsAbs(moved):
		return filepath.Join(t.Home, c.home)
	case c.variable == "XDG_CONFIG_HOME":
		return filepath.Join(moved, filepath.Base(c.home))
	}
	return moved
}

// changes returns what is changed, by absolute path.
func (c client) changes(t Target) map[string][]Change {
	dir := c.dir(t)
	files, skills := map[string][]Change{}, dir
	own, shared := c.project != "" || t.Scope == User, slices.Contains(c.shared, t.Scope)
	if own {
		if c.servers != "" {
			files[filepath.Join(dir, c.servers)] = []Change{t.member(c)}
		}
		if c.hooks != "" {
			file := filepath.Join(dir, c.hooks)
			files[file] = append(files[file], t.hooks(c)...)
		}
		if c.extension != "" {
			files[filepath.Join(dir, c.extension)] = []Change{{File: script(c.template, t.program())}}
		}
		if c.more != nil {
			c.more(c, t, dir, files)
		}
	}
	if shared {
		skills = filepath.Join(t.base(), ".agents")
	}
	if own || shared {
		files[filepath.Join(skills, skillPath)] = []Change{{File: skill}}
	}
	return files
}

// steps returns what the user must do afterwards.
func (c client) steps(t Target) []string {
	list := []string{c.todo}
	if t.Scope == Project && c.todoProject != "" {
		list = []string{c.todoProject}
	}
	if c.name == "codex" && !t.Allow {
		list = append(list, "codex exec refuses calls of a server without approval; set it up with --allow to permit them")
	}
	if c.name == "codex" && t.Runtime != "" {
		list = append(list, "check that sandbox_workspace_write.writable_roots in config.toml contains "+t.Runtime)
	}
	return list
}

// base returns the directory that has those of the programs.
func (t Target) base() string {
	if t.Scope == Project {
		return t.Root
	}
	return t.Home
}

// server returns how a program starts the MCP server.
func (t Target) server() (command string, args []string) {
	if t.Scope == Project {
		return "sh", []string{"-c", absentServer}
	}
	return t.Binary, []string{"mcp"}
}

// entry is the name of handoff's entries in the files of programs, and of the
// program that they call: other programs are called handoff, too.
const entry = "agent-handoff"

// absentServer starts the server, or one without tools for somebody who has not
// installed handoff, so that a program does not report a failure.
const absentServer = `command -v agent-handoff >/dev/null 2>&1 && exec agent-handoff mcp; ` +
	`while read -r l; do i=$(printf %s "$l" | sed -n 's/.*"id":\([0-9][0-9]*\).*/\1/p'); case $l in ` +
	`*'"initialize"'*) r='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"agent-handoff","version":"not installed"}}';; ` +
	`*'"tools/list"'*) r='{"tools":[]}';; *) continue;; esac; printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$i" "$r"; done`

// hook returns the command of a hook.
func (t Target) hook(program, event string) string {
	words := "hook " + program
	if event != "" {
		words += " " + event
	}
	if t.Scope == Project {
		return "command -v agent-handoff >/dev/null 2>&1 && agent-handoff " + words + " || :"
	}
	return shellWord(t.Binary) + " " + words
}

func shellWord(s string) string {
	if strings.IndexFunc(s, func(r rune) bool {
		return !strings.ContainsRune("/._-+:@%,=", r) && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// hookSeconds is how long a program waits for a hook at most.
const hookSeconds = 10

// planSeconds is how long Claude Code waits for the review of a plan.
const planSeconds = 3600

// endSeconds is how long Codex waits when a session ends, whatever a file says.
const endSeconds = 3

// hooks returns the changes that install hooks in a file of Claude Code's form.
func (t Target) hooks(c client) []Change {
	var list []Change
	for _, event := range c.events {
		hook := map[string]any{"type": "command", "command": t.hook(c.name, "")}
		switch {
		case c.name == "gemini":
			hook["name"] = entry
		case c.name == "codex" && event == "SessionEnd":
			hook["timeout"] = endSeconds
		default:
			hook["timeout"] = hookSeconds
		}
		list = append(list, Change{Element: []string{"hooks", event}, Value: map[string]any{"hooks": []any{hook}}})
	}
	return list
}

// member returns the change that registers the server in a JSON file.
func (t Target) member(c client) Change {
	command, args := t.server()
	value := map[string]any{"command": command, "args": args}
	maps.Copy(value, c.server)
	if c.trust && t.Allow {
		value["trust"] = true
	}
	return Change{Member: []string{"mcpServers", entry}, Value: value}
}

var (
	claudeEvents = []string{"SessionStart", "UserPromptSubmit", "SubagentStart", "SubagentStop", "Stop", "SessionEnd"}
	everywhere   = []Scope{User, Project}
)

// known are the programs. Files, members and events are as seen in Claude Code 2.1,
// Codex 0.169, Gemini CLI 0.61, Qwen Code 0.24, OpenCode 1.18, pi 0.73, Copilot
// CLI 1.0, Kimi Code 2.1, Droid 0.225 and Cline 3.0; those of Cursor as documented in 2026.
var known = []client{
	{name: "claude", title: "Claude Code", variable: "CLAUDE_CONFIG_DIR", home: ".claude", project: ".claude",
		server: map[string]any{"type": "stdio"}, hooks: "settings.json", events: claudeEvents, more: claudeChanges,
		todo:        "restart claude; /mcp must show " + entry + " as connected",
		todoProject: "start claude in this directory, trust it, and approve the server " + entry},
	{name: "codex", title: "Codex", variable: "CODEX_HOME", home: ".codex", project: ".codex", shared: everywhere,
		hooks: "hooks.json", events: claudeEvents, more: codexChanges,
		todo: "start codex once and trust the hooks when it asks; it skips hooks that are not trusted, without a " +
			"message",
		todoProject: "trust this directory in codex, and the hooks when it asks; it ignores what is not trusted, without a " +
			"message"},
	{name: "gemini", title: "Gemini CLI", home: ".gemini", project: ".gemini", shared: everywhere,
		servers: "settings.json", trust: true, hooks: "settings.json", events: []string{
			"SessionStart", "BeforeAgent", "AfterAgent", "SessionEnd"},
		todo: "trust the directory in gemini; it disables servers in a directory that is not trusted"},
	{name: "qwen", title: "Qwen Code", home: ".qwen", project: ".qwen",
		servers: "settings.json", trust: true, hooks: "settings.json", events: claudeEvents,
		todo: "restart qwen; qwen mcp list must show " + entry + " as connected"},
	{name: "opencode", title: "OpenCode", variable: "XDG_CONFIG_HOME", home: ".config/opencode", project: ".opencode",
		shared:    everywhere,
		extension: "plugin/agent-handoff.js", template: opencodePlugin, more: opencodeChanges,
		todo: "restart opencode; opencode mcp list must show " + entry + " as connected"},
	{name: "kilo", title: "Kilo", variable: "XDG_CONFIG_HOME", home: ".config/kilo", project: ".kilo",
		shared:    everywhere,
		extension: "plugin/agent-handoff.js", template: opencodePlugin, more: opencodeChanges,
		todo: "restart kilo; kilo mcp list must show " + entry + " as connected"},
	{name: "pi", title: "pi", variable: "PI_CODING_AGENT_DIR", home: ".pi/agent", project: ".pi", shared: everywhere,
		extension: "extensions/agent-handoff.ts", template: piExtension,
		todo: "restart pi; it has no MCP, so the extension registers the tools"},
	{name: "copilot", title: "Copilot CLI", home: ".copilot", shared: []Scope{Project},
		servers: "mcp-config.json", server: map[string]any{"type": "local", "tools": []string{"*"}}, more: copilotChanges,
		todo:        "restart copilot; /mcp must show " + entry,
		todoProject: "copilot reads servers and hooks from the user's files only; run init for the user"},
	{name: "cline", title: "Cline", home: ".cline", more: clineChanges,
		servers:     "data/settings/cline_mcp_settings.json",
		todo:        "restart cline; its list of MCP servers must show " + entry,
		todoProject: "handoff is set up in the user's files of cline only; run init for the user"},
	{name: "kimi", title: "Kimi Code", variable: "KIMI_CODE_HOME", home: ".kimi-code", servers: "mcp.json",
		events: claudeEvents, more: kimiChanges,
		todo:        "restart kimi; /mcp must show " + entry,
		todoProject: "kimi reads hooks from the user's files only; run init for the user"},
	{name: "droid", title: "Droid", home: ".factory", project: ".factory", servers: "mcp.json",
		server: map[string]any{"type": "stdio"}, hooks: "settings.json", events: claudeEvents,
		todo: "restart droid; /mcp must show " + entry},
	{name: "cursor", title: "Cursor", program: "cursor-agent", home: ".cursor", project: ".cursor", servers: "mcp.json",
		todo: "enable " + entry + " in Cursor's settings for MCP; it is off at first"},
}

func claudeChanges(c client, t Target, dir string, files map[string][]Change) {
	servers := claudeServers(t)
	if t.Scope == Project {
		servers = filepath.Join(t.Root, ".mcp.json")
	}
	files[servers] = []Change{t.member(c)}
	allow := Change{Element: []string{"permissions", "allow"}, Value: "mcp__" + entry}
	if !t.Allow {
		allow.When = ifOwn // a permission that was given is kept
	}
	settings := []Change{allow}
	if t.Runtime != "" {
		settings = append(settings, Change{Element: []string{"sandbox", "filesystem", "allowWrite"}, Value: t.Runtime})
	}
	if t.StatusBar {
		settings = append(settings, Change{Member: []string{"statusLine"},
			Value: map[string]any{"type": "command", "command": t.hook("statusline", "")}})
	}
	for i, event := range []string{"PermissionRequest", "PostToolUse"} { // a plan is ready, and was accepted
		hook := map[string]any{"type": "command", "command": t.hook(c.name, ""),
			"timeout": []int{planSeconds, hookSeconds}[i]}
		plan := Change{Element: []string{"hooks", event},
			Value: map[string]any{"matcher": "ExitPlanMode", "hooks": []any{hook}}}
		if !t.Plans {
			plan.When = ifOwn // as they were set up before
		}
		settings = append(settings, plan)
	}
	file := filepath.Join(dir, "settings.json")
	files[file] = append(files[file], settings...)
}

// claudeServers returns the file of Claude Code with the user's servers.
func claudeServers(t Target) string {
	if moved := t.Getenv("CLAUDE_CONFIG_DIR"); filepath.IsAbs(moved) {
		return filepath.Join(moved, ".claude.json")
	}
	return filepath.Join(t.Home, ".claude.json")
}

// codexVariables are passed on by Codex to the server: it passes no others, and
// tools would use another log or workspace than the shells of a thread.
var codexVariables = []string{"HANDOFF_WORKSPACE", "HANDOFF_DIR", "HANDOFF_LOG", "HANDOFF_SESSION",
	"HANDOFF_SESSION_DIR", "HANDOFF_RUN", "HANDOFF_RUN_DIR",
	"HANDOFF_PARENT_WORK", "HANDOFF_AGENT", "HANDOFF_TASK", "HANDOFF_OPERATION", "XDG_CONFIG_HOME", "XDG_STATE_HOME",
	"XDG_CACHE_HOME"}

func codexChanges(_ client, t Target, dir string, files map[string][]Change) {
	command, args := t.server()
	server := map[string]any{"command": command, "args": args, "env_vars": codexVariables}
	if t.Allow {
		server["default_tools_approval_mode"] = "approve"
	}
	config := []Change{{Member: []string{"mcp_servers", entry}, Value: server}}
	if t.Runtime != "" {
		config = append(config, Change{Member: []string{"sandbox_workspace_write"}, When: ifAbsent,
			Value: map[string]any{"writable_roots": []string{t.Runtime}}})
	}
	files[filepath.Join(dir, "config.toml")] = config
}

func opencodeChanges(c client, t Target, dir string, files map[string][]Change) {
	if t.Scope == Project {
		dir = t.Root
	}
	file := filepath.Join(dir, c.name+".json")
	if commented := file + "c"; exists(commented) {
		file = commented
	}
	command, args := t.server()
	files[file] = []Change{{Member: []string{"mcp", entry},
		Value: map[string]any{"type": "local", "command": append([]string{command}, args...), "enabled": true}}}
}

func copilotChanges(_ client, t Target, dir string, files map[string][]Change) {
	hooks := []Change{{Member: []string{"version"}, Value: 1, When: ifAbsent}}
	for _, event := range []string{"sessionStart", "userPromptSubmitted", "subagentStart", "subagentStop", "agentStop",
		"sessionEnd"} {
		hook := map[string]any{"type": "command", "bash": t.hook("copilot", event), "timeoutSec": hookSeconds}
		hooks = append(hooks, Change{Element: []string{"hooks", event}, Value: hook})
	}
	files[filepath.Join(dir, "hooks", "handoff.json")] = hooks
}

// clineChanges installs the hooks of Cline: a script with the name of each event.
func clineChanges(_ client, t Target, dir string, files map[string][]Change) {
	for _, event := range []string{"TaskStart", "TaskResume", "TaskComplete", "TaskError", "TaskCancel",
		"SessionShutdown"} {
		files[filepath.Join(dir, "hooks", event+".sh")] = []Change{{File: shellScript(clineHook, t.program())}}
	}
}

// kimiChanges installs the hooks of Kimi Code: elements of one list.
func kimiChanges(c client, t Target, dir string, files map[string][]Change) {
	var hooks []Change
	for _, event := range c.events {
		hooks = append(hooks, Change{Element: []string{"hooks"},
			Value: map[string]any{"event": event, "command": t.hook(c.name, "")}})
	}
	files[filepath.Join(dir, "config.toml")] = hooks
}

// program returns how a script starts handoff.
func (t Target) program() string {
	if t.Scope == Project {
		return entry
	}
	return t.Binary
}
