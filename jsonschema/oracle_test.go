package jsonschema_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	ours "github.com/agent-handoff/handoff/jsonschema"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"
)

func decode(t rapid.TB, text string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(text, err)
	}
	return v
}

func alone(string) (any, error) { return nil, errors.New("no other document") }

// oracle compiles a schema with the reference library.
func oracle(doc any) (*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	c.UseLoader(jsonschema.SchemeURLLoader{})
	if err := c.AddResource("test:///s", doc); err != nil {
		return nil, err
	}
	return c.Compile("test:///s")
}

// agrees checks that a schema accepts the same values here and in the library.
func agrees(t rapid.TB, schemaText, text string) {
	t.Helper()
	doc := decode(t, schemaText)
	s, err := ours.Compile("test:///s", doc, alone)
	if err != nil {
		return
	}
	other, err := oracle(decode(t, schemaText))
	if err != nil {
		return
	}
	v := decode(t, text)
	found := s.Check(v)
	if err := other.Validate(v); (err == nil) != (len(found) == 0) {
		t.Fatalf("Check(%s) with schema %s = %v, the library's result is %v", text, schemaText, found, err)
	}
	for _, p := range found {
		if p.Text == "" || p.Pointer != "" && p.Pointer[0] != '/' {
			t.Fatalf("Check(%s) with schema %s: problem %+v has no text or an invalid pointer", text, schemaText, p)
		}
	}
	s.UnknownKeys(v)
}

// The pools are small, so that schemas often apply to values.
var (
	keyPool  = []string{"a", "b", "ab", "x/y~"}
	wordPool = []string{"", "a", "ab", "é", "2026-11-21", "https://example.com/a"}
	numPool  = []string{"0", "1", "1.0", "-1", "2.5", "10", "1e2", "0.1"}
)

func drawValue(t *rapid.T, depth int) any {
	kinds := 4
	if depth > 0 {
		kinds = 6
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind of value") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2:
		return json.Number(rapid.SampledFrom(numPool).Draw(t, "number"))
	case 3:
		return rapid.SampledFrom(wordPool).Draw(t, "word")
	case 4:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			list = append(list, drawValue(t, depth-1))
		}
		return list
	}
	object := map[string]any{}
	for range rapid.IntRange(0, 3).Draw(t, "keys") {
		object[rapid.SampledFrom(keyPool).Draw(t, "key")] = drawValue(t, depth-1)
	}
	return object
}

func drawSchema(t *rapid.T, depth int) any {
	if rapid.IntRange(0, 9).Draw(t, "plain") == 0 {
		return rapid.Bool().Draw(t, "always")
	}
	s := map[string]any{}
	words := []string{"type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
		"minLength", "maxLength",
		"pattern", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "required", "dependentRequired",
		"format", "$ref"}
	if depth > 0 {
		words = append(words, "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "items", "prefixItems", "contains",
			"minContains", "maxContains",
			"properties", "patternProperties", "additionalProperties", "propertyNames", "dependentSchemas")
	}
	for range rapid.IntRange(0, 4).Draw(t, "keywords") {
		word := rapid.SampledFrom(words).Draw(t, "keyword")
		s[word] = drawKeyword(t, word, depth)
	}
	return s
}

func drawKeyword(t *rapid.T, word string, depth int) any {
	key := func() string { return rapid.SampledFrom(keyPool).Draw(t, "key") }
	below := func() any { return drawSchema(t, depth-1) }
	switch word {
	case "type":
		types := []string{"null", "boolean", "string", "number", "integer", "array", "object"}
		if rapid.Bool().Draw(t, "one type") {
			return rapid.SampledFrom(types).Draw(t, "type")
		}
		return rapid.SliceOfNDistinct(rapid.SampledFrom(types), 1, 3, rapid.ID).Draw(t, "types")
	case "enum":
		return []any{drawValue(t, 1), drawValue(t, 2)}
	case "const":
		return drawValue(t, 2)
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		return json.Number(rapid.SampledFrom(numPool).Draw(t, "limit"))
	case "multipleOf":
		return json.Number(rapid.SampledFrom([]string{"1", "0.1", "2.5", "1e1"}).Draw(t, "multiple"))
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
		return json.Number(strconv.Itoa(rapid.IntRange(0, 3).Draw(t, "count")))
	case "pattern":
		return rapid.SampledFrom([]string{"a", "^a$", "[0-9]+", "^$"}).Draw(t, "pattern")
	case "uniqueItems":
		return rapid.Bool().Draw(t, "unique")
	case "required":
		return []any{key()}
	case "dependentRequired":
		return map[string]any{key(): []any{key()}}
	case "format":
		return rapid.SampledFrom([]string{"date", "uri", "uri-reference", "json-pointer", "ipv4"}).Draw(t, "format")
	case "$ref":
		return rapid.SampledFrom([]string{"#", "#/$defs/d", "#/properties/a"}).Draw(t, "ref")
	case "allOf", "anyOf", "oneOf", "prefixItems":
		return []any{below(), below()}
	case "properties", "dependentSchemas":
		return map[string]any{key(): below(), key(): below()}
	case "patternProperties":
		return map[string]any{"^a": below()}
	}
	return below()
}

// TestAgrees compares random schemas and values with the library.
func TestAgrees(t *testing.T) {
	valid, invalid, rejected := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		doc := drawSchema(t, 3)
		if object, ok := doc.(map[string]any); ok {
			object["$defs"] = map[string]any{"d": drawSchema(t, 2)}
		}
		text, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			v, err := json.Marshal(drawValue(t, 3))
			if err != nil {
				t.Fatal(err)
			}
			agrees(t, string(text), string(v))
			s, err := ours.Compile("test:///s", decode(t, string(text)), alone)
			switch {
			case err != nil:
				rejected++
			case len(s.Check(decode(t, string(v)))) == 0:
				valid++
			default:
				invalid++
			}
		}
	})
	if valid == 0 || invalid == 0 || rejected > valid+invalid {
		t.Errorf("%d values were valid, %d invalid, %d schemas rejected: the pools do not fit together", valid, invalid,
			rejected)
	}
}

// FuzzAgrees is TestAgrees for any text.
func FuzzAgrees(f *testing.F) {
	for _, seed := range [][2]string{
		{
			`{"type":"object","required":["a"],"properties":{"a":{"type":["integer","null"],"minimum":2}},"additionalProperties":false}`, `{"a":2}`},
		{`{"$ref":"#/$defs/x","$defs":{"x":{"items":{"$ref":"#/$defs/x"}}}}`, `[[[]]]`},
		{`{"allOf":[{"$ref":"#"}]}`, `1.0`},
		{`{"properties":{"a":false},"patternProperties":{"b":{"enum":[1]}}}`, `{"b":1.0}`},
		{`{"anyOf":[{"type":"integer"},{"const":"a"}]}`, `1`},
		{`{"if":{"required":["a"]},"then":{"maxProperties":1},"else":false}`, `{"a":1}`},
		{`{"contains":{"type":"string"},"minContains":0,"maxContains":1}`, `["a","b"]`},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, schemaText, text string) {
		if !sane(schemaText) || !sane(text) || strings.Contains(schemaText, "format") ||
			strings.Contains(schemaText, "$schema") || strings.Contains(schemaText, "$id") {
			t.Skip()
		}
		agrees(t, schemaText, text)
	})
}

// sane reports whether a text is one JSON value of at most 2,000 bytes without
// numbers that would take the library minutes.
func sane(text string) bool {
	if !json.Valid([]byte(text)) || len(text) > 2000 {
		return false
	}
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err != nil {
			return true
		}
		if n, ok := token.(json.Number); ok && (len(n) > 12 || strings.ContainsAny(string(n), "eE")) {
			return false
		}
	}
}

// TestFormats compares the formats with the library, except for values that it
// accepts against their RFCs.
func TestFormats(t *testing.T) {
	for format, words := range map[string][]string{
		"date": {"2026-11-21", "2026-02-30", "2026-1-1", "", "20261121"},
		"date-time": {"2026-11-21T10:00:00Z", "2026-11-21t10:00:00z", "2026-11-21T10:00:00.5+01:00",
			"2026-11-21 10:00:00Z", "2026-11-21T10:00:00", "2026-11-21T25:00:00Z", "2026-11-21T10:00:00,5Z"},
		"ipv4":          {"127.0.0.1", "256.0.0.1", "1.2.3", "::1", "01.2.3.4"},
		"ipv6":          {"::1", "fe80::1%eth0", "127.0.0.1", "::g"},
		"json-pointer":  {"", "/a", "a", "/~0~1", "/~2", "/~"},
		"uri":           {"https://example.com/7", "not a url", "//example.com", "urn:a:b", "a"},
		"uri-reference": {"a", "#f", "https://example.com", "\\\\x"},
		"uuid": {"a3f2c9d1-4b5e-4789-81ab-cdef12345678", "A3F2C9D1-4B5E-4789-81AB-CDEF12345678", "a3f2c9d1",
			"a3f2c9d14b5e478981abcdef12345678"},
		"regex": {"a+", "(", "[a-z]"},
		"email": {"a@example.com", "a", "A <a@example.com>"},
	} {
		for _, word := range words {
			v, err := json.Marshal(word)
			if err != nil {
				t.Fatal(err)
			}
			agrees(t, fmt.Sprintf(`{"format":%q}`, format), string(v))
		}
	}
}
