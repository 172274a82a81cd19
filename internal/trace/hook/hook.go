// Package hook turns what agent programs report to their hooks into facts, and
// into what a hook may answer.
package hook

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/trace"
)

// A client describes the payloads of one agent program. (Claude Code 2.1, Codex
// 0.169, Gemini CLI 0.61, Qwen Code 0.24, Kimi Code 2.1, Droid 0.225, Cline 3.0, Copilot
// CLI 1.0; the plugin of OpenCode 1.18 and the extension of pi 0.73 pass on what their functions get.)
type client struct {
	harness  string
	provider string // in thread URIs
	events   map[string]trace.HookKind
	own      bool // a subagent's thread has a URI of its own, not inside its parent's
}

var claudeEvents = map[string]trace.HookKind{
	"SessionStart": trace.SessionStart, "SessionEnd": trace.SessionEnd, "UserPromptSubmit": trace.PromptStart,
	"Stop": trace.TurnEnd, "SubagentStart": trace.AgentStart, "SubagentStop": trace.AgentEnd,
}

// planEvents are those of Claude Code, with the events of the tool by which a plan is presented.
var planEvents = func() map[string]trace.HookKind {
	all := map[string]trace.HookKind{"PermissionRequest": trace.PlanReady, "PostToolUse": trace.PlanAccepted}
	maps.Copy(all, claudeEvents)
	return all
}()

// planTool presents a plan.
const planTool = "ExitPlanMode"

// openCodeEvents are those of OpenCode, and of Kilo, a fork.
var openCodeEvents = map[string]trace.HookKind{
	"session.created": trace.SessionStart, "session.idle": trace.TurnEnd, "session.error": trace.TurnEnd,
	"chat.message": trace.PromptStart,
}

// clineEvents are those of Cline, whose agents start at each prompt. It reports no other start of a session.
var clineEvents = map[string]trace.HookKind{
	"agent_start": trace.PromptStart, "agent_resume": trace.PromptStart, "agent_end": trace.TurnEnd,
	"agent_error": trace.TurnEnd, "agent_abort": trace.TurnEnd, "session_shutdown": trace.SessionEnd,
}

var clients = map[string]client{
	"claude": {harness: "claude-code", provider: "claude", events: planEvents},
	"codex":  {harness: "codex", provider: "codex", events: claudeEvents, own: true},
	"cline":  {harness: "cline", provider: "cline", events: clineEvents},
	"qwen":   {harness: "qwen-code", provider: "qwen", events: claudeEvents},
	"kimi":   {harness: "kimi", provider: "kimi", events: claudeEvents},
	"droid":  {harness: "droid", provider: "droid", events: claudeEvents},
	"gemini": {harness: "gemini-cli", provider: "gemini", events: map[string]trace.HookKind{
		"SessionStart": trace.SessionStart, "SessionEnd": trace.SessionEnd, "BeforeAgent": trace.PromptStart,
		"AfterAgent": trace.TurnEnd,
	}},
	"copilot": {harness: "copilot-cli", provider: "copilot", events: map[string]trace.HookKind{
		"sessionStart": trace.SessionStart, "sessionEnd": trace.SessionEnd, "userPromptSubmitted": trace.PromptStart,
		"agentStop":     trace.TurnEnd,
		"subagentStart": trace.AgentStart, "subagentStop": trace.AgentEnd,
	}},
	"kilo":     {harness: "kilo", provider: "kilo", own: true, events: openCodeEvents},
	"opencode": {harness: "opencode", provider: "opencode", own: true, events: openCodeEvents},
	"pi": {harness: "pi", provider: "pi", own: true, events: map[string]trace.HookKind{
		"session_start": trace.SessionStart, "session_shutdown": trace.SessionEnd, "agent_start": trace.PromptStart,
		"agent_end": trace.TurnEnd,
	}},
}

// Clients returns the names of the agent programs whose hooks are known.
func Clients() []string { return slices.Sorted(maps.Keys(clients)) }

// A payload has the members of all programs' payloads that matter here.
type payload struct {
	Event      string            `json:"hook_event_name"`
	Cwd        string            `json:"cwd"`
	Session    string            `json:"session_id"`
	SessionID  string            `json:"sessionId"`
	Prompt     string            `json:"prompt_id"`
	Turn       string            `json:"turn_id"`
	Agent      string            `json:"agent_id"`
	AgentID    string            `json:"agentId"`
	AgentType  string            `json:"agent_type"`
	AgentType2 string            `json:"agentType"`
	Parent     string            `json:"parentAgentId"`
	Model      any               `json:"model"`
	Timestamp  any               `json:"timestamp"`
	Reason     string            `json:"reason"`
	Message    string            `json:"last_assistant_message"`
	Response   string            `json:"response"`
	Active     bool              `json:"stop_hook_active"`
	StopReason string            `json:"stopReason"`
	Tasks      []json.RawMessage `json:"background_tasks"`
	Tool       string            `json:"tool_name"`
	ToolInput  json.RawMessage   `json:"tool_input"`

	// Cline's events. An agent without a parent is the session.
	HookName       string `json:"hookName"`
	SessionContext struct {
		Root string `json:"rootSessionId"`
	} `json:"sessionContext"`
	Workspaces []string `json:"workspaceRoots"`
	Answer     struct {
		Text string `json:"outputText"`
	} `json:"turn"`
	Owner string `json:"parent_agent_id"`

	// OpenCode's events and functions.
	Type       string `json:"type"`
	Properties struct {
		Session string `json:"sessionID"`
		Info    struct {
			ID, Directory string
			Parent        string `json:"parentID"`
			Agent         string
		}
		Error any
	}
	Input struct {
		Session string `json:"sessionID"`
		Cwd     string
	}
	Output struct {
		Message struct {
			ID    string
			Agent string
			Model struct {
				ID string `json:"modelID"`
			}
		}
	}

	// pi's functions, and the session that started this pi.
	Ev struct {
		Type       string
		StopReason string // of the last answer
	}
	Outer string `json:"outerSessionId"`
}

// Parse reads a payload of a program. event is the name of the event if the
// payload does not contain it; getenv is the environment of the hook. It returns
// false for what is not of interest: an event that is not known, or a payload that
// is not one of the program's.
func Parse(program, event string, data []byte, getenv func(string) string) (trace.HookEvent, bool) {
	c, ok := clients[program]
	if !ok {
		return trace.HookEvent{}, false
	}
	var p payload
	if err := json.Unmarshal(bytes.TrimSpace(data), &p); err != nil {
		return trace.HookEvent{}, false
	}
	name := cmp.Or(p.Event, p.HookName, p.Type, p.Ev.Type, event)
	kind, ok := c.events[strings.TrimPrefix(name, "event.")]
	if !ok {
		return trace.HookEvent{}, false
	}
	e := p.event(c, kind)
	if e.Plan, e.Input = planIn(p); (kind == trace.PlanReady && e.Plan == "") ||
		(kind == trace.PlanAccepted && p.Tool != planTool) {
		return trace.HookEvent{}, false
	}
	if !isID(e.Session) || e.Agent != "" && !isID(e.Agent) || e.Prompt != "" && !isID(e.Prompt) || !path.IsAbs(e.Dir) {
		return trace.HookEvent{}, false
	}
	if id := getenv("HANDOFF_SESSION"); isID(id) {
		e.HandoffSession = id
	}
	if id := getenv("HANDOFF_RUN"); isID(id) && id != e.HandoffSession {
		e.HandoffRun = id
	}
	return e, true
}

// planIn returns the plan that a tool presents, "" for none, and the input of the tool.
func planIn(p payload) (string, json.RawMessage) {
	var input struct{ Plan string }
	if p.Tool != planTool || json.Unmarshal(p.ToolInput, &input) != nil || strings.TrimSpace(input.Plan) == "" {
		return "", nil
	}
	return input.Plan, p.ToolInput
}

func (p payload) event(c client, kind trace.HookKind) trace.HookEvent {
	e := trace.HookEvent{
		Kind: kind, Harness: c.harness, Provider: c.provider, OwnThread: c.own,
		Dir:        cmp.Or(p.Cwd, p.Properties.Info.Directory, p.Input.Cwd),
		Session:    cmp.Or(p.Session, p.SessionID, p.SessionContext.Root, p.Properties.Session, p.Input.Session),
		Prompt:     cmp.Or(p.Prompt, p.Turn, p.Output.Message.ID),
		Agent:      cmp.Or(p.Agent, p.AgentID),
		AgentType:  cmp.Or(p.AgentType, p.AgentType2),
		Parent:     p.Parent,
		Message:    cmp.Or(p.Message, p.Response, p.Answer.Text),
		Answered:   p.Active,
		Background: len(p.Tasks) > 0,
		Failed: p.Properties.Error != nil || p.Reason == "error" || p.StopReason == "error" ||
			p.HookName == "agent_error" || p.HookName == "agent_abort" ||
			slices.Contains([]string{"error", "aborted"}, p.Ev.StopReason),
	}
	e.AgentType, _ = handoff.RedactText(e.AgentType) // it is in titles
	if model, ok := p.Model.(string); ok {
		e.Model = model
	}
	e.Model = cmp.Or(e.Model, p.Output.Message.Model.ID)
	if info := p.Properties.Info; info.Parent != "" { // OpenCode reports a subagent as a session with a parent
		e.Kind, e.Session, e.Agent, e.AgentType = trace.AgentStart, info.Parent, info.ID, info.Agent
	}
	if len(p.Workspaces) > 0 {
		e.Dir = cmp.Or(e.Dir, p.Workspaces[0])
	}
	switch {
	case p.HookName != "" && p.Owner == "":
		e.Agent = ""
	case p.HookName != "":
		if e.Kind = trace.AgentStart; kind != trace.PromptStart {
			e.Kind = trace.AgentEnd
		}
	case p.Outer != "" && p.Outer != e.Session: // pi's subagents are sessions of their own
		e.Session, e.Agent = p.Outer, e.Session
		if agent, ok := map[trace.HookKind]trace.HookKind{trace.SessionStart: trace.AgentStart,
			trace.SessionEnd: trace.AgentEnd}[kind]; ok {
			e.Kind = agent
		}
	case e.Session == e.Agent && e.Parent != "": // as Copilot CLI reports the prompts of a subagent
		e.Session = e.Parent
	}
	if e.Parent == e.Session {
		e.Parent = ""
	}
	e.At = milliseconds(p.Timestamp)
	return e
}

// milliseconds returns a time as milliseconds since 1970, 0 if it is not known.
// Programs write it so, or as RFC 3339.
func milliseconds(at any) int64 {
	switch at := at.(type) {
	case float64:
		return int64(at)
	case string:
		if t, err := time.Parse(time.RFC3339, at); err == nil {
			return t.UnixMilli()
		}
	}
	return 0
}

// isID reports whether a text can be an ID that a program made: short, on one
// line, without characters that control a terminal.
func isID(s string) bool {
	const longest = 200
	if s == "" || len(s) > longest || s[0] == '-' {
		return false
	}
	for _, r := range s {
		if r <= ' ' || r > '~' {
			return false
		}
	}
	return true
}
