package contract

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/jsonschema"
	"github.com/agent-handoff/handoff/pipeline"
)

// MaxArtifact is the maximum size of an artifact, in bytes.
const MaxArtifact = 16 << 20

// Validate validates an artifact against the stage's contract. Wrong types,
// values and structures are errors; unknown and deprecated keys are warnings.
func (s *Stage) Validate(b []byte) pipeline.Report {
	if !s.IsJSON() {
		return s.validateText(b)
	}
	value, problems := decode(b)
	r := pipeline.Report{Errors: problems, Warnings: []jsonschema.Problem{}}
	r.Value, _ = value.(map[string]any)
	if !slices.ContainsFunc(problems, func(p jsonschema.Problem) bool { return p.Pointer == "" }) {
		schema := s.schema.compiled()
		r.Errors = append(append([]jsonschema.Problem{}, schema.Check(value)...), problems...)
		r.Warnings = append(r.Warnings, s.checkCommon(&r, schema.UnknownKeys(value))...)
		r.Errors = append(r.Errors, s.checkPaths(r.Value)...)
		if _, ok := r.Value["self_assessment"]; s.assess && r.Value != nil && !ok {
			r.Errors = append(r.Errors, jsonschema.Problem{Pointer: "/self_assessment",
				Text: "is missing; this pipeline requires it"})
		}
	}
	r.Errors, r.Warnings = jsonschema.Sort(r.Errors), jsonschema.Sort(r.Warnings)
	return r
}

// validateText validates an artifact that need not be JSON. Its value has no fields, unless
// it is a JSON object all the same.
func (s *Stage) validateText(b []byte) pipeline.Report {
	r := pipeline.Report{Errors: []jsonschema.Problem{}, Warnings: []jsonschema.Problem{}, Value: map[string]any{}}
	if len(b) > MaxArtifact {
		r.Errors = append(r.Errors, jsonschema.Problem{Text: fmt.Sprintf("is larger than %d bytes", MaxArtifact)})
	}
	found := headings(b)
	for _, want := range s.Format.Headings {
		if !slices.Contains(found, fold(want)) {
			r.Errors = append(r.Errors, jsonschema.Problem{Text: "has no heading " + strconv.Quote(want)})
		}
	}
	if value, problems := decode(b); strings.HasSuffix(s.Artifact, ".json") && len(problems) == 0 {
		if object, ok := value.(map[string]any); ok {
			r.Value = object
		}
	}
	return r
}

// headings returns the headings of a Markdown text: those that start with #, and those
// that are underlined.
func headings(b []byte) (list []string) {
	before, fence := "", ""
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		mark := line[:len(line)-len(strings.TrimLeft(line, "`~"))]
		switch {
		case fence != "":
			if strings.HasPrefix(mark, fence) && mark == line {
				fence = ""
			}
			continue
		case len(mark) >= 3:
			fence = mark
		case strings.HasPrefix(line, "#"):
			if text := strings.TrimLeft(line, "#"); text == "" || text[0] == ' ' || text[0] == '\t' {
				list = append(list, fold(strings.TrimRight(text, "# \t")))
			}
		case before != "" && line != "" && (strings.Trim(line, "=") == "" || strings.Trim(line, "-") == ""):
			list = append(list, fold(before))
		}
		before = line
	}
	return list
}

// fold returns a heading without differences of case and white space.
func fold(heading string) string { return strings.ToLower(strings.Join(strings.Fields(heading), " ")) }

// checkPaths returns the planned files that are outside the workspace.
func (s *Stage) checkPaths(artifact map[string]any) (problems []jsonschema.Problem) {
	if !s.Has(CheckPlan) {
		return nil
	}
	for i, file := range Texts(artifact["affected_files"]) {
		if name := path.Clean(file); path.IsAbs(name) || name == ".." || strings.HasPrefix(name, "../") {
			problems = append(problems, jsonschema.Problem{Pointer: jsonschema.Pointer("affected_files", strconv.Itoa(i)),
				Text: "must be a path in the workspace, relative to it, not " + strconv.Quote(file)})
		}
	}
	return problems
}

// checkCommon validates the fields of every artifact that the schema of the stage
// does not have, and returns the keys that are still unknown.
func (s *Stage) checkCommon(r *pipeline.Report, unknown []jsonschema.Problem) []jsonschema.Problem {
	if s.common == nil {
		return unknown
	}
	common := s.common()
	rest := map[string]bool{}
	for _, p := range common.UnknownKeys(map[string]any(r.Value)) {
		rest[p.Pointer] = true
	}
	fields, left := map[string]any{}, []jsonschema.Problem{}
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

// ValidateFile validates the content of a file against the contract of a stage, by default the
// one that has an artifact of this name, or of its last element. Its kind is Invalid (no such
// stage).
func (p *Pipeline) ValidateFile(stage, file, name string, b []byte) (pipeline.Validation, error) {
	s, err := p.Stage(cmp.Or(stage, name))
	if err != nil && stage == "" {
		s, err = p.Stage(path.Base(name))
	}
	if err != nil && stage == "" {
		err = handoff.E("validate", file, handoff.Invalid, errors.New("no stage has an artifact of this name"),
			handoff.Suggest("name the stage", handoff.ActionValidateAs, file, "STAGE"))
	}
	if err != nil {
		return pipeline.Validation{}, err
	}
	report := s.Validate(b)
	return pipeline.Validation{File: file, Stage: s.Name, Valid: report.Valid(), Report: report}, nil
}
