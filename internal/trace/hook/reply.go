package hook

import (
	"slices"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/trace"
)

// answering are the programs that take up what their hooks print.
var answering = []string{"claude", "codex", "gemini", "qwen"}

// answers reports whether the program of an event takes up what its hooks print.
func answers(e trace.HookEvent) bool { return slices.Contains(answering, e.Provider) }

// reply returns what a hook prints so that a program takes up a text, or nil if
// the program takes none up at this event.
func reply(e trace.HookEvent, text string) ([]byte, error) {
	type output struct {
		Event   string `json:"hookEventName"`
		Context string `json:"additionalContext"`
	}
	switch {
	case text == "" || !answers(e):
		return nil, nil
	case e.Kind == trace.PromptStart && e.Provider == "gemini":
		return handoff.EncodeJSON(map[string]any{"hookSpecificOutput": output{"BeforeAgent", text}})
	case e.Kind == trace.PromptStart:
		return handoff.EncodeJSON(map[string]any{"hookSpecificOutput": output{"UserPromptSubmit", text}})
	case e.Kind == trace.PlanAccepted:
		return handoff.EncodeJSON(map[string]any{"hookSpecificOutput": output{"PostToolUse", text}})
	case e.Kind == trace.SessionStart:
		return handoff.EncodeJSON(map[string]any{"hookSpecificOutput": output{"SessionStart", text}})
	case e.Kind == trace.AgentStart && e.Provider == "claude": // Claude Code 2.1
		return handoff.EncodeJSON(map[string]any{"hookSpecificOutput": output{"SubagentStart", text}})
	case e.Kind == trace.TurnEnd:
		return handoff.EncodeJSON(map[string]any{"systemMessage": text})
	}
	return nil, nil
}

// resume returns what a hook prints at the end of a turn so that the program
// continues with a text, or nil if the program cannot.
func resume(e trace.HookEvent, text string) ([]byte, error) {
	if !answers(e) {
		return nil, nil
	}
	return handoff.EncodeJSON(map[string]any{"decision": "block", "reason": text})
}
