// Package hook turns what agent programs report to their hooks into facts, and
// into what a hook may answer.
package hook

import (
	"bytes"
	"cmp"
	"encoding/json"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
)

// A Kind is what happened.
type Kind string

// The kinds of events. All other events of a program are ignored; its tool calls
// are in its transcript.
const (
	SessionStart Kind = "session start" // also when one is resumed, and after a compaction
	SessionEnd   Kind = "session end"
	PromptStart  Kind = "prompt start"
	TurnEnd      Kind = "turn end"
	AgentStart   Kind = "agent start" // of a subagent
	AgentEnd     Kind = "agent end"
)

// An Event is one event of an agent program. IDs are the program's own.
type Event struct {
	Kind      Kind
	Harness   string
	Dir       string // absolute: where the program works
	Session   string
	Prompt    string // the ID of the prompt or turn, "" if the program gives none
	At        int64  // when it happened, in milliseconds since 1970; 0 if the program does not say
	Agent     string // the ID of the subagent, "" for the main agent
	AgentType string
	Parent    string // the ID of the agent that started the subagent, if it is another subagent
	Model     string
	Message   string // the last message of a subagent
	Failed    bool
	Answered  bool // the hook was called because of an earlier answer of a hook

	Background bool // subagents are still running at the end of the turn

	// The session of handoff that the program runs in, and the run in it; "" for
	// none.
	HandoffSession, HandoffRun string

	Process handoff.Process // of the program, zero if it is not known

	provider  string
	ownThread bool // a subagent's thread has a URI of its own
}

// A client describes the payloads of one agent program. (Claude Code 2.1, Codex
// 0.169, Gemini CLI 0.61, Qwen Code 0.24, Copilot CLI 1.0; the plugin of OpenCode
// 1.18 and the extension of pi 0.73 pass on what their functions get.)
type client struct {
	harness  string
	provider string // in thread URIs
	events   map[string]Kind
	own      bool // a subagent's thread has a URI of its own, not inside its parent's
}

var claudeEvents = map[string]Kind{
	"SessionStart": SessionStart, "SessionEnd": SessionEnd, "UserPromptSubmit": PromptStart,
	"Stop": TurnEnd, "SubagentStart": AgentStart, "SubagentStop": AgentEnd,
}

var clients = map[string]client{
	"claude": {harness: "claude-code", provider: "claude", events: claudeEvents},
	"codex":  {harness: "codex", provider: "codex", events: claudeEvents, own: true},
	"qwen":   {harness: "qwen-code", provider: "qwen", events: claudeEvents},
	"gemini": {harness: "gemini-cli", provider: "gemini", events: map[string]Kind{
		"SessionStart": SessionStart, "SessionEnd": SessionEnd, "BeforeAgent": PromptStart, "AfterAgent": TurnEnd,
	}},
	"copilot": {harness: "copilot-cli", provider: "copilot", events: map[string]Kind{
		"sessionStart": SessionStart, "sessionEnd": SessionEnd, "userPromptSubmitted": PromptStart, "agentStop": TurnEnd,
		"subagentStart": AgentStart, "subagentStop": AgentEnd,
	}},
	"opencode": {harness: "opencode", provider: "opencode", own: true, events: map[string]Kind{
		"session.created": SessionStart, "session.idle": TurnEnd, "session.error": TurnEnd, "chat.message": PromptStart,
	}},
	"pi": {harness: "pi", provider: "pi", own: true, events: map[string]Kind{
		"session_start": SessionStart, "session_shutdown": SessionEnd, "agent_start": PromptStart, "agent_end": TurnEnd,
	}},
}

// Clients returns the names of the agent programs whose hooks are known.
func Clients() []string {
	return []string{"claude", "codex", "copilot", "gemini", "opencode", "pi", "qwen"}
}

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
func Parse(program, event string, data []byte, getenv func(string) string) (Event, bool) {
	c, ok := clients[program]
	if !ok {
		return Event{}, false
	}
	var p payload
	if err := json.Unmarshal(bytes.TrimSpace(data), &p); err != nil {
		return Event{}, false
	}
	name := cmp.Or(p.Event, p.Type, p.Ev.Type, event)
	kind, ok := c.events[strings.TrimPrefix(name, "event.")]
	if !ok {
		return Event{}, false
	}
	e := p.event(c, kind)
	if !isID(e.Session) || e.Agent != "" && !isID(e.Agent) || e.Prompt != "" && !isID(e.Prompt) || !path.IsAbs(e.Dir) {
		return Event{}, false
	}
	if id := getenv("HANDOFF_SESSION"); isID(id) {
		e.HandoffSession = id
	}
	if id := getenv("HANDOFF_RUN"); isID(id) && id != e.HandoffSession {
		e.HandoffRun = id
	}
	return e, true
}

func (p payload) event(c client, kind Kind) Event {
	e := Event{
		Kind: kind, Harness: c.harness, provider: c.provider, ownThread: c.own,
		Dir:        cmp.Or(p.Cwd, p.Properties.Info.Directory, p.Input.Cwd),
		Session:    cmp.Or(p.Session, p.SessionID, p.Properties.Session, p.Input.Session),
		Prompt:     cmp.Or(p.Prompt, p.Turn, p.Output.Message.ID),
		Agent:      cmp.Or(p.Agent, p.AgentID),
		AgentType:  cmp.Or(p.AgentType, p.AgentType2),
		Parent:     p.Parent,
		Message:    cmp.Or(p.Message, p.Response),
		Answered:   p.Active,
		Background: len(p.Tasks) > 0,
		Failed: p.Properties.Error != nil || p.Reason == "error" || p.StopReason == "error" ||
			slices.Contains([]string{"error", "aborted"}, p.Ev.StopReason),
	}
	e.AgentType, _ = handoff.RedactText(e.AgentType) // it is in titles
	if model, ok := p.Model.(string); ok {
		e.Model = model
	}
	e.Model = cmp.Or(e.Model, p.Output.Message.Model.ID)
	if info := p.Properties.Info; info.Parent != "" { // OpenCode reports a subagent as a session with a parent
		e.Kind, e.Session, e.Agent, e.AgentType = AgentStart, info.Parent, info.ID, info.Agent
	}
	switch {
	case p.Outer != "" && p.Outer != e.Session: // pi's subagents are sessions of their own
		e.Session, e.Agent = p.Outer, e.Session
		if agent, ok := map[Kind]Kind{SessionStart: AgentStart, SessionEnd: AgentEnd}[kind]; ok {
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

// Thread returns the URI of the thread that the event is about.
func (e Event) Thread() string {
	uri := thread.URI{Provider: e.provider, Thread: e.Session, Agent: e.Agent}
	if e.Agent != "" && e.ownThread {
		uri.Thread, uri.Agent = e.Agent, ""
	}
	return uri.String()
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
