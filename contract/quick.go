package contract

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// quick tells of most values that fit that they do, at a tenth of what a whole
// validation costs: it walks objects and lists, and leaves the rest to the
// library. It remembers what it found out about each schema.
type quick map[*jsonschema.Schema]*shape

// A shape is what quick can do with a schema.
type shape struct {
	walk  bool // it only has keywords that quick knows
	leaf  bool // it has none that reaches into a value, so the library can be asked
	types []string
}

// walked are the keywords that quick knows, annotations among them. Any other
// makes it ask the library, those that it never heard of too.
var walked = []string{
	"DraftVersion", "Location", "ID", "Anchor", "Title", "Description", "Default", "Comment", "ReadOnly", "WriteOnly", "Examples", "Deprecated",
	"Ref", "AllOf", "Types", "Required", "Properties", "AdditionalProperties", "Items2020",
}

// asked are the keywords that look at a value and not into it.
var asked = []string{
	"Enum", "Const", "Format", "MinLength", "MaxLength", "Pattern", "Minimum", "Maximum", "ExclusiveMinimum", "ExclusiveMaximum", "MultipleOf",
}

// reaching are the known keywords that reach into a value.
var reaching = []string{"Ref", "AllOf", "Required", "Properties", "AdditionalProperties", "Items2020"}

func (q quick) shape(s *jsonschema.Schema) *shape {
	if sh, ok := q[s]; ok {
		return sh
	}
	sh := &shape{walk: true, leaf: true}
	v := reflect.ValueOf(s).Elem()
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		if !v.Type().Field(i).IsExported() || v.Field(i).IsZero() {
			continue
		}
		known := slices.Contains(walked, name)
		sh.walk = sh.walk && known
		sh.leaf = sh.leaf && (known || slices.Contains(asked, name)) && !slices.Contains(reaching, name)
	}
	if s.Types != nil {
		sh.types = s.Types.ToStrings()
	}
	q[s] = sh
	return sh
}

// maxHops is how many schemas quick follows without a step into the value.
const maxHops = 32

// fits reports whether a value surely fits a schema. False means that it may
// not.
func (q quick) fits(s *jsonschema.Schema, v any, hops int) bool {
	sh := q.shape(s)
	if !sh.walk {
		return sh.leaf && s.Validate(v) == nil
	}
	if hops > maxHops || !typed(sh.types, v) || s.Ref != nil && !q.fits(s.Ref, v, hops+1) {
		return false
	}
	for _, part := range s.AllOf {
		if !q.fits(part, v, hops+1) {
			return false
		}
	}
	switch v := v.(type) {
	case map[string]any:
		return q.object(s, v)
	case []any:
		for _, item := range v {
			if s.Items2020 != nil && !q.fits(s.Items2020, item, 0) {
				return false
			}
		}
	}
	return true
}

func (q quick) object(s *jsonschema.Schema, v map[string]any) bool {
	for _, key := range s.Required {
		if _, there := v[key]; !there {
			return false
		}
	}
	for key, child := range v {
		below, named := s.Properties[key]
		if !named && s.AdditionalProperties != nil {
			if below, named = s.AdditionalProperties.(*jsonschema.Schema); !named {
				return false
			}
		}
		if named && !q.fits(below, child, 0) {
			return false
		}
	}
	return true
}

// typed reports whether a value is surely of one of the types; without any,
// every value is.
func typed(types []string, v any) bool {
	if len(types) == 0 {
		return true
	}
	kind := ""
	switch v := v.(type) {
	case nil:
		kind = "null"
	case bool:
		kind = "boolean"
	case string:
		kind = "string"
	case []any:
		kind = "array"
	case map[string]any:
		kind = "object"
	case json.Number:
		kind = "number"
		if !strings.ContainsAny(string(v), ".eE") && slices.Contains(types, "integer") {
			return true
		}
	}
	return slices.Contains(types, kind)
}
