package pipelines

import (
	"errors"
	"io"
	"path"
	"slices"

	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/internal/pipeline/progress"
	"github.com/agent-handoff/handoff/internal/tool/plainfile"
	"github.com/agent-handoff/handoff/jsonschema"
	"github.com/agent-handoff/handoff/pipeline"
)

// A ValidationList is the result of validating several files.
type ValidationList struct {
	Valid bool                  `json:"valid"` // every file is
	Files []pipeline.Validation `json:"files"`
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
// artifact is not an error: see ValidationList.Valid. Without a stage, a file with the name of
// a definition of pipelines is validated as one. Kinds: Invalid (an unknown stage), NotFound
// (a file), Unavailable.
func (c Contracts) Validate(o ValidateOptions) (ValidationList, error) {
	if len(o.Files) == 1 && o.Stage == "" && contract.IsDefinition(path.Base(o.Files[0])) {
		v, err := c.definition(o.Files[0])
		return ValidationList{Valid: v.Valid, Files: []pipeline.Validation{v}}, err
	}
	return in(c.p, func(r *progress.Runs) (list ValidationList, err error) {
		list.Files, err = r.Pipeline.ValidateFiles(o.Stage, o.Files, c.p.reader(o.Stdin))
		list.Valid = !slices.ContainsFunc(list.Files, func(v pipeline.Validation) bool { return !v.Valid })
		return list, err
	})
}

// definition validates a definition of pipelines; its schemas are relative to it.
func (c Contracts) definition(file string) (pipeline.Validation, error) {
	r := pipeline.Report{Errors: []jsonschema.Problem{}, Warnings: []jsonschema.Problem{}}
	b, err := c.p.read(file, nil)
	if err != nil {
		return pipeline.Validation{File: file, Report: r}, err
	}
	var mistakes contract.Mistakes
	_, err = contract.Parse(file, b, plainfile.FS(path.Dir(c.p.o.Path(file)), contract.MaxFile))
	errors.As(err, &mistakes)
	for _, m := range mistakes {
		r.Errors = append(r.Errors, jsonschema.Problem{Text: m.String() + "; " + m.Hint})
	}
	return pipeline.Validation{File: file, Valid: r.Valid(), Report: r}, nil
}

// Schema returns the JSON Schema of a stage's artifact, complete in itself; without a stage,
// that of handoff.pipeline.yaml.
func (c Contracts) Schema(stage string) (map[string]any, error) {
	if stage == "" {
		return contract.DefinitionSchema()
	}
	return in(c.p, func(r *progress.Runs) (map[string]any, error) {
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
	return in(c.p, func(r *progress.Runs) (any, error) {
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
func (c Contracts) Compat(edition string, o ValidateOptions) (pipeline.CompatAnswer, error) {
	return in(c.p, func(r *progress.Runs) (answer pipeline.CompatAnswer, err error) {
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
