package setup

import (
	"maps"
	"path/filepath"
	"slices"
	"strconv"
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
	StatusBar bool                // show the conversation and the newest artifact in the status line
}

// A client is an agent program that handoff can be set up in.
type client struct {
	name, title string
	programs    []string // on PATH
	home        func(Target) string
	files       func(t Target) map[string][]Change // by absolute path
	todo        func(t Target) []string
}

// Names returns the names of the agent programs.
func Names() []string { return slices.Sorted(maps.Keys(clients())) }

func clients() map[string]client {
	list := map[string]client{}
	for _, c := range []client{claude, codex, gemini, qwen, opencode, pi, copilot, cursor} {
		list[c.name] = c
	}
	return list
}

// under returns a directory that a variable of the environment moves.
func under(variable, dir string) func(Target) string {
	return func(t Target) string {
		if variable != "" {
			if moved := t.Getenv(variable); filepath.IsAbs(moved) {
				return moved
			}
		}
		return filepath.Join(t.Home, dir)
	}
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

// hooks returns the changes that install hooks in a file of Claude Code's form.
func (t Target) hooks(program string, named bool, events ...string) []Change {
	var list []Change
	for _, event := range events {
		hook := map[string]any{"type": "command", "command": t.hook(program, "")}
		if named {
			hook["name"] = entry
		} else {
			hook["timeout"] = hookSeconds
		}
		list = append(list, Change{Element: []string{"hooks", event}, Value: map[string]any{"hooks": []any{hook}}})
	}
	return list
}

// member returns the change that registers the server in a JSON file.
func (t Target) member(more map[string]any) Change {
	command, args := t.server()
	value := map[string]any{"command": command, "args": args}
	maps.Copy(value, more)
	return Change{Member: []string{"mcpServers", entry}, Value: value}
}

var claudeEvents = []string{"SessionStart", "UserPromptSubmit", "SubagentStart", "SubagentStop", "Stop", "SessionEnd"}

// Files, members and events of the programs are as seen in Claude Code 2.1, Codex
// 0.169, Gemini CLI 0.61, Qwen Code 0.24, OpenCode 1.18, pi 0.73 and Copilot CLI
// 1.0; those of Cursor as documented in 2026.

var claude = client{
	name: "claude", title: "Claude Code", programs: []string{"claude"}, home: under("CLAUDE_CONFIG_DIR", ".claude"),
	files: func(t Target) map[string][]Change {
		servers, dir := filepath.Join(t.Home, ".claude.json"), under("CLAUDE_CONFIG_DIR", ".claude")(t)
		if filepath.IsAbs(t.Getenv("CLAUDE_CONFIG_DIR")) {
			servers = filepath.Join(dir, ".claude.json")
		}
		if t.Scope == Project {
			servers, dir = filepath.Join(t.Root, ".mcp.json"), filepath.Join(t.Root, ".claude")
		}
		settings := t.hooks("claude", false, claudeEvents...)
		if t.Allow {
			settings = append(settings, Change{Element: []string{"permissions", "allow"}, Value: "mcp__" + entry})
		}
		if t.Runtime != "" {
			settings = append(settings, Change{Element: []string{"sandbox", "filesystem", "allowWrite"}, Value: t.Runtime})
		}
		if t.StatusBar {
			settings = append(settings, Change{Member: []string{"statusLine"}, Value: map[string]any{"type": "command", "command": t.hook("statusline", "")}})
		}
		return map[string][]Change{
			servers:                             {t.member(map[string]any{"type": "stdio"})},
			filepath.Join(dir, "settings.json"): settings,
			filepath.Join(dir, skillPath):       {{File: skill}},
		}
	},
	todo: func(t Target) []string {
		if t.Scope == Project {
			return []string{"start claude in this directory, trust it, and approve the server " + entry}
		}
		return []string{"restart claude; /mcp must show " + entry + " as connected"}
	},
}

var codex = client{
	name: "codex", title: "Codex", programs: []string{"codex"}, home: under("CODEX_HOME", ".codex"),
	files: func(t Target) map[string][]Change {
		dir, skills := under("CODEX_HOME", ".codex")(t), filepath.Join(t.Home, ".agents", skillPath)
		if t.Scope == Project {
			dir, skills = filepath.Join(t.Root, ".codex"), filepath.Join(t.Root, ".agents", skillPath)
		}
		command, args := t.server()
		quoted := make([]string, len(args))
		for i, arg := range args {
			quoted[i] = strconv.Quote(arg)
		}
		server := "\n[mcp_servers." + entry + "]\ncommand = " + strconv.Quote(command) + "\nargs = [" + strings.Join(quoted, ", ") + "]\n"
		if t.Allow {
			server += "default_tools_approval_mode = \"approve\"\n"
		}
		config := []Change{{Table: "mcp_servers." + entry, Text: server}}
		if t.Runtime != "" {
			config = append(config, Change{Table: "sandbox_workspace_write", Optional: true, Text: "\n[sandbox_workspace_write]\nwritable_roots = [" + strconv.Quote(t.Runtime) + "]\n"})
		}
		return map[string][]Change{
			filepath.Join(dir, "config.toml"): config,
			filepath.Join(dir, "hooks.json"):  t.hooks("codex", false, claudeEvents...),
			skills:                            {{File: skill}},
		}
	},
	todo: func(t Target) []string {
		list := []string{"start codex once and trust the hooks when it asks; it skips hooks that are not trusted, without a message"}
		if !t.Allow {
			list = append(list, "codex exec refuses calls of a server without approval; set it up with --allow to permit them")
		}
		if t.Runtime != "" {
			list = append(list, "check that sandbox_workspace_write.writable_roots in config.toml contains "+t.Runtime)
		}
		if t.Scope == Project {
			list = append(list, "trust this directory in codex; it ignores .codex of a directory that is not trusted")
		}
		return list
	},
}

var gemini = client{
	name: "gemini", title: "Gemini CLI", programs: []string{"gemini"}, home: under("", ".gemini"),
	files: func(t Target) map[string][]Change {
		base := t.Home
		if t.Scope == Project {
			base = t.Root
		}
		more := map[string]any{}
		if t.Allow {
			more["trust"] = true
		}
		return map[string][]Change{
			filepath.Join(base, ".gemini", "settings.json"): append([]Change{t.member(more)},
				t.hooks("gemini", true, "SessionStart", "BeforeAgent", "AfterAgent", "SessionEnd")...),
			filepath.Join(base, ".agents", skillPath): {{File: skill}},
		}
	},
	todo: func(Target) []string {
		return []string{"trust the directory in gemini; it disables servers in a directory that is not trusted"}
	},
}

var qwen = client{
	name: "qwen", title: "Qwen Code", programs: []string{"qwen"}, home: under("", ".qwen"),
	files: func(t Target) map[string][]Change {
		base := t.Home
		if t.Scope == Project {
			base = t.Root
		}
		more := map[string]any{}
		if t.Allow {
			more["trust"] = true
		}
		return map[string][]Change{
			filepath.Join(base, ".qwen", "settings.json"): append([]Change{t.member(more)},
				t.hooks("qwen", false, "SessionStart", "UserPromptSubmit", "SubagentStart", "SubagentStop", "Stop", "SessionEnd")...),
			filepath.Join(base, ".qwen", skillPath): {{File: skill}},
		}
	},
	todo: func(Target) []string {
		return []string{"restart qwen; qwen mcp list must show " + entry + " as connected"}
	},
}

var opencode = client{
	name: "opencode", title: "OpenCode", programs: []string{"opencode"}, home: under("", ".config/opencode"),
	files: func(t Target) map[string][]Change {
		dir, file, skills := filepath.Join(t.Home, ".config", "opencode"), "opencode.json", filepath.Join(t.Home, ".agents", skillPath)
		plugins := dir
		if moved := t.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(moved) && t.Scope == User {
			dir = filepath.Join(moved, "opencode")
			plugins = dir
		}
		if t.Scope == Project {
			dir, plugins, skills = t.Root, filepath.Join(t.Root, ".opencode"), filepath.Join(t.Root, ".agents", skillPath)
		}
		if exists(filepath.Join(dir, "opencode.jsonc")) {
			file = "opencode.jsonc"
		}
		command, args := t.server()
		changes := []Change{{Member: []string{"mcp", entry}, Value: map[string]any{"type": "local", "command": append([]string{command}, args...), "enabled": true}}}
		return map[string][]Change{
			filepath.Join(dir, file):                             changes,
			filepath.Join(plugins, "plugin", "agent-handoff.js"): {{File: script(opencodePlugin, t.program())}},
			skills: {{File: skill}},
		}
	},
	todo: func(Target) []string {
		return []string{"restart opencode; opencode mcp list must show " + entry + " as connected"}
	},
}

var pi = client{
	name: "pi", title: "pi", programs: []string{"pi"}, home: under("PI_CODING_AGENT_DIR", ".pi/agent"),
	files: func(t Target) map[string][]Change {
		dir, skills := under("PI_CODING_AGENT_DIR", ".pi/agent")(t), filepath.Join(t.Home, ".agents", skillPath)
		if t.Scope == Project {
			dir, skills = filepath.Join(t.Root, ".pi"), filepath.Join(t.Root, ".agents", skillPath)
		}
		return map[string][]Change{
			filepath.Join(dir, "extensions", "agent-handoff.ts"): {{File: script(piExtension, t.program())}},
			skills: {{File: skill}},
		}
	},
	todo: func(Target) []string {
		return []string{"restart pi; it has no MCP, so the extension registers the tools"}
	},
}

var copilot = client{
	name: "copilot", title: "Copilot CLI", programs: []string{"copilot"}, home: under("", ".copilot"),
	files: func(t Target) map[string][]Change {
		if t.Scope == Project {
			return map[string][]Change{filepath.Join(t.Root, ".agents", skillPath): {{File: skill}}}
		}
		dir := filepath.Join(t.Home, ".copilot")
		hooks := map[string]any{}
		for _, event := range []string{"sessionStart", "userPromptSubmitted", "subagentStart", "subagentStop", "agentStop", "sessionEnd"} {
			hooks[event] = []any{map[string]any{"type": "command", "bash": t.hook("copilot", event), "timeoutSec": hookSeconds}}
		}
		return map[string][]Change{
			filepath.Join(dir, "mcp-config.json"):       {t.member(map[string]any{"type": "local", "tools": []string{"*"}})},
			filepath.Join(dir, "hooks", "handoff.json"): {{Member: []string{"version"}, Value: 1}, {Member: []string{"hooks"}, Value: hooks}},
			filepath.Join(dir, skillPath):               {{File: skill}},
		}
	},
	todo: func(t Target) []string {
		if t.Scope == Project {
			return []string{"copilot reads servers and hooks from the user's files only; run init for the user"}
		}
		return []string{"restart copilot; /mcp must show " + entry}
	},
}

var cursor = client{
	name: "cursor", title: "Cursor", programs: []string{"cursor", "cursor-agent"}, home: under("", ".cursor"),
	files: func(t Target) map[string][]Change {
		base := t.Home
		if t.Scope == Project {
			base = t.Root
		}
		return map[string][]Change{
			filepath.Join(base, ".cursor", "mcp.json"): {t.member(nil)},
			filepath.Join(base, ".cursor", skillPath):  {{File: skill}},
		}
	},
	todo: func(Target) []string {
		return []string{"enable " + entry + " in Cursor's settings for MCP; it is off at first"}
	},
}

// program returns how a script starts handoff.
func (t Target) program() string {
	if t.Scope == Project {
		return entry
	}
	return t.Binary
}
