package workspace

import (
	"io"
	"path/filepath"
	"strings"

	"github.com/agent-handoff/handoff/internal/pipeline"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
)

// A ValidationReport has the errors and warnings of an artifact, sorted by JSON
// pointer.
type ValidationReport = contract.Report

// A ValidationProblem is one sentence about one value in an artifact, with its
// JSON pointer.
type ValidationProblem = contract.Problem

// A Validation is the result of validating one file.
type Validation struct {
	File  string `json:"file"`
	Stage string `json:"stage"`
	Valid bool   `json:"valid"`
	ValidationReport
}

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

// Validate validates artifacts against the contracts of their stages. An invalid
// artifact is not an error: see ValidationList.Valid. Kinds: Invalid (an unknown
// stage), NotFound (a file), Unavailable.
func (p Pipelines) Validate(o ValidateOptions) (list ValidationList, err error) {
	list = ValidationList{Valid: true, Files: []Validation{}}
	err = p.with(func(r *pipeline.Runs) error {
		for _, file := range o.Files {
			name := o.Stage
			if name == "" {
				name = filepath.Base(file)
			}
			stage, err := r.Pipeline.Stage(name)
			if err != nil {
				return err
			}
			b, err := p.readFile(file, o.Stdin)
			if err != nil {
				return err
			}
			report := stage.Validate(b)
			list.Valid = list.Valid && report.Valid()
			list.Files = append(list.Files, Validation{file, stage.Name, report.Valid(), report})
		}
		return nil
	})
	return list, err
}

// A CompatAnswer is the output of schema.py and its exit code.
type CompatAnswer = contract.Answer

// Compat validates a file like schema.py, with the same texts and exit codes. Its
// editions are practitioner and expert; the latter also checks tiers. Kind:
// Invalid (an unknown edition).
func (p Pipelines) Compat(edition string, o ValidateOptions) (answer CompatAnswer, err error) {
	if !contract.Dialect(edition).Valid() {
		return answer, invalid("validate", edition, "unknown edition", "use "+strings.Join([]string{string(contract.Practitioner), string(contract.Expert)}, " or "))
	}
	err = p.with(func(r *pipeline.Runs) error {
		read := func(name string) ([]byte, error) { return p.readFile(name, o.Stdin) }
		answer = r.Pipeline.Compat(contract.Dialect(edition), read, o.Files...)
		return nil
	})
	return answer, err
}

// readFile reads a file, or standard input for "-".
func (p Pipelines) readFile(name string, stdin io.Reader) ([]byte, error) {
	if name != "-" {
		stdin = nil
	}
	return p.read(name, stdin)
}
