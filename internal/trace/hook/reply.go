package hook

import (
	"slices"

	"github.com/agent-handoff/handoff"
)

// answering are the programs that take up what their hooks print.
var answering = []string{"claude", "codex", "gemini", "qwen"}

// reply returns what a hook prints so that a program takes up a text, or nil if
// the program takes none up at this event.
func (e Event) reply(text string) ([]byte, error) {
	type output struct {
		Event   string `json:"hookEventName"`
		Context string `json:"additionalContext"`
	}
	answers := slices.Contains(answering, e.provider)
	switch {
	case text == "":
		return nil, nil
	case e.Kind == SessionStart && answers:
		return handoff.EncodeJSON(map[string]any{"hookSpecificOutput": output{"SessionStart", text}})
	case e.Kind == TurnEnd && answers:
		return handoff.EncodeJSON(map[string]any{"systemMessage": text})
	}
	return nil, nil
}

// resume returns what a hook prints at the end of a turn so that the program
// continues with a text, or nil if the program cannot.
func (e Event) resume(text string) ([]byte, error) {
	if !slices.Contains(answering, e.provider) {
		return nil, nil
	}
	return handoff.EncodeJSON(map[string]any{"decision": "block", "reason": text})
}
