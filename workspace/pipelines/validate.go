package pipelines

import (
	"cmp"
	"context"
	"errors"
	"io"
	"path"
	"path/filepath"
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

// ValidateOptions select what Validate validates.
type ValidateOptions struct {
	Files []string  // as the caller types them
	Stage string    // by default that of each file
	Stdin io.Reader // the content of the file "-"
}

// Contracts state what the artifacts of the stages of a pipeline must look like.
type Contracts struct{ p Runs }

// Contracts returns the contracts of the pipeline of a run; without one, of the pipeline that
// a new run has.
func (p Runs) Contracts(run string) Contracts { return Contracts{p.of(run)} }

// Validate validates artifacts against the contracts of their stages. An invalid
// artifact is not an error: see ValidationList.Valid. A file in the folder of a run has the
// contract of that run, if c is not of another one. Without a stage, a file with the name of
// a definition of pipelines or of the lessons is validated as that. Kinds: Invalid (an unknown stage), NotFound
// (a file), Unavailable.
func (c Contracts) Validate(ctx context.Context, o ValidateOptions) (list ValidationList, err error) {
	if err := c.p.o.Hub.Closed(); err != nil {
		return list, err
	}
	list.Files = []pipeline.Validation{}
	for _, file := range o.Files {
		v, err := c.validate(ctx, file, o)
		if err != nil {
			return list, err
		}
		list.Files = append(list.Files, v)
	}
	list.Valid = !slices.ContainsFunc(list.Files, func(v pipeline.Validation) bool { return !v.Valid })
	return list, nil
}

func (c Contracts) validate(ctx context.Context, file string, o ValidateOptions) (v pipeline.Validation, err error) {
	switch base := path.Base(file); {
	case o.Stage == "" && contract.IsDefinition(base):
		return c.definition(file)
	case o.Stage == "" && base == contract.Lessons:
		return c.lessons(file)
	}
	run, name := c.p.run, file
	if file != "-" {
		var of string
		if of, name, err = c.p.runOf(ctx, file); err != nil {
			return v, err
		}
		run = cmp.Or(run, of)
	}
	return in(c.p.of(run), func(r *progress.Runs) (pipeline.Validation, error) {
		b, err := c.p.reader(o.Stdin)(file)
		if err != nil {
			return v, err
		}
		return r.Pipeline.ValidateFile(o.Stage, file, name, b)
	})
}

// runOf returns the run in whose folder a file is, "" for none, and the name of the file
// there, or in the workspace.
func (p Runs) runOf(ctx context.Context, file string) (run, name string, err error) {
	name = file
	for _, root := range slices.Compact([]string{p.o.Root, p.o.Workspace}) {
		rel, err := filepath.Rel(root, p.o.Path(file))
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		p.o.Root, p.run = root, ""
		run, err = in(p, func(r *progress.Runs) (run string, err error) {
			run, name = r.Holder(ctx, filepath.ToSlash(rel))
			return run, nil
		})
		if run != "" || err != nil {
			break
		}
	}
	return run, name, err
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
		r.Errors = append(r.Errors, jsonschema.Problem{Text: m.Error() + "; " + m.Hint})
	}
	return pipeline.Validation{File: file, Valid: r.Valid(), Report: r}, nil
}

// lessons validates a file of lessons.
func (c Contracts) lessons(file string) (v pipeline.Validation, err error) {
	b, err := c.p.read(file, nil)
	if err != nil {
		return v, err
	}
	r := contract.ValidateLessons(b)
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

// reader returns a function that reads files, and standard input for "-".
func (p Runs) reader(stdin io.Reader) func(name string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		if name == "-" {
			return p.read(name, stdin)
		}
		return p.read(name, nil)
	}
}
