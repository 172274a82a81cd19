package config

import (
	"strings"

	"github.com/agent-handoff/handoff"
)

// A mcpClient describes how an agent program identifies itself in tool calls over
// the Model Context Protocol: by the name in its client info, and by members of
// the _meta of a call. (Names and members as seen from the clients in 2026.)
type mcpClient struct {
	harness  string
	provider string   // in thread URIs
	prefixes []string // of the name in the client info, in lower case
	thread   string   // the member with the ID of the thread
	session  string   // the member with the ID of the session, if it is another
	parent   string   // the member with the ID of the session that started this one
	call     string   // the member with the ID of the tool call
}

var mcpClients = []mcpClient{
	{harness: "claude-code", provider: "claude", prefixes: []string{"claude-code", "claude code"},
		call: "claudecode/toolUseId"},
	{harness: "codex", provider: "codex", prefixes: []string{"codex"}, thread: "threadId", session: "sessionId",
		call: "callId"},
	{harness: "opencode", provider: "opencode", prefixes: []string{"opencode"}, thread: "ai.opencode/sessionID",
		parent: "ai.opencode/parentID", call: "ai.opencode/callID"},
	{harness: "kilo", provider: "kilo", prefixes: []string{"kilo"}, thread: "ai.kilo/sessionID",
		parent: "ai.kilo/parentID", call: "ai.kilo/callID"},
	{harness: "gemini-cli", provider: "gemini", prefixes: []string{"gemini"}},
	{harness: "qwen-code", provider: "qwen", prefixes: []string{"qwen"}},
	{harness: "copilot-cli", provider: "copilot", prefixes: []string{"copilot", "github-copilot"}},
	{harness: "pi", provider: "pi", prefixes: []string{"pi-coding-agent", "pi"}, thread: "pi/sessionId",
		call: "pi/toolCallId"},
	{harness: "cursor", provider: "cursor", prefixes: []string{"cursor"}},
	{harness: "kimi", provider: "kimi", prefixes: []string{"kimi"}},
	{harness: "droid", provider: "droid", prefixes: []string{"factory-cli", "droid"}},
	{harness: "cline", provider: "cline", prefixes: []string{"@cline/", "cline"}},
}

// MetaIdentity returns what a tool call says about its caller. client is the name
// in the client info, "" if unknown.
func MetaIdentity(client string, meta map[string]any) handoff.Producer {
	text := func(name string) string {
		s, _ := meta[name].(string)
		return s
	}
	for _, c := range mcpClients {
		if !c.named(client) && (c.call == "" || text(c.call) == "") {
			continue
		}
		p := handoff.Producer{Harness: c.harness, ToolCallID: text(c.call), Session: text(c.thread),
			ParentSession: text(c.parent)}
		if p.Session != "" {
			p.Thread = "agents://" + c.provider + "/" + p.Session
		}
		if root := text(c.session); root != "" && p.Session != "" && root != p.Session {
			p.Session, p.RunID = root, p.Session // a subagent has a run of its own
		}
		return p
	}
	return handoff.Producer{Harness: client}
}

func (c mcpClient) named(client string) bool {
	client = strings.ToLower(client)
	for _, prefix := range c.prefixes {
		if client == prefix || strings.HasPrefix(client, prefix) {
			return true
		}
	}
	return false
}
