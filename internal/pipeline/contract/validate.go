package contract

import (
	"slices"

	"github.com/agent-handoff/handoff/internal/jsonschema"
)

// MaxArtifact is the size of the largest artifact that is read, in bytes.
const MaxArtifact = 16 << 20

// A Problem is one sentence about one place in an artifact.
type Problem = jsonschema.Problem

// A Report is what a contract says of an artifact: all of it, sorted by pointer.
type Report struct {
	Errors   []Problem `json:"errors"`
	Warnings []Problem `json:"warnings"`

	// Value is the artifact, nil where it is no JSON object. Its numbers are
	// json.Number.
	Value map[string]any `json:"-"`
}

// Valid reports whether there are no errors. Warnings don't count.
func (r Report) Valid() bool { return len(r.Errors) == 0 }

// Validate holds an artifact against the contract of the named stage. Its kind
// is Invalid, where there is no such stage.
func (p *Pipeline) Validate(stage string, b []byte) (Report, error) {
	s, err := p.Stage(stage)
	if err != nil {
		return Report{}, err
	}
	return s.Validate(b), nil
}

// Validate holds an artifact against the stage's contract: types, values and
// nested shapes are errors; keys that the contract doesn't name, and those that
// have a newer name, are warnings.
func (s *Stage) Validate(b []byte) Report {
	value, broken := decode(b)
	r := Report{Errors: broken, Warnings: []Problem{}}
	r.Value, _ = value.(map[string]any)
	if !slices.ContainsFunc(broken, func(p Problem) bool { return p.Pointer == "" }) {
		shape := s.schema()
		r.Errors = append(append([]Problem{}, shape.Check(value)...), broken...)
		r.Warnings = append(r.Warnings, shape.Unnamed(value)...)
		if _, ok := r.Value["self_assessment"]; s.assess && r.Value != nil && !ok {
			r.Errors = append(r.Errors, Problem{Pointer: "/self_assessment", Text: "is missing; this pipeline requires it"})
		}
	}
	r.Errors, r.Warnings = jsonschema.Sort(r.Errors), jsonschema.Sort(r.Warnings)
	return r
}
