package session

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/agent-handoff/handoff/internal/jsonl"
	"github.com/agent-handoff/handoff/internal/jsonschema"
)

// Schema is the JSON Schema of a manifest, draft 2020-12.
//
//go:embed manifest.schema.json
var Schema []byte

// A Problem is one violation of the manifest specification.
type Problem = jsonschema.Problem

var schema = sync.OnceValue(func() *jsonschema.Schema {
	doc, err := decodeValue(Schema)
	if err != nil {
		panic(err) // the schema is embedded
	}
	s, err := jsonschema.Compile("manifest.schema.json", doc, func(string) (any, error) { return nil, fs.ErrNotExist })
	if err != nil {
		panic(err)
	}
	return s
})

// maxManifest is the maximum size of a manifest in bytes: it must fit into a
// record.
const maxManifest = 900 << 10

// ParseManifest decodes the manifest of another engine and returns all its
// violations of the specification. Fields of the wrong type are left empty. It
// returns an error if b is not a JSON object or is too large.
func ParseManifest(b []byte) (Manifest, []Problem, error) {
	var m Manifest
	if len(b) > maxManifest {
		return m, nil, fmt.Errorf("size is %d bytes, more than the maximum of %d", len(b), maxManifest)
	}
	doc, err := decodeValue(b)
	if err != nil {
		return m, nil, err
	}
	if _, ok := doc.(map[string]any); !ok {
		return m, nil, errors.New("not a JSON object")
	}
	problems := schema().Check(doc)
	var wrong *json.UnmarshalTypeError
	if err := json.Unmarshal(b, &m); err != nil && !errors.As(err, &wrong) {
		return m, nil, err
	}
	problems = append(problems, m.problems()...)
	return m, jsonschema.Sort(problems), nil
}

// decodeValue decodes b, a single JSON value, and keeps numbers as written.
func decodeValue(b []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if !json.Valid(b) {
		return nil, jsonl.SyntaxError(b)
	}
	return v, d.Decode(&v)
}

// problems returns the violations that a JSON Schema cannot express.
func (m Manifest) problems() []Problem {
	var list []Problem
	add := func(pointer, text string) { list = append(list, Problem{Pointer: pointer, Text: text}) }
	started, errStarted := time.Parse(time.RFC3339, m.Execution.StartedAt)
	completed, errCompleted := time.Parse(time.RFC3339, m.Execution.CompletedAt)
	if m.Execution.CompletedAt != "" && m.Execution.Status == "running" {
		add("/execution/completed_at", "is set while the status is running")
	}
	if errStarted == nil && errCompleted == nil && completed.Before(started) {
		add("/execution/completed_at", "is earlier than started_at")
	}
	seen := map[string]int{}
	for i, o := range m.Outputs {
		if first, twice := seen[o.File]; twice {
			add("/outputs/"+strconv.Itoa(i)+"/file", "is already listed as output "+strconv.Itoa(first))
			continue
		}
		seen[o.File] = i
	}
	if i := slices.Index(m.Related, m.SessionID); i >= 0 {
		add("/related_sessions/"+strconv.Itoa(i), "refers to the session itself")
	}
	return list
}
