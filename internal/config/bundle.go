package config

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/internal/tool/plainfile"
	"go.yaml.in/yaml/v4"
)

// Paths returns p with the variables of a workflow.yaml and of a bundle's
// config.yaml; each file may be "". The bundle's values override the settings of
// the workspace. Without a config.yaml the workflow's config_source names it, and
// need not exist. Error kinds: NotFound, Invalid, Unavailable.
func (c Config) Paths(p Paths, workflow, bundle string) (_ Paths, err error) {
	if p, err = c.paths(p, workflow, bundle); err != nil || workflow == "" {
		return p, err
	}
	p.Inputs, err = p.loadInputs(workflow)
	return p, err
}

func (c Config) paths(p Paths, workflow, bundle string) (_ Paths, err error) {
	p.Config = map[string]string{}
	for key, value := range map[string]string{"output_folder": c.OutputFolder,
		"agent_outputs_folder": c.AgentOutputsFolder} {
		if value != "" {
			p.Config[key] = value
		}
	}
	if workflow != "" {
		if p.Workflow, err = LoadVariables(workflow); err != nil {
			return p, err
		}
	}
	p.ConfigSource = bundle
	if source := p.Workflow["config_source"]; bundle == "" && source != "" {
		resolved, _, err := p.Resolve(source)
		if err != nil {
			return p, err
		}
		p.ConfigSource = resolved
	}
	if p.ConfigSource == "" {
		return p, nil
	}
	values, err := LoadVariables(p.ConfigSource)
	if err != nil && (bundle != "" || !errors.Is(err, handoff.NotFound)) {
		return p, err
	}
	maps.Copy(p.Config, values)
	return p, nil
}

// loadInputs reads the mapping inputs of a workflow.yaml. A text has its variables
// replaced; one that can't be resolved stays as it is.
func (p Paths) loadInputs(name string) (map[string]any, error) {
	b, err := readSmall(name)
	if err != nil {
		return nil, err
	}
	var workflow struct {
		Inputs yaml.Node `yaml:"inputs"`
	}
	inputs := map[string]any{}
	if err := yaml.Load(b, &workflow); err != nil || workflow.Inputs.Kind != yaml.MappingNode {
		return nil, nil // an agent may name its inputs in another form
	}
	if err := workflow.Inputs.Decode(&inputs); err != nil {
		return nil, handoff.E("read inputs", name, handoff.Invalid, plainfile.InvalidAt(err),
			handoff.Advice("write each as NAME: VALUE"))
	}
	for key, value := range inputs {
		text, isText := value.(string)
		if value == nil {
			delete(inputs, key)
		}
		if resolved, _, err := p.Resolve(text); isText && err == nil {
			inputs[key] = resolved
		}
	}
	return inputs, nil
}

// LoadVariables reads the texts, numbers and booleans at the top of a YAML
// file: a bundle's config.yaml, or a workflow.yaml. All else in it is of no
// concern here. Its kinds are NotFound, Unavailable and Invalid.
func LoadVariables(name string) (map[string]string, error) {
	b, err := readSmall(name)
	if err != nil {
		return nil, err
	}
	values, err := parseVariables(b)
	if err != nil {
		return nil, handoff.E("read variables", name, handoff.Invalid, err, handoff.Advice("write each as NAME: \"text\""))
	}
	return values, nil
}

// parseVariables decodes what LoadVariables reads.
func parseVariables(b []byte) (map[string]string, error) {
	if len(b) > maxConfig {
		return nil, fmt.Errorf("has %d bytes, more than %d", len(b), maxConfig)
	}
	values := map[string]string{}
	if len(bytes.TrimSpace(b)) == 0 {
		return values, nil
	}
	var all map[string]yaml.Node
	if err := yaml.Load(b, &all); err != nil {
		return nil, plainfile.InvalidAt(err)
	}
	for name, node := range all {
		if node.Kind == yaml.ScalarNode && node.Tag != "!!null" {
			values[name] = node.Value
		}
	}
	return values, nil
}

// LoadAgent reads who an agent is from its file: the attributes of its first
// <agent> element, the front matter above it, or a YAML file's keys name, title
// and bundle. An ID such as bmad/bmm/agents/alex.md also names the bundle. Its
// kinds are NotFound, Unavailable and Invalid.
func LoadAgent(name string) (handoff.SessionAgent, error) {
	b, err := readSmall(name)
	if err != nil {
		return handoff.SessionAgent{}, err
	}
	agent, err := parseAgent(b)
	if err != nil {
		err = handoff.E("read agent", name, handoff.Invalid, err,
			handoff.Advice("give the agent's name, title and bundle, without a file"))
	}
	return agent, err
}

// agentText gives the text of an agent file the form that parseAgent reads.
var agentText = strings.NewReplacer("\ufeff", "", "\r\n", "\n", "<agent\r\n", "<agent ", "<agent\n", "<agent ",
	"<agent\t", "<agent ")

// parseAgent decodes what LoadAgent reads.
func parseAgent(b []byte) (handoff.SessionAgent, error) {
	said, above := map[string]string{}, agentText.Replace(string(b))
	at := strings.Index(above, "<agent ")
	if at >= 0 {
		d := xml.NewDecoder(strings.NewReader(above[at:]))
		d.Strict = false
		token, err := d.Token()
		if err != nil {
			return handoff.SessionAgent{}, err
		}
		if start, ok := token.(xml.StartElement); ok {
			for _, attr := range start.Attr {
				said[attr.Name.Local] = attr.Value
			}
		}
		above = above[:at]
	}
	if rest, ok := strings.CutPrefix(above, "---\n"); ok {
		above, _, _ = strings.Cut(rest, "\n---")
	} else if at >= 0 {
		above = ""
	}
	front, err := parseVariables([]byte(above))
	if err != nil && at < 0 {
		return handoff.SessionAgent{}, err
	}
	bundle, _, inBundle := strings.Cut(said["id"], "/agents/")
	if !inBundle {
		bundle = ""
	}
	agent := handoff.SessionAgent{
		Name: cmp.Or(front["name"], said["name"]), Title: cmp.Or(front["title"], said["title"]),
		Bundle: cmp.Or(front["bundle"], said["bundle"], bundle),
	}
	if agent.Name == "" {
		return agent, errors.New("agent name is missing")
	}
	return agent, nil
}

func readSmall(name string) ([]byte, error) {
	b, err := plainfile.ReadLinked(name, maxConfig)
	kind := handoff.Unavailable
	switch {
	case err == nil:
		return b, nil
	case errors.Is(err, fs.ErrNotExist):
		kind, err = handoff.NotFound, fs.ErrNotExist
	case errors.Is(err, plainfile.ErrTooLarge):
		kind = handoff.Invalid
	}
	return nil, handoff.E("read", name, kind, durable.Reason(err), handoff.Advice("name a file that can be read"))
}
