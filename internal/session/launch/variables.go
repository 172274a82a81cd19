package launch

import (
	"cmp"
	"strings"

	"github.com/agent-handoff/handoff/internal/config"
	"github.com/agent-handoff/handoff/session"
)

// Explain resolves a path variable, or every variable in a text that contains
// braces. Error kinds: NotFound (a file), Invalid (an unknown variable, or one
// that refers to itself).
func (l Launcher) Explain(name string, o session.VariableOptions) (session.Explanation, error) {
	o.SessionID = cmp.Or(o.SessionID, "SESSION_ID")
	variables, err := l.Variables(o)
	if err != nil {
		return session.Explanation{}, err
	}
	explain := variables.Explain
	if strings.ContainsRune(name, '{') {
		explain = variables.Resolve
	}
	value, steps, err := explain(name)
	return session.Explanation{Name: name, Value: value, Substitutions: steps}, err
}

// Variables returns the path variables. Error kinds: NotFound, Invalid.
func (l Launcher) Variables(o session.VariableOptions) (config.Paths, error) {
	for _, name := range []*string{&o.WorkflowFile, &o.ConfigFile} {
		if *name != "" {
			*name = l.path(*name)
		}
	}
	return l.Settings.Paths(config.Paths{
		ProjectRoot: l.Dirs.ProjectRoot(), Bundle: o.Bundle, SessionID: o.SessionID, UserName: o.DefaultUser, Now: l.Now(),
	}, o.WorkflowFile, o.ConfigFile)
}
