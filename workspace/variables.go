package workspace

import (
	"errors"
	"maps"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/config"
)

// VariableOptions select the files and values that path variables come from.
type VariableOptions struct {
	Bundle       string // the agent's bundle
	WorkflowFile string // a workflow.yaml
	ConfigFile   string // the bundle's config.yaml; by default the workflow's config_source
	SessionID    string // the value of {session_id}
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

// variables returns the path variables. The bundle's settings override those of
// the workspace. Kinds: NotFound, Invalid.
func (w *Workspace) variables(o VariableOptions) (config.Paths, error) {
	p := config.Paths{ProjectRoot: w.ProjectRoot(), Bundle: o.Bundle, SessionID: o.SessionID, UserName: o.DefaultUser, Now: w.now(), Config: map[string]string{}}
	for key, value := range map[string]string{"output_folder": w.Config.OutputFolder, "agent_outputs_folder": w.Config.AgentOutputsFolder} {
		if value != "" {
			p.Config[key] = value
		}
	}
	var err error
	if o.WorkflowFile != "" {
		if p.Workflow, err = config.LoadVariables(w.path(o.WorkflowFile)); err != nil {
			return p, err
		}
	}
	file, named := "", o.ConfigFile != ""
	if named {
		file = w.path(o.ConfigFile)
	} else if source := p.Workflow["config_source"]; source != "" {
		if file, _, err = p.Resolve(source); err != nil {
			return p, err
		}
	}
	if file == "" {
		return p, nil
	}
	p.ConfigSource = file
	bundle, err := config.LoadVariables(file)
	if err != nil && (named || !errors.Is(err, handoff.NotFound)) {
		return p, err
	}
	maps.Copy(p.Config, bundle)
	return p, nil
}
