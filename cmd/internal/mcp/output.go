package mcp

import (
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/cmd/internal/schema"
	"github.com/google/jsonschema-go/jsonschema"
)

// An output is a form of the structured content of a tool: the type of a value, and
// the members that its schema names. docs/json.md has all of them.
type output struct {
	value   any
	members []string // a member of a member is named "artifacts.id"
}

// artifactMembers are what the schema of a tool names of an artifact.
var artifactMembers = []string{"id", "channel", "path", "file", "status", "notices.code", "notices.text"}

// publishedMembers are what the schema of a tool names of an artifact that it recorded.
var publishedMembers = slices.Concat(artifactMembers, []string{"existing", "warnings"})

// outputSchema returns the schema of a tool that answers in one of several forms.
func outputSchema(forms []output) *jsonschema.Schema {
	answer := &jsonschema.Schema{Type: "object"}
	for i, form := range forms {
		set := schema.NewSet()
		s := picked(set, set.Add(form.value), form.members)
		if i == 0 {
			answer = s
			continue
		}
		for name, of := range s.Properties {
			if _, known := answer.Properties[name]; !known {
				answer.Properties[name] = of
				answer.PropertyOrder = append(answer.PropertyOrder, name)
			}
		}
		answer.Required = slices.DeleteFunc(answer.Required, func(name string) bool {
			return !slices.Contains(s.Required, name)
		})
	}
	return answer
}

// picked returns a schema with some of its members, or a member as it is without names.
func picked(set schema.Set, s *jsonschema.Schema, names []string) *jsonschema.Schema {
	if s.Items != nil {
		return &jsonschema.Schema{Type: s.Type, Items: picked(set, s.Items, names)}
	}
	def, ok := set.Defs[strings.TrimPrefix(s.Ref, "#/$defs/")]
	if !ok {
		return s
	}
	o := &jsonschema.Schema{Type: def.Type}
	inner := map[string][]string{}
	for _, name := range names {
		name, rest, nested := strings.Cut(name, ".")
		if !slices.Contains(o.PropertyOrder, name) {
			o.PropertyOrder = append(o.PropertyOrder, name)
		}
		if nested {
			inner[name] = append(inner[name], rest)
		}
	}
	for _, name := range o.PropertyOrder {
		member, known := def.Properties[name]
		if !known {
			panic("no member " + name) // a name in this package
		}
		if o.Properties == nil {
			o.Properties = map[string]*jsonschema.Schema{}
		}
		o.Properties[name] = picked(set, member, inner[name])
		if slices.Contains(def.Required, name) {
			o.Required = append(o.Required, name)
		}
	}
	return o
}
