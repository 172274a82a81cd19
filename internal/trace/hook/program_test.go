package hook

import (
	"slices"
	"strings"
	"testing"
)

// TestNewProgram has the command lines that get an ID for their thread.
func TestNewProgram(t *testing.T) {
	for line, want := range map[string]struct{ args, provider string }{
		"claude":                                {"claude --session-id ID", "claude"},
		"/opt/bin/claude -p go":                 {"/opt/bin/claude --session-id ID -p go", "claude"},
		"claude fix mcp":                        {"claude --session-id ID fix mcp", "claude"},
		"claude mcp list":                       {"claude mcp list", "claude"},
		"claude --debug mcp list":               {"claude --debug mcp list", "claude"},
		"claude --debug -p go":                  {"claude --session-id ID --debug -p go", "claude"},
		"claude -p --resume x go":               {"claude -p --resume x go", "claude"},
		"claude -c":                             {"claude -c", "claude"},
		"claude --session-id=x -p go":           {"claude --session-id=x -p go", "claude"},
		"claude --bg go":                        {"claude --bg go", "claude"},
		"claude --no-session-persistence -p go": {"claude --no-session-persistence -p go", "claude"},
		"codex exec go":                         {"codex exec go", "codex"},
		"cursor-agent":                          {"cursor-agent", "cursor"},
		"qwen go":                               {"qwen go", "qwen"},
		"goose run":                             {"goose run", "goose"},
		"sh -c claude":                          {"sh -c claude", ""},
	} {
		p, err := NewProgram(strings.Fields(line), func() (string, error) { return "ID", nil })
		if err != nil || strings.Join(p.Args, " ") != want.args || p.Provider != want.provider ||
			(p.Session != "") != slices.Contains(p.Args, "ID") {
			t.Errorf("%s: got %+v, %v, want %+v", line, p, err, want)
		}
	}
}
