package contract

import (
	"cmp"
	"errors"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/jsonschema"
)

// MaxArtifact is the maximum size of an artifact, in bytes.
const MaxArtifact = 16 << 20

// A Problem is one sentence about one value in an artifact.
type Problem = jsonschema.Problem

// A Report is the result of a validation: every problem, sorted by pointer.
type Report struct {
	Errors   []Problem `json:"errors"`
	Warnings []Problem `json:"warnings"`

	// Value is the artifact, nil if it is not a JSON object. Its numbers are
	// json.Number.
	Value map[string]any `json:"-"`
}

// Valid reports whether there are no errors.
func (r Report) Valid() bool { return len(r.Errors) == 0 }

// Validate validates an artifact against the stage's contract. Wrong types,
// values and structures are errors; unknown and deprecated keys are warnings.
func (s *Stage) Validate(b []byte) Report {
	value, problems := decode(b)
	r := Report{Errors: problems, Warnings: []Problem{}}
	r.Value, _ = value.(map[string]any)
	if !slices.ContainsFunc(problems, func(p Problem) bool { return p.Pointer == "" }) {
		schema := s.schema()
		r.Errors = append(append([]Problem{}, schema.Check(value)...), problems...)
		r.Warnings = append(r.Warnings, s.checkCommon(&r, schema.UnknownKeys(value))...)
		r.Errors = append(r.Errors, s.checkPaths(r.Value)...)
		if _, ok := r.Value["self_assessment"]; s.assess && r.Value != nil && !ok {
			r.Errors = append(r.Errors, Problem{Pointer: "/self_assessment", Text: "is missing; this pipeline requires it"})
		}
	}
	r.Errors, r.Warnings = jsonschema.Sort(r.Errors), jsonschema.Sort(r.Warnings)
	return r
}

// checkPaths returns the planned files that are outside the workspace.
func (s *Stage) checkPaths(artifact map[string]any) (problems []Problem) {
	if !s.Has(CheckPlan) {
		return nil
	}
	for i, file := range Texts(artifact["affected_files"]) {
		if name := path.Clean(file); path.IsAbs(name) || name == ".." || strings.HasPrefix(name, "../") {
			problems = append(problems, Problem{Pointer: jsonschema.Pointer("affected_files", strconv.Itoa(i)),
				Text: "must be a path in the workspace, relative to it, not " + strconv.Quote(file)})
		}
	}
	return problems
}

// checkCommon validates the fields of every artifact that the schema of the stage
// does not have, and returns the keys that are still unknown.
func (s *Stage) checkCommon(r *Report, unknown []Problem) []Problem {
	common := s.common()
	rest := map[string]bool{}
	for _, p := range common.UnknownKeys(map[string]any(r.Value)) {
		rest[p.Pointer] = true
	}
	fields, left := map[string]any{}, []Problem{}
	for _, p := range unknown {
		key := strings.TrimPrefix(p.Pointer, "/")
		if v, ok := r.Value[key]; ok && !rest[p.Pointer] {
			fields[key] = v
		} else {
			left = append(left, p)
		}
	}
	r.Errors = append(r.Errors, common.Check(fields)...)
	return left
}

// A Validation is the result of validating one file.
type Validation struct {
	File  string `json:"file"`
	Stage string `json:"stage"`
	Valid bool   `json:"valid"`
	Report
}

// ValidateFiles validates files, which read reads, against the contract of a
// stage, by default the one that each file name belongs to. Kinds: Invalid (no
// such stage), and those of read.
func (p *Pipeline) ValidateFiles(stage string, files []string, read func(name string) ([]byte, error)) ([]Validation,
	error) {
	list := []Validation{}
	for _, file := range files {
		b, err := read(file)
		if err != nil {
			return nil, err
		}
		s, err := p.Stage(cmp.Or(stage, path.Base(file)))
		if err != nil && stage == "" {
			err = handoff.E("validate", file, handoff.Invalid, errors.New("no stage has an artifact of this name"),
				handoff.Suggest("name the stage", handoff.ActionValidateAs, file, "STAGE"))
		}
		if err != nil {
			return nil, err
		}
		report := s.Validate(b)
		list = append(list, Validation{file, s.Name, report.Valid(), report})
	}
	return list, nil
}
