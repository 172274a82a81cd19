package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/plainfile"
	"github.com/agent-handoff/handoff/jsonschema"
	"github.com/agent-handoff/handoff/pipeline"
	"go.yaml.in/yaml/v4"
)

// maxLessons is the number of lessons above which a planner reads more than it can use.
const maxLessons = 50

var lessonsSchema = newSchema(schema{at: builtinURL + "lessons.schema.json"})

// ValidateLessons validates the content of a lessons file: a list of lessons, alone or as the
// key lessons of a mapping. Unknown keys are warnings, and so are too many lessons.
func ValidateLessons(b []byte) pipeline.Report {
	r := pipeline.Report{Errors: []jsonschema.Problem{}, Warnings: []jsonschema.Problem{}}
	schema := lessonsSchema.compiled()
	value, err := yamlValue(b)
	if err != nil {
		r.Errors = append(r.Errors, jsonschema.Problem{Text: err.Error()})
		return r
	}
	list, alone := value.([]any)
	if alone || value == nil {
		value = map[string]any{"lessons": list}
	}
	r.Errors = append(r.Errors, schema.Check(value)...)
	r.Warnings = append(r.Warnings, schema.UnknownKeys(value)...)
	if n := len(List(Object(value)["lessons"])); n > maxLessons {
		r.Warnings = append(r.Warnings, jsonschema.Problem{Pointer: "/lessons",
			Text: fmt.Sprintf("has %d lessons; keep the newest %d", n, maxLessons)})
	}
	if alone {
		for _, problems := range [][]jsonschema.Problem{r.Errors, r.Warnings} {
			for i := range problems {
				problems[i].Pointer = strings.TrimPrefix(problems[i].Pointer, "/lessons")
			}
		}
	}
	r.Errors, r.Warnings = jsonschema.Sort(r.Errors), jsonschema.Sort(r.Warnings)
	return r
}

// yamlValue returns the value of a YAML document as decode returns that of a JSON document. A
// date is its text.
func yamlValue(b []byte) (any, error) {
	if len(b) > MaxArtifact {
		return nil, fmt.Errorf("is larger than %d bytes", MaxArtifact)
	}
	var root yaml.Node
	var value any
	if isComment(b) {
		return nil, nil
	}
	err := yaml.Load(b, &root)
	if err == nil {
		asText(&root)
		err = root.Decode(&value)
	}
	if err != nil {
		return nil, plainfile.InvalidAt(err)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, errors.New("has a key that is not text")
	}
	value, problems := decode(text)
	if len(problems) > 0 {
		return nil, errors.New(problems[0].Text)
	}
	return value, nil
}

// isComment reports whether a YAML document has nothing but comments.
func isComment(b []byte) bool {
	for line := range bytes.Lines(b) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return false
		}
	}
	return true
}

// asText makes dates texts.
func asText(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!timestamp" {
		n.Tag = "!!str"
	}
	for _, child := range n.Content {
		asText(child)
	}
}
