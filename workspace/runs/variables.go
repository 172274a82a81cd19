package runs

import (
	"cmp"

	"github.com/agent-handoff/handoff/internal/config"
	"github.com/agent-handoff/handoff/session"
)

// VariableNames returns the names of the variables that every workspace has.
func VariableNames() []string { return config.VariableNames() }

// Explain resolves a path variable, or every variable in a text that contains
// braces. The session is by default the caller's, else SESSION_ID.
//
// Kinds: NotFound (a file), Invalid (an unknown variable, or one that refers to
// itself).
func (r Runs) Explain(name string, o session.VariableOptions) (session.Explanation, error) {
	o.SessionID = cmp.Or(o.SessionID, r.o.Own)
	return r.o.Launcher().Explain(name, o)
}
