package session

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// A rule is what the manifest's schema says of one value, in the few keywords
// that it uses. A library for all of JSON Schema would cost every command of
// the program more at its start than all the rest together.
type rule struct {
	Type       string           `json:"type"`
	Required   []string         `json:"required"`
	Properties map[string]*rule `json:"properties"`
	Items      *rule            `json:"items"`
	Enum       []string         `json:"enum"`
	Pattern    string           `json:"pattern"`
	MinLength  int              `json:"minLength"`
	Minimum    *int64           `json:"minimum"`
	Format     string           `json:"format"`
	Ref        string           `json:"$ref"`
	Defs       map[string]*rule `json:"$defs"`
}

var schema = sync.OnceValue(func() *rule {
	r := new(rule)
	if err := json.Unmarshal(Schema, r); err != nil {
		panic(err) // it is embedded
	}
	return r
})

// check adds to list all in which a value, found at a pointer, breaks a rule of
// the schema s.
func (s *rule) check(r *rule, pointer string, v any, list []Problem) []Problem {
	if name, ok := strings.CutPrefix(r.Ref, "#/$defs/"); ok {
		r = s.Defs[name]
	}
	if got := typeOf(v); r.Type != "" && got != r.Type && !(r.Type == "integer" && isInteger(v)) {
		return append(list, Problem{pointer, "got " + got + ", want " + r.Type})
	}
	switch v := v.(type) {
	case string:
		if reason := r.refuse(v); reason != "" {
			list = append(list, Problem{pointer, reason})
		}
	case json.Number:
		if n, err := v.Int64(); err == nil && r.Minimum != nil && n < *r.Minimum {
			list = append(list, Problem{pointer, fmt.Sprintf("is less than %d", *r.Minimum)})
		}
	case []any:
		for i, element := range v {
			if r.Items != nil {
				list = s.check(r.Items, pointer+"/"+strconv.Itoa(i), element, list)
			}
		}
	case map[string]any:
		for _, name := range r.Required {
			if _, ok := v[name]; !ok {
				list = append(list, Problem{pointer, "missing property '" + name + "'"})
			}
		}
		for _, name := range slices.Sorted(maps.Keys(r.Properties)) {
			if member, ok := v[name]; ok {
				list = s.check(r.Properties[name], pointer+"/"+name, member, list)
			}
		}
	}
	if _, text := v.(string); len(r.Enum) > 0 && !text {
		list = append(list, Problem{pointer, r.choices()})
	}
	return list
}

// refuse says why a text breaks the rule, "" where it doesn't.
func (r *rule) refuse(text string) string {
	switch {
	case len(r.Enum) > 0 && !slices.Contains(r.Enum, text):
		return r.choices()
	case utf8.RuneCountInString(text) < r.MinLength:
		return "is empty"
	case r.Format == "date-time" && !isTime(text):
		return strconv.Quote(text) + " is no time, such as 2025-10-05T14:30:22.000Z"
	case r.Pattern == "" || regexp.MustCompile(r.Pattern).MatchString(text):
		return ""
	case strings.HasPrefix(r.Pattern, "^[0-9a-f]{8}"):
		return "is no version 4 UUID in lower case: its third group begins with 4, its fourth with 8, 9, a or b"
	}
	return "is no semantic version, such as 1.0.0"
}

func (r *rule) choices() string {
	return "value must be one of '" + strings.Join(r.Enum, "', '") + "'"
}

func isTime(text string) bool {
	_, err := time.Parse(time.RFC3339, text)
	return err == nil
}

func isInteger(v any) bool {
	n, ok := v.(json.Number)
	_, err := n.Int64()
	return ok && err == nil
}

func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		return "number"
	case []any:
		return "array"
	}
	return "object"
}
