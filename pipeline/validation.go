package pipeline

import "github.com/agent-handoff/handoff/jsonschema"

// A Report is the result of a validation: every problem, sorted by pointer.
type Report struct {
	Errors   []jsonschema.Problem `json:"errors"`
	Warnings []jsonschema.Problem `json:"warnings"`

	// Value is the artifact, nil if it is not a JSON object. Its numbers are
	// json.Number.
	Value map[string]any `json:"-"`
}

// Valid reports whether there are no errors.
func (r Report) Valid() bool { return len(r.Errors) == 0 }

// A Validation is the result of validating one file.
type Validation struct {
	File  string `json:"file"`
	Stage string `json:"stage"`
	Valid bool   `json:"valid"`
	Report
}
