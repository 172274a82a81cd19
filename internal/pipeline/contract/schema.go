package contract

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path"
	"strings"
	"sync"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/jsonschema"
)

// commonSchema is the file of the schema of the fields that every artifact may
// have.
const commonSchema = "common.schema.json"

// A schema is a JSON Schema: its URL, and its document, which a built-in one has in its file.
type schema struct {
	at  string
	doc any

	compiled func() *jsonschema.Schema
}

// newSchema returns a schema that is valid. It is compiled when it is first used.
func newSchema(s schema) *schema {
	s.compiled = sync.OnceValue(func() *jsonschema.Schema {
		compiled, err := s.compile()
		if err != nil {
			panic(err) // unreachable: a test compiles the built-in ones, and the loader the others
		}
		return compiled
	})
	return &s
}

func (s schema) compile() (*jsonschema.Schema, error) {
	doc, err := s.document()
	if err != nil {
		return nil, err
	}
	return jsonschema.Compile(s.at, doc, loadSchema)
}

func (s schema) document() (any, error) {
	if strings.HasPrefix(s.at, builtinURL) {
		return loadSchema(s.at)
	}
	return s.doc, nil
}

// The URLs of the folders that schemas are in.
const (
	builtinURL = "contract:///builtin/"
	projectURL = "contract:///project/"
)

// loadSchema reads a schema that another one refers to, which is a built-in one. It does not
// access the network.
func loadSchema(ref string) (any, error) {
	name, ok := strings.CutPrefix(ref, builtinURL)
	if !ok {
		return nil, fmt.Errorf("%s: a schema refers to itself and to built-in schemas only", ref)
	}
	b, err := embedded.ReadFile("builtin/" + name)
	if err != nil {
		return nil, err
	}
	return parseSchema(b)
}

func parseSchema(b []byte) (any, error) {
	doc, problems := decode(b)
	if len(problems) > 0 {
		return nil, errors.New(problems[0].String())
	}
	return doc, nil
}

// Schema returns the JSON Schema of a stage's artifact. The documents that it
// refers to are embedded in its $defs.
//
// Its kind is NotFound if the artifact is not JSON.
func (s *Stage) Schema() (map[string]any, error) {
	if s.schema == nil {
		return nil, handoff.E("schema", s.Name, handoff.NotFound, errors.New("the artifact of the stage has no schema"),
			handoff.Advice("read its format in the definition of the pipeline"))
	}
	return s.schema.bundle()
}

// DefinitionSchema returns the JSON Schema of handoff.pipeline.yaml.
func DefinitionSchema() (map[string]any, error) {
	doc, err := loadSchema(builtinURL + "definition.schema.json")
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
func (s schema) bundle() (map[string]any, error) {
	doc, err := s.document()
	root, ok := doc.(map[string]any)
	if err != nil || !ok {
		return map[string]any{}, err // true allows every artifact
	}
	root = maps.Clone(root)
	defs := maps.Clone(Object(root["$defs"]))
	if defs == nil {
		defs = map[string]any{}
	}
	added := map[string]bool{s.at: true}
	var add func(base string, v any) error
	add = func(base string, v any) error {
		for _, ref := range references(v) {
			other, err := resolve(base, ref)
			if err != nil || added[other] {
				continue // it was compiled: the reference is valid
			}
			added[other] = true
			doc, err := loadSchema(other)
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
	if err := add(s.at, root); err != nil {
		return nil, err
	}
	if len(defs) > 0 {
		root["$defs"] = defs
	}
	if len(added) > 1 {
		root["$id"] = s.at
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
