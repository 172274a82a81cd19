package hook

import (
	"slices"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/trace"
)

// answering are the programs that take up what their hooks print.
var answering = []string{"claude", "codex", "gemini", "qwen"}

// reply returns what a hook prints so that a program takes up a text, or nil if
// the program takes none up at this event.
func reply(e trace.HookEvent, text string) ([]byte, error) {
	type output struct {
		Event   string `json:"hookEventName"`
		Context string `json:"additionalContext"`
	}
	answers := slices.Contains(answering, e.Provider)
	switch {
	case text == "":
		return nil, nil
	case e.Kind == trace.SessionStart && answers:
		return handoff.EncodeJSON(map[string]any{"hookSpecificOutput": output{"SessionStart", text}})
	case e.Kind == trace.TurnEnd && answers:
		return handoff.EncodeJSON(map[string]any{"systemMessage": text})
	}
	return nil, nil
}

// resume returns what a hook prints at the end of a turn so that the program
// continues with a text, or nil if the program cannot.
func resume(e trace.HookEvent, text string) ([]byte, error) {
	if !slices.Contains(answering, e.Provider) {
		return nil, nil
	}
	return handoff.EncodeJSON(map[string]any{"decision": "block", "reason": text})
}
