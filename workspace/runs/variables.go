package runs

import (
	"github.com/agent-handoff/handoff/internal/config"
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/workspace/sessions"
)

// VariableNames returns the names of the variables that every workspace has.
func VariableNames() []string { return config.VariableNames() }

// Explain resolves a path variable, or every variable in a text that contains
// braces. The session is by default the caller's, else SESSION_ID.
//
// Kinds: NotFound (a file), Invalid (an unknown variable, or one that refers to
// itself).
func (r Runs) Explain(name string, o session.VariableOptions) (session.Explanation, error) {
	return sessions.New(r.c, r.all).Explain(name, o)
}
