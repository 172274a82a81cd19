package contract

import (
	"bytes"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// FuzzQuick holds that what is quickly found to fit a schema does fit it.
func FuzzQuick(f *testing.F) {
	f.Add([]byte(`{"type":"object","required":["a"],"properties":{"a":{"type":["integer","null"],"minimum":2}},"additionalProperties":false}`), []byte(`{"a":2}`))
	f.Add([]byte(`{"$ref":"#/$defs/x","$defs":{"x":{"items":{"$ref":"#/$defs/x"}}}}`), []byte(`[[[]]]`))
	f.Add([]byte(`{"allOf":[{"$ref":"#"}]}`), []byte(`1.0`))
	f.Add([]byte(`{"properties":{"a":false},"patternProperties":{"b":{"enum":[1]}},"unevaluatedProperties":false}`), []byte(`{"b":1.0}`))
	f.Add([]byte(`{"anyOf":[{"type":"integer"},{"const":"a"}],"$dynamicRef":"#x"}`), []byte(`1`))
	f.Fuzz(func(t *testing.T, schemaText, text []byte) {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schemaText))
		value, broken := decode(text)
		if err != nil || len(broken) > 0 {
			return
		}
		c := jsonschema.NewCompiler()
		c.UseLoader(loader{})
		c.AssertFormat()
		if c.AddResource("contract:///s", doc) != nil {
			return
		}
		schema, err := c.Compile("contract:///s")
		if err != nil {
			return
		}
		if (quick{}).fits(schema, value, 0) {
			if err := schema.Validate(value); err != nil {
				t.Fatalf("%s fits %s quickly, and not: %v", text, schemaText, err)
			}
		}
	})
}
