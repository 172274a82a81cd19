package config

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/settings"
)

// Paths has the values of the variables in paths. A name is looked up in the
// engine's variables, then in the workflow's, then in the bundle's. {x} and {{x}}
// are the same.
type Paths struct {
	ProjectRoot   string            // {project-root}, absolute
	Bundle        string            // the bundle's path, such as bmm
	ConfigSource  string            // {config_source}, the bundle's config.yaml; {config_source}:key is a value of it
	Config        map[string]string // what it says
	Workflow      map[string]string // what the workflow's workflow.yaml says
	Inputs        map[string]any    // its inputs, with their variables replaced
	SessionID     string            // {session_id}
	SessionFolder string            // {session_folder} of a run, absolute; "" if the files define it
	UserName      string            // {user_name}, where the bundle has none
	Now           time.Time         // {date}, in its location
}

// defaults are the variables of a bundle and a workflow that do not define the
// folders of sessions: "Session Output Management Specification", 1.0.0.
var defaults = map[string]string{
	"output_folder":        "{project-root}/docs",
	"agent_outputs_folder": "{output_folder}/agent-outputs",
	"session_folder":       "{config_source}:agent_outputs_folder/{{session_id}}",
	"manifest_file":        "{session_folder}/manifest.json",
	"default_output_file":  "{session_folder}/output.md",
}

// bundleRoot is the variable that only an agent of a known bundle has.
const bundleRoot = "bundle-root"

// maxSubstitutions limits the work for one text: variables that each contain the
// next one twice grow exponentially.
const maxSubstitutions = 200

var variable = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\{config_source\}:(\w+)|\{\{([\w-]+)\}\}|\{([\w-]+)\}`)
})

// Resolve replaces every variable of a text, innermost first, and returns the
// substitutions in the order of the text, each followed by those inside it.
// Error kind: Invalid, if a name is unknown, refers to itself, or needs too many
// substitutions.
func (p Paths) Resolve(text string) (string, []settings.Substitution, error) {
	r := resolver{paths: p}
	value, err := r.resolve(text, nil)
	return value, r.done, err
}

// Explain resolves the variable with the given name, which need not be one that a
// text can contain.
func (p Paths) Explain(name string) (string, []settings.Substitution, error) {
	r := resolver{paths: p}
	name = strings.Trim(name, "{}")
	value, err := r.value("{"+name+"}", name, false, nil)
	return value, r.done, err
}

// Variables returns the value of every variable that has one, and a warning for
// each reason why others have none.
func (p Paths) Variables() (values map[string]string, warnings []string) {
	values = map[string]string{}
	var reasons []string
	unset := map[string][]string{} // by reason
	for _, name := range p.names() {
		value, _, err := p.Explain(name)
		if err == nil {
			values[name] = value
			continue
		}
		reason := err.Error()
		if unset[reason] == nil {
			reasons = append(reasons, reason)
		}
		unset[reason] = append(unset[reason], name)
	}
	for _, reason := range reasons {
		warnings = append(warnings, strings.Join(unset[reason], ", ")+" not set: "+reason)
	}
	return values, warnings
}

type resolver struct {
	paths Paths
	done  []settings.Substitution
}

func (r *resolver) resolve(text string, within []string) (string, error) {
	var out strings.Builder
	at := 0
	for _, m := range variable().FindAllStringSubmatchIndex(text, -1) {
		out.WriteString(text[at:m[0]])
		at = m[1]
		name := text[max(m[2], m[4], m[6]):max(m[3], m[5], m[7])] // one of the groups matched
		value, err := r.value(text[m[0]:m[1]], name, m[2] >= 0, within)
		if err != nil {
			return "", err
		}
		out.WriteString(value)
	}
	out.WriteString(text[at:])
	return out.String(), nil
}

// value returns the value of a variable as it is written, of the bundle alone or of any
// source.
func (r *resolver) value(written, name string, ofBundle bool, within []string) (string, error) {
	var key, definition, from string
	ok := false
	if ofBundle { // {config_source}:key
		key = "config." + name
		definition, from, ok = r.paths.bundle(name)
	} else {
		key = name
		definition, from, ok = r.paths.lookUp(name)
		if from == "config.yaml" || from == "default" {
			key = "config." + name
		}
	}
	if !ok {
		hint := "the variables are " + strings.Join(r.paths.names(), ", ")
		if name == bundleRoot {
			hint = "name the agent's bundle, or an agent file that does"
		}
		return "", handoff.E("resolve", written, handoff.Invalid, errors.New("no such variable"), handoff.Advice(hint))
	}
	if i := slices.Index(within, key); i >= 0 {
		chain := append(slices.Clone(within[i:]), key)
		return "", handoff.E("resolve", written, handoff.Invalid,
			fmt.Errorf("refers to itself: %s", strings.ReplaceAll(strings.Join(chain, " → "), "config.", "")),
			handoff.Advice("give one of them a value of its own"))
	}
	if len(r.done) >= maxSubstitutions {
		return "", handoff.E("resolve", written, handoff.Invalid,
			fmt.Errorf("takes more than %d substitutions", maxSubstitutions),
			handoff.Advice("write the path with fewer variables"))
	}
	place := len(r.done)
	r.done = append(r.done, settings.Substitution{Text: written, Definition: definition, Source: from, Depth: len(within)})
	value := definition
	if from != "engine" {
		var err error
		if value, err = r.resolve(definition, append(within, key)); err != nil {
			return "", err
		}
	}
	r.done[place].Value = value
	return value, nil
}

// lookUp returns the definition of a name and its source. A name that is unknown
// as it is written is looked up with underscores for its dashes, and the other
// way around.
func (p Paths) lookUp(name string) (definition, from string, ok bool) {
	for _, spelling := range []string{name, strings.ReplaceAll(name, "-", "_"), strings.ReplaceAll(name, "_", "-")} {
		if definition, from, ok = p.define(spelling); ok {
			return definition, from, true
		}
	}
	return "", "", false
}

func (p Paths) define(name string) (definition, from string, ok bool) {
	if definition, ok := p.engine()[name]; ok {
		return definition, "engine", true
	}
	if definition, ok := p.Workflow[name]; ok && definition != "" {
		return definition, "workflow.yaml", true
	}
	return p.bundle(name)
}

func (p Paths) bundle(name string) (definition, from string, ok bool) {
	if definition, ok = p.Config[name]; definition == "" && defaults[name] != "" {
		return defaults[name], "default", true
	}
	return definition, "config.yaml", ok
}

func (p Paths) engine() map[string]string {
	known := map[string]string{
		"project-root": p.ProjectRoot,
		bundleRoot:     filepath.Join(p.ProjectRoot, "bmad/custom/bundles", p.Bundle),
		"core-root":    filepath.Join(p.ProjectRoot, "bmad/core"),
		"date":         p.Now.Format(time.DateOnly),
	}
	if p.ConfigSource != "" {
		known["config_source"] = p.ConfigSource
	}
	if p.SessionID != "" {
		known["session_id"] = p.SessionID
	}
	if p.SessionFolder != "" {
		known["session_folder"] = p.SessionFolder
	}
	if _, ok := p.Config["user_name"]; !ok && p.UserName != "" {
		known["user_name"] = p.UserName
	}
	if p.Bundle == "" {
		delete(known, bundleRoot)
	}
	return known
}

// VariableNames returns the names of the variables that every workspace has.
func VariableNames() []string { return Paths{}.names() }

func (p Paths) names() []string {
	names := map[string]bool{}
	for _, m := range []map[string]string{p.engine(), p.Workflow, p.Config, defaults} {
		for name := range m {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// Inside returns the path of a session folder relative to root, with slashes; both
// are absolute. It compares path segments, so a..b.md is a valid name. Error kind:
// Invalid, if the path is not inside root.
func Inside(root, name string) (string, error) {
	refuse := func(why string) (string, error) {
		return "", handoff.E("resolve session_folder", name, handoff.Invalid, errors.New(why),
			handoff.Suggest("see how the path is resolved", handoff.ActionExplain, "session_folder"))
	}
	if !filepath.IsAbs(name) {
		return refuse("not an absolute path")
	}
	if slices.Contains(strings.Split(filepath.ToSlash(name), "/"), "..") {
		return refuse("path contains ..")
	}
	rel, err := filepath.Rel(root, filepath.Clean(name))
	if err != nil || !filepath.IsLocal(rel) || rel == "." {
		return refuse("path is not inside " + root)
	}
	return filepath.ToSlash(rel), nil
}
