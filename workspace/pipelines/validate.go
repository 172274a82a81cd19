package pipelines

import (
	"io"
	"slices"

	"github.com/agent-handoff/handoff/internal/pipeline"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
)

// The results of validations.
type (
	// A ValidationReport has the errors and warnings of an artifact, sorted by
	// JSON pointer.
	ValidationReport = contract.Report

	// A ValidationProblem is one sentence about one value in an artifact.
	ValidationProblem = contract.Problem

	// A Validation is the report of one file, with its stage.
	Validation = contract.Validation

	// A CompatAnswer is the output of schema.py and its exit code.
	CompatAnswer = contract.Answer
)

// A ValidationList is the result of validating several files.
type ValidationList struct {
	Valid bool         `json:"valid"` // every file is
	Files []Validation `json:"files"`
}

// ValidateOptions select what Validate and Compat validate.
type ValidateOptions struct {
	Files []string  // as the caller types them
	Stage string    // by default the stage of each file name
	Stdin io.Reader // the content of the file "-"
}

// Contracts state what the artifacts of the stages of a pipeline must look like.
type Contracts struct{ p Runs }

// Contracts returns the contracts of the pipeline.
func (p Runs) Contracts() Contracts { return Contracts{p} }

// Validate validates artifacts against the contracts of their stages. An invalid
// artifact is not an error: see ValidationList.Valid. Kinds: Invalid (an unknown
// stage), NotFound (a file), Unavailable.
func (c Contracts) Validate(o ValidateOptions) (ValidationList, error) {
	return in(c.p, func(r *pipeline.Runs) (list ValidationList, err error) {
		list.Files, err = r.Pipeline.ValidateFiles(o.Stage, o.Files, c.p.reader(o.Stdin))
		list.Valid = !slices.ContainsFunc(list.Files, func(v Validation) bool { return !v.Valid })
		return list, err
	})
}

// Schema returns the JSON Schema of a stage's artifact, complete in itself.
func (c Contracts) Schema(stage string) (map[string]any, error) {
	return in(c.p, func(r *pipeline.Runs) (map[string]any, error) {
		s, err := r.Pipeline.Stage(stage)
		if err != nil {
			return nil, err
		}
		return s.Schema()
	})
}

// Example returns an example of a stage's artifact. Kind: NotFound (its schema has
// none).
func (c Contracts) Example(stage string) (any, error) {
	return in(c.p, func(r *pipeline.Runs) (any, error) {
		s, err := r.Pipeline.Stage(stage)
		if err != nil {
			return nil, err
		}
		return s.Example()
	})
}

// Compat validates a file like schema.py, with the same texts and exit codes. Its
// editions are practitioner and expert; the latter also checks tiers. Kind:
// Invalid (an unknown edition).
func (c Contracts) Compat(edition string, o ValidateOptions) (CompatAnswer, error) {
	return in(c.p, func(r *pipeline.Runs) (answer CompatAnswer, err error) {
		dialect, err := contract.ParseDialect(edition)
		if err == nil {
			answer = r.Pipeline.Compat(dialect, c.p.reader(o.Stdin), o.Files...)
		}
		return answer, err
	})
}

// reader returns a function that reads files, and standard input for "-".
func (p Runs) reader(stdin io.Reader) func(name string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		if name == "-" {
			return p.read(name, stdin)
		}
		return p.read(name, nil)
	}
}
