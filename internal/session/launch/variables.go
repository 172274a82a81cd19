package launch

import (
	"cmp"
	"strings"

	"github.com/agent-handoff/handoff/internal/config"
)

// VariableOptions select the files and values that path variables come from.
type VariableOptions struct {
	Bundle       string // the agent's bundle
	WorkflowFile string // a workflow.yaml
	ConfigFile   string // the bundle's config.yaml; by default the workflow's config_source
	SessionID    string // the value of {session_id}; for Explain by default SESSION_ID
	DefaultUser  string // the value of {user_name} if the bundle has none
}

// An Explanation shows how a path variable was resolved.
type Explanation struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// in the order of the text, each followed by those inside it
	Substitutions []config.Substitution `json:"substitutions"`
}

// Explain resolves a path variable, or every variable in a text that contains
// braces. Error kinds: NotFound (a file), Invalid (an unknown variable, or one
// that refers to itself).
func (l Launcher) Explain(name string, o VariableOptions) (Explanation, error) {
	o.SessionID = cmp.Or(o.SessionID, "SESSION_ID")
	variables, err := l.Variables(o)
	if err != nil {
		return Explanation{}, err
	}
	explain := variables.Explain
	if strings.ContainsRune(name, '{') {
		explain = variables.Resolve
	}
	value, steps, err := explain(name)
	return Explanation{Name: name, Value: value, Substitutions: steps}, err
}

// Variables returns the path variables. Error kinds: NotFound, Invalid.
func (l Launcher) Variables(o VariableOptions) (config.Paths, error) {
	for _, name := range []*string{&o.WorkflowFile, &o.ConfigFile} {
		if *name != "" {
			*name = l.path(*name)
		}
	}
	return l.Settings.Paths(config.Paths{
		ProjectRoot: l.Dirs.ProjectRoot(), Bundle: o.Bundle, SessionID: o.SessionID, UserName: o.DefaultUser, Now: l.Now(),
	}, o.WorkflowFile, o.ConfigFile)
}
