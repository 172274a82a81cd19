package hook

import (
	"github.com/agent-handoff/handoff"
)

// Reply returns what a hook prints so that a program takes up a text, or nil if
// the program takes none up at this event.
func (e Event) Reply(text string) ([]byte, error) {
	if text == "" || e.Answered {
		return nil, nil
	}
	type output struct {
		Event   string `json:"hookEventName"`
		Context string `json:"additionalContext"`
	}
	switch {
	case e.Kind == SessionStart && (e.provider == "claude" || e.provider == "codex" || e.provider == "qwen" || e.provider == "gemini"):
		return handoff.EncodeJSON(map[string]any{"hookSpecificOutput": output{"SessionStart", text}})
	case e.Kind == TurnEnd && e.Agent == "" && (e.provider == "claude" || e.provider == "codex" || e.provider == "qwen" || e.provider == "gemini"):
		return handoff.EncodeJSON(map[string]any{"systemMessage": text})
	case e.provider == "opencode" || e.provider == "pi": // their plugins ask for the text itself
		return handoff.EncodeJSON(map[string]any{"context": text})
	}
	return nil, nil
}
