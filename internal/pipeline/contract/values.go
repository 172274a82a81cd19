package contract

import (
	"encoding/json"
	"slices"
	"strings"
)

// The functions in this file read values of artifacts, whose types are unknown. A
// value of another type is the zero value.

// Text returns a string.
func Text(v any) string { s, _ := v.(string); return s }

// List returns an array.
func List(v any) []any { l, _ := v.([]any); return l }

// Object returns an object.
func Object(v any) map[string]any { m, _ := v.(map[string]any); return m }

// Texts returns the strings of an array; other items are encoded as JSON.
func Texts(v any) []string {
	var words []string
	for _, item := range List(v) {
		s, ok := item.(string)
		if !ok {
			b, _ := json.Marshal(item)
			s = string(b)
		}
		words = append(words, s)
	}
	return words
}

// Integer returns a number that is an integer.
func Integer(v any) (int64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	if i, err := n.Int64(); err == nil {
		return i, true
	}
	f, err := n.Float64()
	return int64(f), err == nil && f == float64(int64(f))
}

// IsNegative reports whether the outcome of an artifact is that it failed or is blocked.
func IsNegative(artifact map[string]any) bool {
	return slices.Contains([]string{"fail", "failed", "blocked", "rejected"}, strings.ToLower(Outcome(artifact)))
}

// maxOutcome is the maximum length of an outcome, in bytes. A longer value, or
// one of several words, is text.
const maxOutcome = 40

// Outcome returns the word that states an artifact's result, "" if it has none.
func Outcome(artifact map[string]any) string {
	for _, field := range []string{"verdict", "status", "classification", OutcomeField} {
		if v := Text(artifact[field]); v != "" && len(v) <= maxOutcome && len(strings.Fields(v)) == 1 {
			return v
		}
	}
	return ""
}
