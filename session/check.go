package session

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Schema is the JSON Schema of a manifest, draft 2020-12.
//
//go:embed manifest.schema.json
var Schema []byte

var compiled = sync.OnceValue(func() *jsonschema.Schema {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema))
	if err != nil {
		panic(err) // it is embedded
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource(ManifestName, doc); err != nil {
		panic(err)
	}
	return c.MustCompile(ManifestName)
})

// A Problem is one way in which a manifest breaks the specification.
type Problem struct {
	Pointer string // where, as a JSON pointer (RFC 6901)
	Text    string
}

func (p Problem) String() string { return p.Pointer + ": " + p.Text }

// maxManifest is the size of the largest manifest that is read, in bytes: it
// must fit into a record.
const maxManifest = 900 << 10

// ParseManifest decodes a manifest that another engine wrote, and returns all
// that is wrong with it. Fields of the wrong type are left empty. Its error is
// that b is no JSON object, or too large.
func ParseManifest(b []byte) (Manifest, []Problem, error) {
	var m Manifest
	if len(b) > maxManifest {
		return m, nil, fmt.Errorf("has %d bytes, more than %d", len(b), maxManifest)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		return m, nil, err
	}
	if _, ok := doc.(map[string]any); !ok {
		return m, nil, errors.New("is no JSON object")
	}
	var problems []Problem
	var broken *jsonschema.ValidationError
	if err := compiled().Validate(doc); errors.As(err, &broken) {
		problems = flatten(broken, problems)
	}
	var wrong *json.UnmarshalTypeError
	if err := json.Unmarshal(b, &m); err != nil && !errors.As(err, &wrong) {
		return m, nil, err
	}
	problems = append(problems, m.problems()...)
	slices.SortStableFunc(problems, func(a, b Problem) int { return strings.Compare(a.Pointer, b.Pointer) })
	return m, slices.CompactFunc(problems, func(a, b Problem) bool { return a == b }), nil
}

var english = message.NewPrinter(language.English)

// flatten returns the innermost of nested errors.
func flatten(e *jsonschema.ValidationError, into []Problem) []Problem {
	for _, cause := range e.Causes {
		into = flatten(cause, into)
	}
	if len(e.Causes) > 0 {
		return into
	}
	pointer := ""
	for _, part := range e.InstanceLocation {
		pointer += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(part)
	}
	text := e.ErrorKind.LocalizedString(english)
	last := e.ErrorKind.KeywordPath()
	isPattern := len(last) > 0 && last[len(last)-1] == "pattern"
	switch {
	case isPattern && pointer == "/version":
		text = "is no semantic version, such as 1.0.0"
	case isPattern:
		text = "is no version 4 UUID in lower case: its third group begins with 4, its fourth with 8, 9, a or b"
	}
	return append(into, Problem{pointer, text})
}

// problems returns what a schema can't say.
func (m Manifest) problems() []Problem {
	var list []Problem
	add := func(pointer, text string) { list = append(list, Problem{pointer, text}) }
	started, errStarted := time.Parse(time.RFC3339, m.Execution.StartedAt)
	completed, errCompleted := time.Parse(time.RFC3339, m.Execution.CompletedAt)
	if m.Execution.CompletedAt != "" && m.Execution.Status == "running" {
		add("/execution/completed_at", "is set while the status is running")
	}
	if errStarted == nil && errCompleted == nil && completed.Before(started) {
		add("/execution/completed_at", "lies before started_at")
	}
	seen := map[string]int{}
	for i, o := range m.Outputs {
		if first, twice := seen[o.File]; twice {
			add("/outputs/"+strconv.Itoa(i)+"/file", "is listed before, as output "+strconv.Itoa(first))
			continue
		}
		seen[o.File] = i
	}
	if i := slices.Index(m.Related, m.SessionID); i >= 0 {
		add("/related_sessions/"+strconv.Itoa(i), "is the session itself")
	}
	return list
}
