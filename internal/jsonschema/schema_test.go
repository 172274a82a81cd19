package jsonschema_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/internal/jsonschema"
)

func said(list []jsonschema.Problem) string {
	var words []string
	for _, p := range list {
		words = append(words, p.String())
	}
	return strings.Join(words, "\n")
}

// TestSentences holds what is said for each keyword.
func TestSentences(t *testing.T) {
	for _, tt := range []struct{ schema, value, want string }{
		{`{"type":["integer","null"]}`, `"a"`, `(root): is a string, not an integer or null`},
		{`{"type":"integer"}`, `1.0`, ``},
		{`{"type":"integer"}`, `1.5`, `(root): is a number, not an integer`},
		{`{"enum":["a",2,null]}`, `"b"`, `(root): is "b", not "a", 2 or null`},
		{`{"const":{"a":[1]}}`, `{"a":[1.0]}`, ``},
		{`{"const":"a"}`, `false`, `(root): is false, not "a"`},
		{`{"required":["a/b","c"]}`, `{}`, "/a~1b: is missing\n/c: is missing"},
		{`{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, `/b: is missing, which a calls for`},
		{`{"additionalProperties":false,"properties":{"a":true}}`, `{"a":1,"b":2}`, `/b: is not allowed`},
		{`{"propertyNames":{"maxLength":1}}`, `{"ab":1}`, `/ab: has a name that has 2 characters, more than 1`},
		{`{"pattern":"^a"}`, `"b"`, `(root): is "b", which does not match ^a`},
		{`{"pattern":"^a","title":"word with a"}`, `"b"`, `(root): is no word with a`},
		{`{"format":"uri"}`, `"b c"`, `(root): is "b c", which is no uri`},
		{`{"minLength":2}`, `"é"`, `(root): has 1 characters, fewer than 2`},
		{`{"minItems":1,"contains":{"const":1}}`, `[]`, "(root): has 0 items of a shape that at least 1 must have\n(root): has 0 items, fewer than 1"},
		{`{"uniqueItems":true}`, `[{"a":1},2,{"a":1.0}]`, `(root): has the same item at 0 and 2`},
		{`{"minimum":0,"exclusiveMaximum":1,"multipleOf":0.1}`, `-0.25`, "(root): is -0.25, less than 0\n(root): is -0.25, no multiple of 0.1"},
		{`{"minimum":3,"maximum":2}`, `1e999999999`, `(root): is 1e999999999, more than 2`},
		{`{"minProperties":2,"maxProperties":0}`, `{"a":1}`, "(root): has 1 keys, fewer than 2\n(root): has 1 keys, more than 0"},
		{`{"anyOf":[{"required":["a"]},{"required":["b"]}]}`, `{}`, `/a: is missing; b would serve`},
		{`{"oneOf":[{"type":"string"},{"required":["b"]}]}`, `{}`, `(root): fits none of the shapes: /b is missing; is an object, not a string`},
		{`{"oneOf":[true,true]}`, `1`, `(root): fits more than one of the shapes that exclude each other`},
		{`{"not":{"type":"null"}}`, `null`, `(root): has a shape that is not allowed`},
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
		if got := said(s.Check(decode(t, tt.value))); got != tt.want {
			t.Errorf("%s against %s:\ngot  %s\nwant %s", tt.value, tt.schema, got, tt.want)
		}
	}
}

// TestRefused holds that nothing that a schema says is passed over: what is not
// known, or makes no sense, is refused, and where it stands is said.
func TestRefused(t *testing.T) {
	for _, tt := range []struct{ schema, want string }{
		{`{"unevaluatedProperties":false}`, `schema test:///s#: the keyword "unevaluatedProperties" is not known here`},
		{`{"properties":{"a":{"requred":["b"]}}}`, `schema test:///s#/properties/a: the keyword "requred" is not known here`},
		{`{"$dynamicRef":"#a"}`, `"$dynamicRef"`},
		{`{"$anchor":"a"}`, `"$anchor"`},
		{`{"$ref":"#a"}`, "names an anchor"},
		{`{"$ref":"#/$defs/a"}`, "leads nowhere"},
		{`{"$ref":"other.json"}`, "there is no other document"},
		{`{"$ref":7}`, "is not a string"},
		{`{"$schema":"http://json-schema.org/draft-07/schema#"}`, "2020-12"},
		{`{"properties":{"a":{"$id":"b"}}}`, "stands within a document"},
		{`{"format":"iri"}`, `the format "iri" is not known here`},
		{`{"items":[{}]}`, "is an array, where a schema is an object, true or false"},
		{`{"type":"text"}`, `"text" is no type`},
		{`{"type":7}`, "a type"},
		{`{"pattern":"("}`, "missing closing"},
		{`{"patternProperties":{"(":{}}}`, "missing closing"},
		{`{"minLength":-1}`, "a whole number from 0"},
		{`{"minLength":1e400}`, "a whole number from 0"},
		{`{"minimum":"1"}`, "a number"},
		{`{"minimum":1e999999999}`, "calculate"},
		{`{"multipleOf":0}`, "more than 0"},
		{`{"required":["a",1]}`, "a list of keys"},
		{`{"dependentRequired":{"a":1}}`, "lists of keys"},
		{`{"enum":1}`, "a list of values"},
		{`{"allOf":[]}`, "a list of schemas"},
		{`{"properties":[]}`, "an object of schemas"},
		{`{"uniqueItems":1}`, "true or false"},
		{`{"title":1}`, "a string"},
		{`{"allOf":[{"$ref":"#"}]}`, "leads back to itself"},
		{`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"not":{"$ref":"#/$defs/a"}}}}`, "leads back to itself"},
		{`7`, "is a number"},
	} {
		_, err := jsonschema.Compile("test:///s", decode(t, tt.schema), alone)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s", tt.schema, err, tt.want)
		}
	}
}

// TestReferences holds that documents are found from where a reference stands,
// each read once, and may refer back.
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
	s, err := jsonschema.Compile("test:///s", decode(t, `{"allOf":[{"$ref":"a/one.json"},{"$ref":"/b/two.json"},{"$ref":"/b/two.json#/properties/k"}]}`), load)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := said(s.Check(decode(t, `[1,"a"]`))), "(root): is an array, not a string\n/0: is a number, not a string"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for at, n := range read {
		if n != 1 {
			t.Errorf("%s was read %d times", at, n)
		}
	}
}

func TestUnnamed(t *testing.T) {
	s, err := jsonschema.Compile("test:///s", decode(t, `{"properties":{"a":{"deprecated":true,"description":"say b"},"b":{"items":{"properties":{"c":true}}},"free":{"type":"object"}},
		"patternProperties":{"^x":true},"anyOf":[{"properties":{"d":true}},true]}`), alone)
	if err != nil {
		t.Fatal(err)
	}
	got := said(s.Unnamed(decode(t, `{"a":1,"b":[{"c":1},{"e":1}],"d":1,"x1":1,"f/g":1,"free":{"any":1}}`)))
	want := "/a: is deprecated: say b\n/b/1/e: is no part of the contract\n/f~1g: is no part of the contract"
	if got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// TestEnd holds that a schema whose alternatives multiply comes to an end, and
// says so.
func TestEnd(t *testing.T) {
	var defs strings.Builder
	for i := range 40 {
		fmt.Fprintf(&defs, `"d%d":{"anyOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	s, err := jsonschema.Compile("test:///s", decode(t, `{"$ref":"#/$defs/d0","$defs":{`+defs.String()+`"d40":false}}`), alone)
	if err != nil {
		t.Fatal(err)
	}
	if got := said(s.Check(nil)); !strings.Contains(got, "takes too long") {
		t.Errorf("got %.200s", got)
	}
}
