package contract

import (
	"errors"
	"maps"
	"net/url"
	"path"
	"strings"

	"github.com/agent-handoff/handoff"
)

// commonSchema is the file of the schema of the fields that every artifact may
// have.
const commonSchema = "common.schema.json"

// Schema returns the JSON Schema of a stage's artifact. The documents that it
// refers to are embedded in its $defs.
//
// Its kind is NotFound if the artifact is not JSON.
func (s *Stage) Schema() (map[string]any, error) {
	if s.document == nil {
		return nil, handoff.E("schema", s.Name, handoff.NotFound, errors.New("the artifact of the stage has no schema"),
			handoff.Advice("read its format in the definition of the pipeline"))
	}
	return s.document()
}

// DefinitionSchema returns the JSON Schema of handoff.pipeline.yaml.
func DefinitionSchema() (map[string]any, error) {
	b, err := embedded.ReadFile("builtin/definition.schema.json")
	if err != nil {
		return nil, err
	}
	doc, err := parseSchema(b)
	return Object(doc), err
}

// Example returns an example of a stage's artifact: the first one in its schema.
// Its kind is NotFound if the schema has none.
func (s *Stage) Example() (any, error) {
	doc, err := s.Schema()
	if err != nil {
		return nil, err
	}
	if list := List(doc["examples"]); len(list) > 0 {
		return list[0], nil
	}
	return nil, handoff.E("example", s.Name, handoff.NotFound, errors.New("the schema of the stage has no examples"),
		handoff.Suggest("print the schema", handoff.ActionSchema, s.Name))
}

// bundle returns a schema with the documents that it refers to, each with its URL
// as $id, so that the references are unchanged.
func (l loader) bundle(folder, name string, given any) (map[string]any, error) {
	at, doc, err := l.schema(folder, name, given)
	root, ok := doc.(map[string]any)
	if err != nil || !ok {
		return map[string]any{}, err // true allows every artifact
	}
	root = maps.Clone(root)
	defs := maps.Clone(Object(root["$defs"]))
	if defs == nil {
		defs = map[string]any{}
	}
	added := map[string]bool{at: true}
	var add func(base string, v any) error
	add = func(base string, v any) error {
		for _, ref := range references(v) {
			other, err := resolve(base, ref)
			if err != nil || added[other] {
				continue // it was compiled: the reference is valid
			}
			added[other] = true
			doc, err := l.load(other)
			if err != nil {
				return err
			}
			part := maps.Clone(Object(doc))
			if part == nil {
				part = map[string]any{}
			}
			part["$id"] = other
			defs[strings.TrimSuffix(path.Base(other), ".schema.json")+"_schema"] = part
			if err := add(other, doc); err != nil {
				return err
			}
		}
		return nil
	}
	if err := add(at, root); err != nil {
		return nil, err
	}
	if len(defs) > 0 {
		root["$defs"] = defs
	}
	if len(added) > 1 {
		root["$id"] = at
	}
	return root, nil
}

// references returns the values of $ref in a schema.
func references(v any) []string {
	var refs []string
	switch v := v.(type) {
	case map[string]any:
		for key, child := range v {
			switch ref, ok := child.(string); {
			case key == "$ref" && ok:
				refs = append(refs, ref)
			case key != "examples" && key != "enum" && key != "const" && key != "default":
				refs = append(refs, references(child)...)
			}
		}
	case []any:
		for _, child := range v {
			refs = append(refs, references(child)...)
		}
	}
	return refs
}

// resolve returns the URL of the document that a reference leads to.
func resolve(base, ref string) (string, error) {
	from, err := url.Parse(base)
	if err != nil {
		return "", err
	}
	to, err := from.Parse(ref)
	if err != nil {
		return "", err
	}
	to.Fragment, to.RawFragment = "", ""
	return to.String(), nil
}
