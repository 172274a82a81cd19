package config

import (
	"cmp"

	"github.com/agent-handoff/handoff"
)

// A harness describes the variables by which an agent program identifies itself
// to the commands that it runs.
type harness struct {
	name     string
	provider string // in thread URIs
	sign     [2]string
	ids      []string // variables that hold its thread's ID, best first
}

// harnesses are in order of priority. A process inherits the variables of every
// harness above it, so if two are set, the inner one is not certain. Claude Code
// is last, because its variable is the one that is inherited most often. (Codex documents CODEX_THREAD_ID,
// Claude Code CLAUDE_CODE_SESSION_ID since 2.1.132; the others as seen in
// their shells in 2026.)
var harnesses = []harness{
	{"codex", "codex", [2]string{}, []string{"CODEX_THREAD_ID"}},
	{"amp", "amp", [2]string{"AGENT", "amp"}, []string{"AMP_CURRENT_THREAD_ID", "AGENT_THREAD_ID"}},
	{"gemini-cli", "gemini", [2]string{"GEMINI_CLI", "1"}, []string{"GEMINI_SESSION_ID"}},
	{"pi", "pi", [2]string{}, []string{"PI_SESSION_ID"}},
	{"cursor", "cursor", [2]string{}, []string{"CURSOR_CONVERSATION_ID"}},
	{"qwen-code", "qwen", [2]string{}, []string{"QWEN_CODE_SESSION_ID"}},
	{"claude-code", "claude", [2]string{"CLAUDECODE", "1"}, []string{"CLAUDE_CODE_SESSION_ID"}},
}

// Identity returns the identities in the environment, best source first, for
// handoff.Identify: handoff's own variables, then the variable of the harness
// that most likely runs the command, then those that were inherited.
func Identity(getenv func(string) string) []handoff.Producer {
	known := []handoff.Producer{}
	own := handoff.Producer{
		Harness: getenv("HANDOFF_HARNESS"), Agent: getenv("HANDOFF_AGENT"), Session: getenv("HANDOFF_SESSION"),
		RunID: cmp.Or(getenv("HANDOFF_RUN"), piRun(getenv)), TaskID: getenv("HANDOFF_TASK"), OperationID: getenv("HANDOFF_OPERATION"),
		Thread: getenv("HANDOFF_THREAD"),
	}
	if own.RunID == own.Session {
		own.RunID = "" // pi's variables name a session that has no run as its own run
	}
	for _, value := range []string{own.Harness, own.Agent, own.Session, own.RunID, own.TaskID, own.OperationID, own.Thread} {
		if value != "" {
			own.Source = handoff.FromEnvironment
		}
	}
	if own.Source != "" {
		known = append(known, own)
	}
	source := handoff.FromHarness
	for _, h := range harnesses {
		if p, ok := h.observe(getenv); ok {
			p.Source = source
			known = append(known, p)
			source = handoff.FromInherited
		}
	}
	return append(known, handoff.Producer{Source: handoff.FromNone})
}

func (h harness) observe(getenv func(string) string) (handoff.Producer, bool) {
	var id string
	for _, name := range h.ids {
		if name == "AGENT_THREAD_ID" && getenv("AGENT") != "amp" {
			continue // other tools set it too
		}
		id = cmp.Or(id, getenv(name))
	}
	signed := h.sign[0] != "" && getenv(h.sign[0]) == h.sign[1]
	if id == "" {
		return handoff.Producer{Harness: h.name}, signed
	}
	return handoff.Producer{Harness: h.name, Session: id, Thread: "agents://" + h.provider + "/" + id}, true
}
