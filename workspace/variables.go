package workspace

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
	SessionID    string // the value of {session_id}; for Explain by default the caller's session, else SESSION_ID
	DefaultUser  string // the value of {user_name} if the bundle has none
}

// A Substitution is one variable that was replaced while a path was resolved.
type Substitution = config.Substitution

// An Explanation shows how a path variable was resolved.
type Explanation struct {
	Name          string         `json:"name"`
	Value         string         `json:"value"`
	Substitutions []Substitution `json:"substitutions"` // in the order of the text, each followed by those inside it
}

// Explain resolves a path variable, or every variable in a text that contains
// braces.
//
// Kinds: NotFound (a file), Invalid (an unknown variable, or one that refers to
// itself).
func (w *Workspace) Explain(name string, o VariableOptions) (Explanation, error) {
	o.SessionID = cmp.Or(o.SessionID, w.ownSession(), "SESSION_ID")
	variables, err := w.variables(o)
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

// variables returns the path variables. Kinds: NotFound, Invalid.
func (w *Workspace) variables(o VariableOptions) (config.Paths, error) {
	for _, name := range []*string{&o.WorkflowFile, &o.ConfigFile} {
		if *name != "" {
			*name = w.path(*name)
		}
	}
	return w.settings.Paths(config.Paths{
		ProjectRoot: w.dirs.ProjectRoot(), Bundle: o.Bundle, SessionID: o.SessionID, UserName: o.DefaultUser, Now: w.now(),
	}, o.WorkflowFile, o.ConfigFile)
}
