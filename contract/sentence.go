package contract

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// leaves adds a sentence for each thing that a validation found. Alternatives
// that each lack a key are one: one of the keys is missing.
func leaves(found []Problem, e *jsonschema.ValidationError, value any) []Problem {
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		return append(found, alternatives(e, value)...)
	}
	if len(e.Causes) == 0 {
		return append(found, sentences(e)...)
	}
	for _, cause := range e.Causes {
		found = leaves(found, cause, value)
	}
	return found
}

func alternatives(e *jsonschema.ValidationError, value any) []Problem {
	var missing []string
	var branches [][]Problem
	for _, cause := range e.Causes {
		branches = append(branches, leaves(nil, cause, value))
		if r, ok := cause.ErrorKind.(*kind.Required); ok && len(r.Missing) == 1 {
			missing = append(missing, r.Missing[0])
		}
	}
	if len(missing) > 0 && len(missing) == len(e.Causes) {
		at := append(slices.Clone(e.InstanceLocation), missing[0])
		return []Problem{{Pointer(at...), "is missing" + orElse(missing[1:])}}
	}
	if len(branches) == 0 { // more than one of oneOf fits
		return []Problem{{Pointer(e.InstanceLocation...), "fits more than one of the shapes that exclude each other"}}
	}
	var texts []string
	for _, branch := range branches {
		for _, p := range branch {
			texts = append(texts, strings.TrimPrefix(p.Pointer, Pointer(e.InstanceLocation...))+" "+p.Text)
		}
	}
	slices.Sort(texts)
	for i := range texts {
		texts[i] = strings.TrimSpace(texts[i])
	}
	return []Problem{{Pointer(e.InstanceLocation...), "fits none of the shapes: " + strings.Join(slices.Compact(texts), "; ")}}
}

func orElse(others []string) string {
	if len(others) == 0 {
		return ""
	}
	return "; " + strings.Join(others, " or ") + " would serve"
}

// sentences says what one keyword of a schema found.
func sentences(e *jsonschema.ValidationError) []Problem {
	at := e.InstanceLocation
	below := func(names []string, text string) []Problem {
		var list []Problem
		for _, name := range names {
			list = append(list, Problem{Pointer(append(slices.Clone(at), name)...), text})
		}
		return list
	}
	here := func(format string, args ...any) []Problem {
		return []Problem{{Pointer(at...), fmt.Sprintf(format, args...)}}
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		return below(k.Missing, "is missing")
	case *kind.DependentRequired:
		return below(k.Missing, "is missing, which "+k.Prop+" calls for")
	case *kind.AdditionalProperties:
		return below(k.Properties, "is not allowed")
	case *kind.Type:
		return here("is %s, not %s", article(k.Got), oneOf(k.Want, article))
	case *kind.Enum:
		return here("is %s, not %s", show(k.Got), oneOf(k.Want, show))
	case *kind.Const:
		return here("is %s, not %s", show(k.Got), show(k.Want))
	case *kind.Format:
		return here("is %s, which is no %s", show(k.Got), k.Want)
	case *kind.Pattern:
		return here("is %s, which does not match %s", show(k.Got), k.Want)
	case *kind.MinLength:
		return here("has %d characters, fewer than %d", k.Got, k.Want)
	case *kind.MaxLength:
		return here("has %d characters, more than %d", k.Got, k.Want)
	case *kind.MinItems:
		return here("has %d items, fewer than %d", k.Got, k.Want)
	case *kind.MaxItems:
		return here("has %d items, more than %d", k.Got, k.Want)
	case *kind.UniqueItems:
		return here("has the same item at %d and %d", k.Duplicates[0], k.Duplicates[1])
	case *kind.Minimum:
		return here("is %s, less than %s", decimal(k.Got), decimal(k.Want))
	case *kind.Maximum:
		return here("is %s, more than %s", decimal(k.Got), decimal(k.Want))
	case *kind.FalseSchema:
		return here("is not allowed")
	}
	return here("breaks the schema's %s", strings.Join(e.ErrorKind.KeywordPath(), "/"))
}

func decimal(r *big.Rat) string {
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}

func oneOf[T any](list []T, say func(T) string) string {
	words := make([]string, len(list))
	for i, v := range list {
		words[i] = say(v)
	}
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

func article(kind string) string {
	switch kind {
	case "null":
		return "null"
	case "array", "object", "integer":
		return "an " + kind
	}
	return "a " + kind
}

// maxShown is how much of a value a sentence shows, in bytes.
const maxShown = 60

func show(v any) string {
	var text string
	if s, ok := v.(string); ok {
		text = strconv.Quote(s)
	} else if b, err := json.Marshal(v); err == nil {
		text = string(b)
	}
	if len(text) <= maxShown {
		return text
	}
	cut := maxShown
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}
