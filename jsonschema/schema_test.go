package jsonschema_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/jsonschema"
)

func lines(list []jsonschema.Problem) string {
	var words []string
	for _, p := range list {
		words = append(words, p.String())
	}
	return strings.Join(words, "\n")
}

// TestProblems checks the problem that each keyword reports.
func TestProblems(t *testing.T) {
	for _, tt := range []struct{ schema, value, want string }{
		{`{"type":["integer","null"]}`, `"a"`, `(root): is a string, not an integer or null`},
		{`{"type":"integer"}`, `1.0`, ``},
		{`{"type":"integer"}`, `1.5`, `(root): is a number, not an integer`},
		{`{"enum":["a",2,null]}`, `"b"`, `(root): is "b", not "a", 2 or null`},
		{`{"const":{"a":[1]}}`, `{"a":[1.0]}`, ``},
		{`{"const":"a"}`, `false`, `(root): is false, not "a"`},
		{`{"required":["a/b","c"]}`, `{}`, "/a~1b: is missing\n/c: is missing"},
		{`{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, `/b: is required when a is present`},
		{`{"additionalProperties":false,"properties":{"a":true}}`, `{"a":1,"b":2}`, `/b: is not allowed`},
		{`{"propertyNames":{"maxLength":1}}`, `{"ab":1}`, `/ab: key has 2 characters, more than 1`},
		{`{"pattern":"^a"}`, `"b"`, `(root): is "b", which does not match ^a`},
		{`{"pattern":"^a","title":"word with a"}`, `"b"`, `(root): is not a valid word with a`},
		{`{"format":"uri"}`, `"b c"`, `(root): is "b c", which does not match format uri`},
		{`{"minLength":2}`, `"é"`, `(root): has 1 characters, fewer than 2`},
		{`{"minItems":1,"contains":{"const":1}}`, `[]`,
			"(root): has 0 items that match contains, fewer than 1\n(root): has 0 items, fewer than 1"},
		{`{"uniqueItems":true}`, `[{"a":1},2,{"a":1.0}]`, `(root): has the same item at 0 and 2`},
		{`{"minimum":0,"exclusiveMaximum":1,"multipleOf":0.1}`, `-0.25`,
			"(root): is -0.25, less than 0\n(root): is -0.25, not a multiple of 0.1"},
		{`{"minimum":3,"maximum":2}`, `1e999999999`, `(root): is 1e999999999, more than 2`},
		{`{"minProperties":2,"maxProperties":0}`, `{"a":1}`,
			"(root): has 1 keys, fewer than 2\n(root): has 1 keys, more than 0"},
		{`{"anyOf":[{"required":["a"]},{"required":["b"]}]}`, `{}`, `/a: is missing; one of a, b is required`},
		{`{"oneOf":[{"type":"string"},{"required":["b"]}]}`, `{}`,
			`(root): matches none of the alternatives: /b is missing; is an object, not a string`},
		{`{"oneOf":[true,true]}`, `1`, `(root): matches more than one of the schemas in oneOf`},
		{`{"not":{"type":"null"}}`, `null`, `(root): matches a schema that is not allowed`},
		{`{"if":{"const":1},"then":false,"else":true}`, `1`, `(root): is not allowed`},
		{`{"prefixItems":[{"const":1}],"items":false}`, `[2,3]`, "/0: is 2, not 1\n/1: is not allowed"},
		{`{"dependentSchemas":{"a":{"required":["b"]}}}`, `{"a":1}`, `/b: is missing`},
		{`{"x-owner":"me","default":7}`, `1`, ``},
	} {
		s, err := jsonschema.Compile("test:///s", decode(t, tt.schema), alone)
		if err != nil {
			t.Errorf("%s: %v", tt.schema, err)
			continue
		}
		if got := lines(s.Check(decode(t, tt.value))); got != tt.want {
			t.Errorf("%s against %s:\ngot  %s\nwant %s", tt.value, tt.schema, got, tt.want)
		}
	}
}

// TestCompileErrors checks that unsupported and invalid keywords are rejected,
// with their location.
func TestCompileErrors(t *testing.T) {
	for _, tt := range []struct{ schema, want string }{
		{`{"unevaluatedProperties":false}`, `schema test:///s#: unsupported keyword "unevaluatedProperties"`},
		{`{"properties":{"a":{"requred":["b"]}}}`, `schema test:///s#/properties/a: unsupported keyword "requred"`},
		{`{"$dynamicRef":"#a"}`, `"$dynamicRef"`},
		{`{"$anchor":"a"}`, `"$anchor"`},
		{`{"$ref":"#a"}`, "is an anchor"},
		{`{"$ref":"#/$defs/a"}`, "does not exist"},
		{`{"$ref":"other.json"}`, "no other document"},
		{`{"$ref":7}`, "must be a string"},
		{`{"$schema":"http://json-schema.org/draft-07/schema#"}`, "2020-12"},
		{`{"properties":{"a":{"$id":"b"}}}`, "only at the root of a document"},
		{`{"format":"iri"}`, `unsupported format "iri"`},
		{`{"items":[{}]}`, "is an array; a schema must be an object, true or false"},
		{`{"type":"text"}`, `unknown type "text"`},
		{`{"type":7}`, "a type"},
		{`{"pattern":"("}`, "missing closing"},
		{`{"patternProperties":{"(":{}}}`, "missing closing"},
		{`{"minLength":-1}`, "a non-negative integer"},
		{`{"minLength":1e400}`, "a non-negative integer"},
		{`{"minimum":"1"}`, "a number"},
		{`{"minimum":1e999999999}`, "too large"},
		{`{"multipleOf":0}`, "greater than 0"},
		{`{"required":["a",1]}`, "a list of keys"},
		{`{"dependentRequired":{"a":1}}`, "lists of keys"},
		{`{"enum":1}`, "a list of values"},
		{`{"allOf":[]}`, "a list of schemas"},
		{`{"properties":[]}`, "an object of schemas"},
		{`{"uniqueItems":1}`, "true or false"},
		{`{"title":1}`, "a string"},
		{`{"allOf":[{"$ref":"#"}]}`, "refers to itself"},
		{`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"not":{"$ref":"#/$defs/a"}}}}`, "refers to itself"},
		{`7`, "is a number"},
	} {
		_, err := jsonschema.Compile("test:///s", decode(t, tt.schema), alone)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s", tt.schema, err, tt.want)
		}
	}
}

// TestReferences checks that references are resolved relative to their document,
// that each document is read once, and that documents can refer to each other.
func TestReferences(t *testing.T) {
	docs := map[string]string{
		"test:///a/one.json": `{"$defs":{"x/y":{"type":"string"}},"items":{"$ref":"../b/two.json#/properties/k"}}`,
		"test:///b/two.json": `{"$id":"test:///c/moved.json","properties":{"k":{"$ref":"/a/one.json#/$defs/x~1y"},"l":{"$ref":"%23.json"}}}`,
		"test:///c/%23.json": `true`,
	}
	read := map[string]int{}
	load := func(at string) (any, error) {
		text, ok := docs[at]
		if !ok {
			return nil, errors.New("no " + at)
		}
		read[at]++
		return decode(t, text), nil
	}
	s, err := jsonschema.Compile("test:///s",
		decode(t, `{"allOf":[{"$ref":"a/one.json"},{"$ref":"/b/two.json"},{"$ref":"/b/two.json#/properties/k"}]}`), load)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := lines(s.Check(decode(t, `[1,"a"]`))),
		"(root): is an array, not a string\n/0: is a number, not a string"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for at, n := range read {
		if n != 1 {
			t.Errorf("%s was read %d times", at, n)
		}
	}
}

func TestUnknownKeys(t *testing.T) {
	s, err := jsonschema.Compile("test:///s",
		decode(t,
			`{"properties":{"a":{"deprecated":true,"description":"say b"},"b":{"items":{"properties":{"c":true}}},"free":{"type":"object"}},
		"patternProperties":{"^x":true},"anyOf":[{"properties":{"d":true}},true]}`), alone)
	if err != nil {
		t.Fatal(err)
	}
	got := lines(s.UnknownKeys(decode(t, `{"a":1,"b":[{"c":1},{"e":1}],"d":1,"x1":1,"f/g":1,"free":{"any":1}}`)))
	want := "/a: is deprecated: say b\n/b/1/e: is an unknown key\n/f~1g: is an unknown key"
	if got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// TestTooManySteps checks that the validation of a schema with exponential cost
// is aborted with a problem.
func TestTooManySteps(t *testing.T) {
	var defs strings.Builder
	for i := range 40 {
		fmt.Fprintf(&defs, `"d%d":{"anyOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	s, err := jsonschema.Compile("test:///s", decode(t, `{"$ref":"#/$defs/d0","$defs":{`+defs.String()+`"d40":false}}`),
		alone)
	if err != nil {
		t.Fatal(err)
	}
	if got := lines(s.Check(nil)); !strings.Contains(got, "too many steps") {
		t.Errorf("got %.200s", got)
	}
}
